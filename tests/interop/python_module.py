"""The Python module: create → validate → query → read → pixels, each value beside that of the official reader, pyarrow and rasterio.

python_module.py FOLDER ADDRESS DATASET…: FOLDER has `scenes` and `collection.json`; ADDRESS is that of FOLDER/made.tacozip on a
server; DATASETs are golden sets of each generation. The module is on
PYTHONPATH.
"""

import html.parser
import inspect
import json
import multiprocessing
import os
import shutil
import signal
import sys
import threading

import numpy
import pandas
import polars
import pyarrow
import rasterio

import taco_studio

folder, address, *datasets = sys.argv[1:] or ("", "")


def raises(kind, function, *words):
    try:
        function()
    except taco_studio.TacoError as error:
        assert error.kind == kind, (error.kind, str(error))
        for word in words:
            assert word in str(error), (word, str(error))
        return error
    raise AssertionError(f"nothing was raised instead of {kind}")


def files_of(sample):
    if sample.kind == "FILE":
        yield sample
    for child in sample:
        yield from files_of(child)


def bytes_at(gdal_path):
    """The bytes of a local file, or of a range of one."""
    if not gdal_path.startswith("/vsisubfile/"):
        with open(gdal_path, "rb") as file:
            return file.read()
    place, path = gdal_path.removeprefix("/vsisubfile/").split(",", 1)
    offset, size = map(int, place.split("_"))
    with open(path, "rb") as file:
        file.seek(offset)
        return file.read(size)


