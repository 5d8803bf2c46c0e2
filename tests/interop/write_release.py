"""Writes small datasets with one release of an official writer.

    write_release.py PACKAGE VERSION FOLDER

PACKAGE is the library whose interface is called: pytortilla or tacotoolbox. The release must be importable (PYTHONPATH). The
datasets are written below FOLDER, with `expected.json` beside them: for every dataset the ids, the SHA-256 of each file, the
places and the times that were given to the release, or the exception that it raised. One dataset failing does not stop the others.

The interfaces of the releases fall into these groups:

    pytortilla 0.0.x            create(files, output, file_format); ids are the stems of the file names
    pytortilla 0.1.0 … 0.2.1    Samples(samples, file_format): one format for all samples of a file (pre-releases too)
    pytortilla 0.3.0 … 0.5.1    Sample(…, file_format): a format for each sample
    tacotoolbox 0.2.0 … 0.2.2   create(metadata=TACOCollection, samples); the samples are pytortilla's
    tacotoolbox 0.2.3           create(metadata=Collection, samples)
    tacotoolbox 0.2.4 … 0.5.2   create(collection=Collection, samples)
    tacotoolbox 0.7.0 … 0.7.4   Taco(tortilla=Tortilla([Sample(…)])); create(taco, output): ZIP only
    tacotoolbox 0.9.0 … 0.26.9  create(taco, output, output_format="zip" | "folder")

Differences within the last two groups are found from the interface itself: the names of the types of samples, the fields of the
collection, whether times are datetimes or microseconds, and whether the index of the parts is written by create().
"""

import datetime
import hashlib
import importlib.abc
import importlib.machinery
import inspect
import json
import os
import pathlib
import re
import shutil
import struct
import sys
import traceback
import typing
import unittest.mock

SIDE = 36  # pixels of a side of every raster
PIXEL = 0.25  # degrees

COLLECTION = {
    "id": "writers",
    "dataset_version": "1.0.0",
    "description": "Rasters of one release.",
    "licenses": ["CC-BY-4.0"],
    "title": "Writers",
    "keywords": ["writers", "test"],
}
EXTENT = {"spatial": [-80.0, -30.0, -20.0, 12.0], "temporal": ["2021-03-01T00:00:00Z", "2021-03-09T00:00:00Z"]}


def raster(seed, west, north):
    """A GeoTIFF of SIDE × SIDE bytes in EPSG:4326, uncompressed."""
    pixels = bytes((seed * 37 + at * (seed + 3)) % 251 for at in range(SIDE * SIDE))
    scale = struct.pack("<3d", PIXEL, PIXEL, 0)
    tie = struct.pack("<6d", 0, 0, 0, west, north, 0)
    keys = struct.pack("<16H", 1, 1, 0, 3, 1024, 0, 1, 2, 1025, 0, 1, 1, 2048, 0, 1, 4326)
    tags = 12
    after = 8 + 2 + 12 * tags + 4
    at = {"scale": after, "tie": after + 24, "keys": after + 72, "pixels": after + 104}
    entries = [
        (256, 3, 1, SIDE), (257, 3, 1, SIDE), (258, 3, 1, 8), (259, 3, 1, 1), (262, 3, 1, 1), (273, 4, 1, at["pixels"]),
        (277, 3, 1, 1), (278, 3, 1, SIDE), (279, 4, 1, len(pixels)),
        (33550, 12, 3, at["scale"]), (33922, 12, 6, at["tie"]), (34735, 3, 16, at["keys"]),
    ]
    directory = struct.pack("<H", tags) + b"".join(struct.pack("<HHII", *entry) for entry in entries) + bytes(4)
    return b"II*\0" + struct.pack("<I", 8) + directory + scale + tie + keys + pixels


