"""Samples for training: a map-style dataset for ``torch.utils.data.DataLoader``, over any generation, local or remote.

    from taco_studio.torch import Samples
    from torch.utils.data import DataLoader

    samples = Samples("set.tacozip", ["after.tif", "label.tif"], bands={"after.tif": [3, 2, 1]}, size=256, where="split = 'train'")
    for batch in DataLoader(samples, batch_size=16, shuffle=True, num_workers=4):
        batch["after.tif"], batch["label.tif"], batch["id"]

PyTorch is not needed to make samples: without it, or with ``tensors=False``, they are NumPy arrays.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Callable, Mapping, Sequence

import numpy

import taco_studio

__all__ = ["Samples"]

#: Samples of a batch that are read at the same time: requests wait for their server most of the time.
AT_ONCE = 16


class Samples:
    """The samples of a dataset as dictionaries: ``id``, ``window`` (first column, first row, columns, rows), and an array of bands × rows ×
    columns for each position.

    ``positions`` are paths below each sample of level 0, such as ``"after.tif"`` or ``"s2/t02"``; without them the samples of level 0 are
    FILEs, and the array is called ``image``. ``bands`` are numbers from 1, for all positions or by position. ``size`` is the side of
    square windows, or (rows, columns); without it whole rasters are read. Windows are drawn at random, one for each sample and epoch;
    with ``grid=True`` they cover each raster, the last ones of a row and column moved to be inside. ``where`` is a condition on the
    samples of level 0, ``ids`` chooses them by name. ``dtype`` converts the arrays, ``transform`` takes and returns the dictionary.

    The same ``seed`` and epoch (:meth:`set_epoch`) give the same windows, in any number of processes.
    """

    def __init__(
        self,
        path,
        positions: Sequence[str] | None = None,
        *,
        bands: Sequence[int] | Mapping[str, Sequence[int]] | None = None,
        size: int | tuple[int, int] | None = None,
        grid: bool = False,
        where: str | None = None,
        ids: Sequence[str] | None = None,
        seed: int = 0,
        dtype=None,
        transform: Callable[[dict], Any] | None = None,
        tensors: bool = True,
        **options,
    ):
        self.dataset = path if isinstance(path, taco_studio.Dataset) else taco_studio.open(path, **options)
        self.positions = list(positions) if positions is not None else None
        self.bands = bands
        self.size = (size, size) if isinstance(size, int) else size
        self.seed = seed
        self.dtype = numpy.dtype(dtype) if dtype is not None else None
        self.transform = transform
        self.tensors = tensors
        self.epoch = 0
        self._pool: tuple = (None, None)
        self.ids, self._rows = self._chosen(where, ids)
        if grid and self.size is None:
            raise ValueError("a grid of windows needs their size")
        self._grid = self._windows() if grid else None

    def _chosen(self, where: str | None, ids: Sequence[str] | None) -> tuple[list, list]:
        """Ids and rows of the samples."""
        rows = dict(zip(self.dataset.ids(), self.dataset.rows()))
        known = list(rows)
        if where is not None:
            kept = {row["id"] for row in self.dataset.sql("SELECT id FROM level0", where=where).to_dicts()}
            known = [id for id in known if id in kept]
        if ids is not None:
            wanted = set(ids)
            missing = wanted.difference(known)
            if missing:
                raise KeyError(f"no samples of these ids: {', '.join(sorted(missing)[:5])}")
            known = [id for id in known if id in wanted]
        return known, [rows[id] for id in known]

    def set_epoch(self, epoch: int) -> None:
        """Draws other windows from now on. Workers that live through epochs (``persistent_workers``) keep their own."""
        self.epoch = epoch

    def __len__(self) -> int:
        return len(self._grid) if self._grid is not None else len(self.ids)

    def __getitem__(self, index: int) -> Any:
        if not -len(self) <= index < len(self):
            raise IndexError(f"there are {len(self)} samples, no sample {index}")
        index %= len(self)
        root, box = self._grid[index] if self._grid is not None else (index, None)
        files = self._files(root)
        if box is None and self.size is not None:
            box = self._drawn(index, next(iter(files.values())))
        found: dict = {"id": self.ids[root]}
        if box is not None:
            found["window"] = numpy.array(box)
        for name, file in files.items():
            array = file.window(bands=self._bands_of(name), box=box)
            if self.dtype is not None:
                array = array.astype(self.dtype)
            found[name] = array
        if self.tensors:
            found = _as_tensors(found)
        return self.transform(found) if self.transform is not None else found

    def __getitems__(self, indices: Sequence[int]) -> list:
        """The samples of a batch, read at the same time: a DataLoader asks for batches."""
        return list(self._readers().map(self.__getitem__, indices))

    def _readers(self) -> ThreadPoolExecutor:
        process, readers = self._pool
        if process != os.getpid():
            readers = ThreadPoolExecutor(AT_ONCE, "samples")
            self._pool = (os.getpid(), readers)
        return readers

    def __getstate__(self) -> dict:
        return {**self.__dict__, "_pool": (None, None)}

    def _files(self, root: int) -> dict:
        sample = self.dataset.sample(0, self._rows[root])
        if self.positions is None:
            return {"image": sample}
        files = {}
        for position in self.positions:
            file = sample
            for id in position.split("/"):
                file = file[id]
            files[position] = file
        return files

    def _bands_of(self, name: str):
        if isinstance(self.bands, Mapping):
            return self.bands.get(name)
        return self.bands

    def _shape(self, file) -> tuple[int, int]:
        """Rows and columns of a raster, of which the windows are inside."""
        info = file.raster_info
        rows, columns = info["height"], info["width"]
        if rows < self.size[0] or columns < self.size[1]:
            raise ValueError(f"{file.id} has {columns} × {rows} pixels, less than a window of {self.size[1]} × {self.size[0]}")
        return rows, columns

    def _drawn(self, index: int, file) -> tuple:
        rows, columns = self._shape(file)
        random = numpy.random.default_rng([self.seed, self.epoch, index])
        height, width = self.size
        row, column = int(random.integers(rows - height + 1)), int(random.integers(columns - width + 1))
        return (column, row, width, height)

    def _windows(self) -> list:
        """Every window of every sample: (index of the sample, box)."""
        height, width = self.size
        found = []
        for root in range(len(self.ids)):
            rows, columns = self._shape(next(iter(self._files(root).values())))
            tops = [min(row, rows - height) for row in range(0, rows, height)]
            lefts = [min(column, columns - width) for column in range(0, columns, width)]
            found += [(root, (left, top, width, height)) for top in tops for left in lefts]
        return found

    def __repr__(self) -> str:
        return f"<taco_studio.torch.Samples: {len(self)} of {os.path.basename(self.dataset.description['path'])}>"


def _as_tensors(found: dict) -> dict:
    """Arrays as tensors of PyTorch, where it is installed."""
    try:
        import torch
    except ImportError:
        return found
    return {name: torch.from_numpy(value) if isinstance(value, numpy.ndarray) else value for name, value in found.items()}