def compare(path):
    """A dataset by the module beside GDAL's own reading of each file, and its tables by four libraries."""
    dataset = taco_studio.open(path)
    assert dataset.levels == len(dataset.description["levels"]) and len(dataset) == len(dataset.ids())
    for level in range(dataset.levels):
        table = dataset.table(level)
        arrow = pyarrow.table(table)
        assert arrow.num_rows == len(table) == dataset.description["levels"][level]["rows"]
        assert arrow.column_names == table.column_names
        assert polars.DataFrame(table).height == len(table)
        assert isinstance(table.to_pandas(), pandas.DataFrame)
    picture = dataset.map()
    assert picture is None or (picture.startswith("<svg xmlns") and picture.rstrip().endswith("</svg>")), picture[:200]
    counted = dataset.sql("SELECT count(*) AS n FROM level0").to_pyarrow().to_pylist()
    assert counted == [{"n": dataset.description["levels"][0]["rows"]}], counted
    rasters = files = 0
    for root in dataset:
        for sample in files_of(root):
            files += 1
            read = sample.read()
            assert read == bytes_at(sample.gdal_path), sample
            if rasters > 5:
                continue
            try:
                source = rasterio.open(sample.gdal_path)
            except rasterio.errors.RasterioIOError:
                continue
            with source:
                if source.count == 0 or source.dtypes[0].startswith("complex") or len(set(source.dtypes)) > 1:
                    continue
                rasters += 1
                ours = sample.window()
                theirs = source.read()
                if theirs.dtype != numpy.int8:
                    assert ours.dtype == theirs.dtype, (ours.dtype, theirs.dtype)
                if source.driver == "JPEG":
                    # Decoders round differently.
                    assert numpy.abs(ours.astype(int) - theirs.astype(int)).mean() < 1, sample
                    continue
                assert numpy.array_equal(ours, theirs, equal_nan=theirs.dtype.kind == "f"), sample
                columns, rows = max(1, source.width // 2), max(1, source.height // 2)
                window = rasterio.windows.Window(source.width - columns, source.height - rows, columns, rows)
                box = (source.width - columns, source.height - rows, columns, rows)
                part = sample.window(bands=[source.count], box=box)
                wanted = source.read([source.count], window=window)
                assert numpy.array_equal(part, wanted, equal_nan=wanted.dtype.kind == "f"), sample
                info = sample.raster_info
                assert (info["width"], info["height"], info["band_count"]) == (source.width, source.height, source.count)
                masked = sample.window(masked=True)
                assert masked.shape == theirs.shape
                raises("usage", lambda: sample.window(box=(source.width, 0, 1, 1)), "not inside the raster")
                raises("usage", lambda: sample.window(bands=[source.count + 1]), "no band")
    return files, rasters


def operations():
    os.chdir(folder)
    for name in taco_studio.__all__:
        assert getattr(taco_studio, name).__doc__, name
    assert list(inspect.signature(taco_studio.validate).parameters)[0] == "input"
    stages = []
    built = taco_studio.create(
        "scenes",
        collection="collection.json",
        options={"target": "made.tacozip", "format": "zip"},
        progress=lambda *state: stages.append(state),
    )
    assert built["samples"] > 0 and built.sound and "made.tacozip" in built.summary, built.value
    assert all(len(state) == 4 for state in stages), stages
    assert taco_studio.validate("made.tacozip", deep=True).sound
    taco_studio.extend("made.tacozip", calls=[{"extension": "stats", "target": {"level": 1}}], options={"target": "more.tacozip", "format": "zip"})
    dataset = taco_studio.open("more.tacozip")
    means = dataset.sql('SELECT "geotiff:stats" AS stats FROM level1').to_pyarrow()["stats"].to_pylist()
    rasters = [sample for root in dataset for sample in files_of(root)]
    assert len(means) == len(rasters)
    for stats, sample in zip(means, rasters):
        if stats is None:
            continue
        pixels = sample.window().astype("float64")
        assert abs(stats[0][2] - pixels[0].mean()) < 1e-3 * max(1.0, abs(pixels[0].mean())), (stats[0], pixels[0].mean())
    page = dataset._repr_html_()
    assert page.count("data:image/png;base64,") == len(dataset) and "level1" in page, page[:500]
    assert html.parser.HTMLParser().feed(page) is None and dataset.ids()[0] in page
    picture = rasters[0].picture(16)
    with rasterio.MemoryFile(picture) as file, file.open() as image:
        assert (image.count, image.width, image.height) == (4, 16, 16), image.profile
    assert "data:image/png" in rasters[0]._repr_html_() and rasters[0].id in dataset[0]._repr_html_()
    first = dataset.ids()[0]
    assert dataset[first].id == dataset[0].id == first and dataset[f"{first}/{dataset[0].ids()[0]}"].level == 1
    assert dataset[-1].id == dataset.ids()[-1]
    assert dataset.sql("SELECT id, 1 AS one, NULL AS none FROM level0 LIMIT 1").to_dicts() == [{"id": first, "one": 1, "none": None}]
    chosen = dataset.sql(where=f"id = '{first}'").to_pyarrow()
    assert chosen.num_rows == 1, chosen
    for wrong, kind in [(lambda: dataset[99], IndexError), (lambda: dataset["none"], KeyError)]:
        try:
            wrong()
        except kind:
            continue
        raise AssertionError(kind)

    error = raises("usage", lambda: taco_studio.create("scenes", collection="collection.json", options={"target": "made.tacozip", "format": "zip"}), "exists already")
    assert any("--overwrite" in hint for hint in error.hints), error.hints
    raises("io", lambda: taco_studio.open("none.tacozip"), "none.tacozip")
    raises("usage", lambda: dataset.sql("SELECT nothing FROM data"), "nothing")
    raises("usage", lambda: dataset.table(9), "no level 9")
    raises("usage", lambda: dataset[0].read(), "FOLDER")
    program = {"extension": "command", "options": {"command": ["touch", "started"], "fields": {"a:b": "int64"}}, "target": {"level": 0}}
    raises("usage", lambda: taco_studio.extend("made.tacozip", calls=[program], options={"target": "run.tacozip", "format": "zip"}), "touch")
    assert not os.path.exists("started")
    try:
        taco_studio.validate("made.tacozip", depp=True)
    except TypeError as error:
        assert "depp" in str(error), error
    else:
        raise AssertionError("a misspelt keyword was taken")


def interrupts():
    """Ctrl-C stops work that would go on, and other threads run meanwhile."""
    # Shells start programs in the background with this signal ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    dataset = taco_studio.open("made.tacozip")
    beats = []
    stop = threading.Event()

    def beat():
        while not stop.wait(0.01):
            beats.append(1)

    thread = threading.Thread(target=beat)
    thread.start()
    timer = threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    try:
        dataset.sql("SELECT count(DISTINCT md5((a.range * 2500 + b.range)::VARCHAR)) AS n FROM range(2500) AS a, range(2500) AS b")
    except KeyboardInterrupt:
        pass
    else:
        raise AssertionError("Ctrl-C was not regarded")
    finally:
        stop.set()
        thread.join()
    assert len(beats) > 10, len(beats)
    assert dataset.sql("SELECT 1 AS one").to_pyarrow().to_pylist() == [{"one": 1}]

    def fails(*_):
        raise RuntimeError("enough")

    first = sorted(os.listdir("scenes"))[0]
    for number in range(300):
        shutil.copytree(f"scenes/{first}", f"many/{number}")
    try:
        taco_studio.create("many", collection="collection.json", options={"target": "stopped.tacozip", "format": "zip"}, progress=fails)
    except RuntimeError as error:
        assert str(error) == "enough"
    else:
        raise AssertionError("the exception was lost")
    assert not os.path.exists("stopped.tacozip") and not [name for name in os.listdir() if name.startswith("stopped")]


def in_child(task):
    """What a task gives in a process that is started in each way; the dataset was opened and queried in this one."""
    for way in ("fork", "spawn"):
        with multiprocessing.get_context(way).Pool(2) as pool:
            yield pool.map_async(task[0], task[1]).get(timeout=120)


def sum_of(sample):
    return int(sample.window().astype("int64").sum()), len(sample.read()), sample.gdal_path


def training():
    """Windows of samples are those of rasterio, the same in every process and for every call with one seed and epoch."""
    from taco_studio.torch import Samples

    names = ["after.tif", "label.tif"]
    samples = Samples("made.tacozip", names, bands={"after.tif": [3, 1]}, size=(8, 16), seed=5, tensors=False)
    assert len(samples) == len(samples.dataset) and samples.ids == samples.dataset.ids()
    first = [samples[index] for index in range(len(samples))]
    for one in first:
        column, row, width, height = (int(number) for number in one["window"])
        window = rasterio.windows.Window(column, row, width, height)
        for name, bands in [("after.tif", [3, 1]), ("label.tif", [1])]:
            with rasterio.open(samples.dataset[one["id"]][name].gdal_path) as source:
                assert numpy.array_equal(one[name], source.read(bands, window=window)), (one["id"], name)
    assert all(same(one, other) for one, other in zip(first, samples.__getitems__(range(len(samples)))))
    for again in in_child((samples.__getitem__, range(len(samples)))):
        assert all(same(one, other) for one, other in zip(first, again)), again
    samples.set_epoch(1)
    assert any(not numpy.array_equal(samples[index]["window"], first[index]["window"]) for index in range(len(samples)))

    grid = Samples("made.tacozip", ["before.tif"], size=20, grid=True, dtype="float32", tensors=False)
    side = samples.dataset[0]["before.tif"].raster_info["width"]
    assert len(grid) == len(samples) * 4 and grid[0]["before.tif"].dtype == numpy.float32
    covered = numpy.zeros((side, side), dtype=bool)
    for index in range(4):
        column, row, width, height = grid[index]["window"]
        assert column + width <= side and row + height <= side, grid[index]["window"]
        covered[row : row + height, column : column + width] = True
    assert covered.all()
    chosen = samples.ids[0]
    assert Samples("made.tacozip", names, where=f"id = '{chosen}'").ids == Samples("made.tacozip", names, ids=[chosen]).ids == [chosen]
    doubled = Samples("made.tacozip", names, transform=lambda found: found["id"], tensors=False)
    assert doubled[-1] == samples.ids[-1]
    for wrong, kind in [(lambda: samples[len(samples)], IndexError), (lambda: Samples("made.tacozip", names, ids=["none"]), KeyError)]:
        try:
            wrong()
        except kind:
            continue
        raise AssertionError(kind)
    try:
        Samples("made.tacozip", names, size=4096)[0]
    except ValueError as error:
        assert "less than a window" in str(error), error
    else:
        raise AssertionError("a window that is larger than the raster was read")


def same(one, other):
    return one.keys() == other.keys() and all(numpy.array_equal(one[name], other[name]) for name in one)


def queried(dataset):
    try:
        return dataset.sql("SELECT 1 AS one").to_pyarrow().to_pylist()
    except taco_studio.TacoError as error:
        return error.kind


def processes(address):
    """Forked and spawned processes read samples of a dataset that this one has opened, here and on a server."""
    for path in ("made.tacozip", address, "placed/sample.tacozip"):
        dataset = taco_studio.open(path)
        samples = [sample for root in list(dataset)[:3] for sample in files_of(root) if sample.id.endswith(".tif")]
        wanted = [sum_of(sample) for sample in samples]
        for found in in_child((sum_of, samples)):
            assert found == wanted, (path, found, wanted)
        assert list(in_child((queried, [dataset]))) == [["unsupported"], [[{"one": 1}]]]
        assert [sum_of(sample) for sample in samples] == wanted


if __name__ == "__main__":
    seen = {path: compare(path) for path in datasets}
    assert sum(rasters for _, rasters in seen.values()) > 3, seen
    operations()
    interrupts()
    processes(address)
    training()
    print(json.dumps({"datasets": len(seen), "files": sum(files for files, _ in seen.values())}))