class StandIns(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Empty modules in place of modules that a release imports without declaring them, and that writing does not use."""

    ROOTS = ("ee", "tacoreader")

    def __init__(self):
        self.used = []

    def find_spec(self, name, path, target=None):
        if name.split(".")[0] not in self.ROOTS:
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec):
        self.used.append(spec.name)
        return None

    def exec_module(self, module):
        # Whatever is imported from the module exists; a private name does not, as the import system asks for some of them.
        module.__getattr__ = lambda name: absent(name) if name.startswith("__") else unittest.mock.MagicMock(name=name)


def absent(name):
    raise AttributeError(name)


class Item:
    """A sample to write: a file or a folder of items, with a place and times."""

    def __init__(self, name, number, children=None):
        self.name = name
        self.children = children
        self.west = -80.0 + 11 * (number % 12)
        self.north = 12.0 - 7 * (number % 12)
        self.start = datetime.datetime(2021, 3, 1 + number, 10, 30, 15, tzinfo=datetime.timezone.utc)
        self.end = self.start + datetime.timedelta(hours=6)
        self.cloud = 1.5 * number
        self.data = None if children else raster(number, self.west, self.north)
        self.path = None

    @property
    def geotransform(self):
        return (self.west, PIXEL, 0.0, self.north, 0.0, -PIXEL)

    def save(self, folder):
        """Writes the files of the item below the folder."""
        if self.children:
            for child in self.children:
                child.save(folder / self.name)
        else:
            folder.mkdir(parents=True, exist_ok=True)
            self.path = folder / f"{self.name}.tif"
            self.path.write_bytes(self.data)

    def expected(self, kept):
        """What a reader must see of the item. `kept`: what the release takes of "place" (with times) and "cloud"."""
        seen = {"id": self.name}
        if "place" in kept:
            seen["place"] = [self.west + SIDE / 2 * PIXEL, self.north - SIDE / 2 * PIXEL]
            seen["times"] = [self.start.timestamp(), self.end.timestamp()]
        if "cloud" in kept:
            seen["cloud"] = self.cloud
        if self.children:
            seen["children"] = [child.expected(()) for child in self.children]
        else:
            seen["sha256"] = hashlib.sha256(self.data).hexdigest()
        return seen


def flat():
    return [Item(f"scene_{number}", number) for number in range(1, 5)]


def nested():
    def children(number):
        return [Item("after", number + 4), Item("before", number + 8)]

    return [Item(f"scene_{number}", number, children(number)) for number in range(1, 5)]


def deep():
    def scenes(number):
        return [Item(f"scene_{at}", at, [Item("image", 3 * number + at), Item("label", 3 * number + at + 9)]) for at in (1, 2)]

    return [Item(f"region_{number}", number, scenes(number)) for number in range(1, 3)]


def size_of(item):
    return sum(map(size_of, item.children)) if item.children else len(item.data)


def split_size(items):
    """The size that lets two of four equal items into a part."""
    return size_of(items[0]) * 5 // 2


TREES = {"flat": flat, "nested": nested, "deep": deep}


class Writer:
    """One group of releases.

    `datasets` lists (name, tree, container); `write` writes one and yields the paths to open, with their items.
    """

    def __init__(self):
        self.kept = {"place", "cloud"}  # the fields of level 0 that the release keeps
        self.notes = []

    def datasets(self):
        raise NotImplementedError

    def write(self, name, items, container, folder):
        raise NotImplementedError


class FirstFiles(Writer):
    """pytortilla 0.0.x: files of one format without fields."""

    def __init__(self):
        super().__init__()
        self.kept = set()

    def datasets(self):
        return [("flat", "flat", "tortilla")]

    def write(self, name, items, container, folder):
        import pytortilla

        create = getattr(pytortilla, "create", None)
        if create is None:
            from pytortilla.main import create_tortilla as create
        output = folder / f"{name}.tortilla"
        create([item.path for item in items], output, "GTiff", quiet=True)
        yield output, items


class Tortillas(Writer):
    """pytortilla 0.1.0 … 0.5.1. A FOLDER is a sample whose file is a .tortilla."""

    def __init__(self, version):
        super().__init__()
        # The first pre-releases need STAC and RAI fields of every sample.
        self.needs_all = version in ("0.1.0a0", "0.1.0a1", "0.1.0a2", "0.1.0a3", "0.1.0a4", "0.1.0a5")

    def datasets(self):
        return [*((name, name, "tortilla") for name in TREES), ("parts", "flat", "tortilla parts")]

    def samples(self, items, folder, described=True):
        """The items as Samples; the .tortilla files of folders are written into the folder."""
        from pytortilla.datamodel import Sample, Samples
        from pytortilla.datamodel.main import RAI, STAC

        own_format = "file_format" in Sample.model_fields
        if "centroid" not in STAC.model_fields:
            self.kept.discard("place")
        listed = []
        for item in items:
            form = "TORTILLA" if item.children else "GTiff"
            fields = {"id": item.name, "path": item.path}
            if item.children:
                fields["path"] = folder / f"{item.name}.tortilla"
                create_tortilla(self.samples(item.children, folder / item.name, False), fields["path"])
            if own_format:
                fields["file_format"] = form
            if self.needs_all:
                fields["rai_data"] = RAI(populationdensity=item.cloud)
            if described or self.needs_all:
                fields["cloud"] = item.cloud
                place = {"crs": "EPSG:4326", "raster_shape": (SIDE, SIDE), "geotransform": item.geotransform}
                fields["stac_data"] = STAC(**place, time_start=item.start, time_end=item.end)
            listed.append(Sample(**fields))
        return Samples(samples=listed) if own_format else Samples(samples=listed, file_format=form)

    def write(self, name, items, container, folder):
        if container.endswith("parts"):
            folder = folder / name
        suffix = container.split()[0]
        output = folder / f"{name}.{suffix}"
        # The files of folders are kept apart, so that only the dataset is beside expected.json.
        samples = self.samples(items, folder.parent / "sources" / f"{name}_tortillas")
        self.create(samples, output, chunk_size=f"{split_size(items) / 1000}KB" if container.endswith("parts") else "1GB")
        yield folder if container.endswith("parts") else output, items

    def create(self, samples, output, **options):
        create_tortilla(samples, output, **options)


def create_tortilla(samples, output, **options):
    import pytortilla

    output.parent.mkdir(parents=True, exist_ok=True)
    pytortilla.create(samples, output, quiet=True, nworkers=1, **options)


class Tacos(Tortillas):
    """tacotoolbox 0.2.0 … 0.5.2: pytortilla's samples with a collection."""

    def datasets(self):
        return [(name, tree, container.replace("tortilla", "taco")) for name, tree, container in super().datasets()]

    def create(self, samples, output, **options):
        import tacotoolbox
        import tacotoolbox.datamodel as datamodel
        from tacotoolbox.specification import Contact, Extent

        model = getattr(datamodel, "Collection", None) or datamodel.TACOCollection
        collection = model(
            **COLLECTION,
            task="classification",
            extent=Extent(spatial=[EXTENT["spatial"]], temporal=[EXTENT["temporal"]]),
            providers=[Contact(name="Ada Writer", roles=["producer"])],
        )
        output.parent.mkdir(parents=True, exist_ok=True)
        # The first argument is named metadata, later collection.
        tacotoolbox.create(collection, samples, output, quiet=True, nworkers=1, **options)


class Containers(Writer):
    """tacotoolbox 0.7.0 … 0.26.9: ZIP, and FOLDER from 0.9.0."""

    def __init__(self, version):
        super().__init__()
        from tacotoolbox.create import create

        self.version = version
        self.create = create
        self.options = inspect.signature(create).parameters

    def datasets(self):
        listed = [(name, name, "zip") for name in TREES]
        if "output_format" in self.options:
            listed += [(f"{name}_folder", tree, "folder") for name, tree, _ in listed]
        if "split_size" in self.options:
            listed += [("parts", "flat", "parts"), ("parts_nested", "nested", "parts")]
        return listed

    def tortilla(self, items, described=True):
        from tacotoolbox.datamodel import Sample, Tortilla

        kinds = typing.get_args(Sample.model_fields["type"].annotation)
        file, folder = ("FILE", "FOLDER") if "FILE" in kinds else ("OTHER", "TORTILLA")
        samples = []
        for item in items:
            if item.children:
                sample = Sample(id=item.name, path=self.tortilla(item.children, False), type=folder)
            else:
                sample = Sample(id=item.name, path=item.path, type=file)
            if described:
                self.describe(sample, item)
            samples.append(sample)
        return Tortilla(samples=samples)

    def describe(self, sample, item):
        """Adds the fields of level 0, and notes those that the release can't write."""
        try:
            sample.extend_with(self.stac(item))
        except ValueError as exception:
            # 0.16.1 names a unit of time that polars does not have.
            self.lose("place", f"STAC can't be added: {error_of(exception)}")
        sample.extend_with({"cloud": item.cloud})
        if self.version in ("0.9.11", "0.10.0", "0.10.1"):
            self.lose("cloud", "fields that were given as a dict are not written")

    def lose(self, field, reason):
        if field in self.kept:
            self.kept.remove(field)
            self.notes.append(reason)

    def stac(self, item):
        from tacotoolbox.sample.extensions.stac import STAC

        times = {"time_start": item.start, "time_end": item.end}
        if STAC.model_fields["time_start"].annotation is int:
            times = {name: int(time.timestamp()) * 1_000_000 for name, time in times.items()}
        return STAC(crs="EPSG:4326", tensor_shape=(SIDE, SIDE), geotransform=item.geotransform, **times)

    def taco(self, items):
        import tacotoolbox.taco.datamodel as datamodel
        from tacotoolbox.datamodel import Taco

        if hasattr(datamodel, "Provider"):
            provider = datamodel.Provider(name="Ada Writer", roles=["producer"])
        else:
            provider = datamodel.Contact(name="Ada Writer", role="producer")
        fields = {"tasks": ["classification"], "providers": [provider]}
        if Taco.model_fields["extent"].is_required():
            fields["extent"] = datamodel.Extent(**EXTENT)
        return Taco(tortilla=self.tortilla(items), **COLLECTION, **fields)

    def write(self, name, items, container, folder):
        options = {}
        if "output_format" in self.options:
            options["output_format"] = "folder" if container == "folder" else "zip"
        if "split_size" in self.options:
            # A FOLDER is refused with a size by releases whose default is a size.
            options["split_size"] = f"{split_size(items)}B" if container == "parts" else None
        if "quiet" in self.options:
            options["quiet"] = True
        if container == "folder":
            output = folder / name
        elif container == "parts":
            output = folder / name / "part.tacozip"
        else:
            output = folder / f"{name}.tacozip"
        output.parent.mkdir(parents=True, exist_ok=True)
        written = self.create(self.taco(items), output, **options)
        if container == "parts":
            yield from self.parts(items, folder / name, written)
        else:
            yield output, items

    def parts(self, items, folder, parts):
        """Each part as a dataset, and the index of the parts, which create() or create_tacocat() writes beside them."""
        parts = sorted(map(pathlib.Path, parts))
        if len(parts) != 2:
            raise RuntimeError(f"{len(parts)} parts were written, not 2")
        yield parts[0], items[:2]
        yield parts[1], items[2:]
        if set(folder.iterdir()) == set(parts):
            try:
                from tacotoolbox.tacocat import create_tacocat
            except ImportError:
                return
            create_tacocat(parts, folder)
        for index in set(folder.iterdir()) - set(parts):
            yield index, items


def writer_of(package, version):
    numbers = [int(number) for number in re.findall(r"\d+", version)[:3]]
    if package == "pytortilla":
        return FirstFiles() if numbers < [0, 1] else Tortillas(version)
    if package == "tacotoolbox":
        return Tacos(version) if numbers < [0, 7] else Containers(version)
    raise SystemExit(f"{package} writes no datasets")


def error_of(exception):
    """One line: the exception's type and message, the causes whose message it does not repeat, and where the last was raised."""
    parts = []
    where = ""
    while exception is not None:
        message = " ".join(str(exception).split())
        if not parts or message not in parts[-1]:
            parts.append(f"{type(exception).__name__}: {message}")
        if frames := traceback.extract_tb(exception.__traceback__):
            where = f" ({pathlib.Path(frames[-1].filename).name}:{frames[-1].lineno})"
        exception = exception.__cause__
    return " <- ".join(parts) + where


def main(package, version, folder):
    folder = pathlib.Path(folder).resolve()
    shutil.rmtree(folder, ignore_errors=True)
    data = folder / "data"
    data.mkdir(parents=True)
    stand_ins = StandIns()
    # Last, so that a module that is installed is used.
    sys.meta_path.append(stand_ins)
    report = {"package": package, "version": version, "datasets": []}
    try:
        writer = writer_of(package, version)
        planned = writer.datasets()
    except Exception as exception:
        report["error"] = error_of(exception)
        planned = []
    for name, tree, container in planned:
        items = TREES[tree]()
        for item in items:
            item.save(folder / "sources" / name)
        entry = {"name": name, "container": container}
        try:
            for path, seen in writer.write(name, items, container, data):
                samples = [item.expected(writer.kept) for item in seen]
                # The index of parts is a container of its own.
                kind = "index" if container == "parts" and path.suffix != ".tacozip" else container
                written = {"container": kind, "path": str(path.relative_to(folder)), "samples": samples}
                report["datasets"].append(entry | written)
        except BaseException as exception:  # a panic of polars is no Exception
            if isinstance(exception, (KeyboardInterrupt, SystemExit)):
                raise
            kind = "index" if container == "parts" and any(one["name"] == name for one in report["datasets"]) else container
            report["datasets"].append(entry | {"container": kind, "error": error_of(exception)})
    report["notes"] = writer.notes if planned else []
    report["stand_ins"] = sorted({name.split(".")[0] for name in stand_ins.used})
    (folder / "expected.json").write_text(json.dumps(report, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
    sys.stdout.flush()
    # Threads of pyarrow sometimes abort the interpreter during shutdown.
    os._exit(0)
