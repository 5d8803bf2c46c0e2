"""Times and weighs one index over many ZIPs: the studio and the official toolbox in turn, over the same archives.

Called by bench.py; alone: tacocat.py toolbox FOLDER ZIP… makes the toolbox's index and prints the seconds that it took, imports
not counted.
"""

import json
import pathlib
import random
import shutil
import statistics
import struct
import subprocess
import sys
import time
import zipfile

import pyarrow as pa
import pyarrow.parquet as pq

HERE = pathlib.Path(__file__).resolve().parent
COLLECTION = {
    "id": "bench",
    "dataset_version": "1.0.0",
    "description": "Random bytes, for timing.",
    "licenses": ["CC0-1.0"],
    "providers": [{"name": "Bench", "roles": ["producer"]}],
    "tasks": ["classification"],
    "taco_version": "2.0.0",
    "title": None,
    "curators": None,
    "keywords": None,
}
TIMES_FASTER = 3.0
OF_ITS_MEMORY = 0.5
GROWTH = 1.25


def point(lon, lat):
    return struct.pack("<BIdd", 1, 1, lon, lat)


def make_zip(path, number, rows):
    """A flat ZIP dataset of `rows` samples of 16 bytes with columns like those of satellite scenes."""
    generator = random.Random(number)
    size = 16
    names = [f"part{number:05d}_{row:06d}" for row in range(rows)]
    member = 30 + len("DATA/") + len(names[0])
    first = 157
    places = [(generator.uniform(-180, 180), generator.uniform(-80, 80)) for _ in range(rows)]
    times = [1_500_000_000_000_000 + generator.randrange(10**14) for _ in range(rows)]
    columns = {
        "id": names,
        "type": ["FILE"] * rows,
        "stac:crs": [f"EPSG:326{generator.randrange(1, 61):02d}" for _ in range(rows)],
        "stac:tensor_shape": pa.array([[13, 512, 512]] * rows, pa.list_(pa.int64())),
        "stac:geotransform": pa.array([[x * 1e5, 10.0, 0.0, y * 1e5, 0.0, -10.0] for x, y in places], pa.list_(pa.float64())),
        "stac:time_start": pa.array(times, pa.timestamp("us")),
        "stac:centroid": pa.array([point(*place) for place in places], pa.binary()),
        "cloud_cover": pa.array([generator.random() * 100 for _ in range(rows)], pa.float64()),
        "split": [("train", "validation", "test")[row % 3] for row in range(rows)],
        "internal:current_id": pa.array(range(rows), pa.int64()),
        "internal:parent_id": pa.array(range(rows), pa.int64()),
        "internal:offset": pa.array([first + row * (member + size) + member for row in range(rows)], pa.int64()),
        "internal:size": pa.array([size] * rows, pa.int64()),
    }
    table = pa.table(columns)
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd", compression_level=13, row_group_size=65_536)
    parquet = sink.getvalue().to_pybytes()
    fields = [[field.name, str(field.type), ""] for field in table.schema if field.name not in ("internal:offset", "internal:size")]
    west, east = min(place[0] for place in places), max(place[0] for place in places)
    south, north = min(place[1] for place in places), max(place[1] for place in places)
    extra = {
        "extent": {"spatial": [west, south, east, north], "temporal": None},
        "taco:pit_schema": {"root": {"n": rows, "type": "FILE"}, "shape": [rows], "hierarchy": {}},
        "taco:field_schema": {"level0": fields},
    }
    collection = json.dumps({**COLLECTION, **extra}, indent=4).encode()
    parquet_at = first + rows * (member + size) + 30 + len("METADATA/level0.parquet")
    collection_at = parquet_at + len(parquet) + 30 + len("COLLECTION.json")
    header = struct.pack("<B3x14Q", 2, parquet_at, len(parquet), collection_at, len(collection), *[0] * 10)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(zipfile.ZipInfo("TACO_HEADER"), header)
        for row, name in enumerate(names):
            archive.writestr(zipfile.ZipInfo(f"DATA/{name}"), row.to_bytes(size, "little"))
        archive.writestr(zipfile.ZipInfo("METADATA/level0.parquet"), parquet)
        archive.writestr(zipfile.ZipInfo("COLLECTION.json"), collection)
    with path.open("rb") as file:
        file.seek(parquet_at)
        assert file.read(4) == b"PAR1", "the computed offsets are wrong"


def make_zips(folder, count, rows):
    folder.mkdir(parents=True)
    zips = [folder / f"part{number:05d}.tacozip" for number in range(count)]
    for number, path in enumerate(zips):
        make_zip(path, number, rows)
    return zips


def bench(program, work, repeats, report, timed):
    """200 ZIPs of 1,000 samples side by side; then ten times as many ZIPs of 100 for the memory."""
    folder = work / "tacocat"
    zips = make_zips(folder, 200, 1000)
    out = folder / "out"
    seconds = {"studio": [], "toolbox": []}
    peak = {"studio": 0.0, "toolbox": 0.0}
    commands = {
        "studio": [program, "tacocat", *zips, "-o", out, "--quiet"],
        "toolbox": [sys.executable, HERE / "tacocat.py", "toolbox", out, *zips],
    }
    # The first round warms the page cache.
    for round in range(repeats + 1):
        for contestant, command in commands.items():
            shutil.rmtree(out, ignore_errors=True)
            out.mkdir()
            taken, mib = timed(command, folder / "log")
            if contestant == "toolbox":
                taken = float((folder / "log").read_text().split()[-1])
            if round > 0:
                seconds[contestant].append(taken)
                peak[contestant] = max(peak[contestant], mib)
    median = {contestant: statistics.median(each) for contestant, each in seconds.items()}
    print(f"\nOne .tacocat over 200 ZIPs of 1,000 samples; median of {repeats}; the toolbox without its imports")
    for contestant, each in seconds.items():
        times = " ".join(f"{second:.2f}" for second in each)
        print(f"  {contestant:8} {median[contestant]:6.2f} s  peak {peak[contestant]:5.0f} MiB  ({times})")
    report("tacocat: times faster than the toolbox", median["toolbox"] / median["studio"], "at least", TIMES_FASTER)
    report("tacocat: part of the toolbox's memory", peak["studio"] / peak["toolbox"], "at most", OF_ITS_MEMORY)
    shutil.rmtree(folder)
    weights = []
    for count in (200, 2000):
        zips = make_zips(folder, count, 100)
        taken, mib = timed([program, "tacocat", *zips, "-o", folder, "--quiet"], folder / "log")
        print(f"  {count:5} ZIPs of 100 samples: {taken:6.2f} s  peak {mib:5.0f} MiB")
        weights.append(mib)
        shutil.rmtree(folder)
    report("tacocat: memory of ten times the ZIPs", weights[1] / weights[0], "at most", GROWTH)


def toolbox(folder, zips):
    from tacotoolbox import create_tacocat

    started = time.perf_counter()
    create_tacocat(zips, folder)
    print(time.perf_counter() - started)


if __name__ == "__main__":
    assert sys.argv[1] == "toolbox"
    toolbox(pathlib.Path(sys.argv[2]), sys.argv[3:])
