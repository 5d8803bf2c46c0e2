"""Read, check, query and write TACO datasets of all generations, local and remote.

    import taco_studio

    dataset = taco_studio.open("set.tacozip")            # or an address
    dataset.sql("SELECT id, cloud_cover FROM data")      # a table in Arrow's form: pyarrow.table(…), polars.DataFrame(…)
    dataset["roi_0007"]["s2"].window(bands=[4, 3, 2])    # a NumPy array

Each operation of the studio is a function: ``taco_studio.validate("set.tacozip", deep=True)``. Its keywords are the fields of the
request; ``help(taco_studio.validate)`` lists them. It returns an :class:`Output`, or raises :class:`TacoError` with ``kind``,
``place`` and ``hints``.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

from . import _display, _taco_studio
from ._operations import FUNCTIONS, Output
from ._taco_studio import Table, TacoError, __version__, allow_connect, allow_programs

__all__ = ["Dataset", "Output", "Sample", "Table", "TacoError", "allow_connect", "allow_programs", "open", *FUNCTIONS]

globals().update(FUNCTIONS)


class Sample:
    """A sample: a FILE or a FOLDER of an open dataset."""

    def __init__(self, dataset: "Dataset", native: _taco_studio.Sample):
        self._dataset = dataset
        self._of_process = (os.getpid(), native)

    @property
    def _native(self) -> _taco_studio.Sample:
        process, native = self._of_process
        if process != os.getpid():
            native = self._dataset._native.sample(native.level, native.row)
            self._of_process = (os.getpid(), native)
        return native

    def __reduce__(self):
        return _sample_again, (self._dataset, self.level, self.row)

    @property
    def id(self) -> str:
        """Its id."""
        return self._native.id

    @property
    def kind(self) -> str:
        """``FILE`` or ``FOLDER``."""
        return self._native.kind

    @property
    def level(self) -> int:
        """The level, from 0."""
        return self._native.level

    @property
    def row(self) -> int:
        """The row in the table of the level, from 0."""
        return self._native.row

    @property
    def gdal_path(self) -> str:
        """The path by which GDAL, rasterio and others read it."""
        return self._native.gdal_path

    @property
    def raster_info(self) -> dict:
        """Driver, size, bands and place of the raster in a FILE."""
        return json.loads(self._native.raster_info())

    def ids(self) -> list:
        """Ids of the children of a FOLDER."""
        return self._native.ids()

    def __len__(self) -> int:
        return len(self._native)

    def __bool__(self) -> bool:
        return True

    def __getitem__(self, key) -> "Sample":
        return Sample(self._dataset, self._native[key])

    def __iter__(self):
        return (self[position] for position in range(len(self)))

    def picture(self, side=256) -> bytes:
        """A picture of the raster in a FILE as PNG, in at most ``side`` columns and rows, stretched as the window does by itself."""
        return self._native.picture(side)

    def _repr_html_(self) -> str:
        return _display.sample(self)

    def read(self) -> bytes:
        """The bytes of a FILE, whose checksum is compared where the container has one."""
        return self._native.read()

    def window(self, bands=None, box=None, size=None, resampling="nearest", masked=False):
        """Pixels of the raster in a FILE as a NumPy array of bands × rows × columns.

        ``bands`` are numbers from 1; ``box`` is (first column, first row, columns, rows) in pixels; ``size`` is (columns, rows) of the
        result. With ``masked=True`` the result is a masked array, whose mask is true where the raster has no data.
        """
        import numpy

        values, shape, dtype, valid = self._native.pixels(bands, box, size, resampling)
        array = numpy.frombuffer(values, dtype=dtype).reshape(shape)
        if not masked:
            return array
        mask = numpy.zeros(shape, dtype=bool) if valid is None else numpy.frombuffer(valid, dtype=bool).reshape(shape) == 0
        return numpy.ma.MaskedArray(array, mask=mask)

    def __repr__(self) -> str:
        return repr(self._native)


class Dataset:
    """A dataset that is open to be read."""

    def __init__(self, path: str, options: str, native: _taco_studio.Dataset):
        self._place = (path, options)
        self._of_process = (os.getpid(), native)
        self._description = None

    @property
    def _native(self) -> _taco_studio.Dataset:
        # A process that was forked opens the dataset for itself.
        process, native = self._of_process
        if process != os.getpid():
            native = _taco_studio.Dataset(*self._place)
            self._of_process = (os.getpid(), native)
        return native

    def __reduce__(self):
        return _dataset_again, self._place

    @property
    def description(self) -> dict:
        """Path, format, levels with their columns, collection and notes, as ``taco-studio inspect --json`` prints them."""
        if self._description is None:
            self._description = json.loads(self._native.description())
        return self._description

    @property
    def collection(self) -> dict:
        """The fields of the collection."""
        return self.description["collection"]

    @property
    def levels(self) -> int:
        """Number of levels."""
        return self._native.levels

    def table(self, level: int = 0) -> Table:
        """The table of a level, with the columns that the dataset stores, padding included."""
        return self._native.table(level)

    def sql(self, text=None, *, box=None, datetime=None, where=None, level=0, filters=(), limit=None, progress=None) -> Table:
        """The rows of a statement over the tables ``data``, ``level0``, ``level1``, …; without a statement, those of ``data``.

        ``box`` (west, south, east, north in degrees), ``datetime`` (``2024-01-01/2024-06-30``) and ``where`` (a condition) are about the
        samples of ``level``; the statement sees the rows of those that they keep. ``filters`` are further ones, as dictionaries with the
        fields of the operations' filters (``bbox``, ``polygon``, ``datetime``, ``where``, ``level``, …).
        """
        given = {"bbox": box, "datetime": datetime, "where": where}
        own = {name: value for name, value in given.items() if value is not None}
        query = {"filters": [*([{**own, "level": level}] if own else []), *filters]}
        if text is not None:
            query["sql"] = text
        if limit is not None:
            query["limit"] = limit
        return self._native.query(json.dumps(query), progress)

    def map(self):
        """The map of the samples as an SVG image, or None where the dataset has no locations."""
        return self._native.map()

    def show(self) -> None:
        """Opens the dataset in the window, or in a new tab of the one that is open."""
        subprocess.Popen([sys.executable, "-m", "taco_studio", self.description["path"]])

    def _repr_html_(self) -> str:
        return _display.dataset(self)

    def ids(self) -> list:
        """Ids of level 0."""
        return self._native.ids()

    def rows(self) -> list:
        """Rows of the samples of level 0 in its table, in the order of :meth:`ids`."""
        return self._native.rows()

    def sample(self, level: int, row: int) -> Sample:
        """The sample at a row of a level's table, both from 0."""
        return Sample(self, self._native.sample(level, row))

    def __len__(self) -> int:
        return len(self._native)

    def __getitem__(self, key) -> Sample:
        """The sample at a position of level 0, with an id, or at a path such as ``roi_0007/s2/t02``."""
        return Sample(self, self._native[key])

    def __iter__(self):
        return (self[position] for position in range(len(self)))

    def __repr__(self) -> str:
        return repr(self._native)


def open(path, *, base_path=None, with_=(), mode=None, progress=None) -> Dataset:  # noqa: A001 (the verb of files)
    """Opens the dataset at a path or an address.

    ``base_path`` is the folder of the archives that an index lists; ``with_`` are further datasets that are opened as one with the
    first, whose columns ``mode`` joins.
    """
    options: dict[str, Any] = {}
    if base_path is not None:
        options["base_path"] = os.fspath(base_path)
    if with_:
        options["with"] = [os.fspath(path) for path in with_]
    if mode is not None:
        options["mode"] = mode
    place = (os.path.abspath(path) if "://" not in os.fspath(path) else os.fspath(path), json.dumps(options))
    return Dataset(*place, _taco_studio.Dataset(*place, progress))


def _dataset_again(path: str, options: str) -> Dataset:
    """The dataset in another process, which opens it for itself."""
    return Dataset(path, options, _taco_studio.Dataset(path, options))


def _sample_again(dataset: Dataset, level: int, row: int) -> Sample:
    return dataset.sample(level, row)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_taco_studio.after_fork)
