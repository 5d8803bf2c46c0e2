"""Measures time and memory for writing an index over many ZIPs: the studio and the official toolbox, with the same archives.

Called by bench.py; alone: tacocat.py toolbox FOLDER ZIP… makes the toolbox's index and prints the seconds that it took, imports
not counted.
"""

import pathlib
import random
import shutil
import statistics
import struct
import subprocess
import sys
import time

import pyarrow as pa

from datasets import write_zip
from measure import take_turns

HERE = pathlib.Path(__file__).resolve().parent
TIMES_FASTER = 3.0
OF_ITS_MEMORY = 0.5
GROWTH = 1.25


def point(lon, lat):
    return struct.pack("<BIdd", 1, 1, lon, lat)


def make_zip(path, number, rows):
    """A flat ZIP dataset of `rows` samples with columns like those of satellite scenes."""
    generator = random.Random(number)
    places = [(generator.uniform(-180, 180), generator.uniform(-80, 80)) for _ in range(rows)]
    times = [1_500_000_000_000_000 + generator.randrange(10**14) for _ in range(rows)]
    columns = {
        "stac:crs": [f"EPSG:326{generator.randrange(1, 61):02d}" for _ in range(rows)],
        "stac:tensor_shape": pa.array([[13, 512, 512]] * rows, pa.list_(pa.int64())),
        "stac:geotransform": pa.array([[x * 1e5, 10.0, 0.0, y * 1e5, 0.0, -10.0] for x, y in places], pa.list_(pa.float64())),
        "stac:time_start": pa.array(times, pa.timestamp("us")),
        "stac:centroid": pa.array([point(*place) for place in places], pa.binary()),
        "cloud_cover": pa.array([generator.random() * 100 for _ in range(rows)], pa.float64()),
        "split": [("train", "validation", "test")[row % 3] for row in range(rows)],
    }
    (west, south), (east, north) = (tuple(edge(place[axis] for place in places) for axis in (0, 1)) for edge in (min, max))
    # The toolbox requires the fields that it writes with null values.
    extent = {"spatial": [west, south, east, north], "temporal": None}
    names = [f"part{number:05d}_{row:06d}" for row in range(rows)]
    write_zip(path, names, columns, extent=extent, title=None, curators=None, keywords=None)


def make_zips(folder, count, rows):
    folder.mkdir(parents=True)
    zips = [folder / f"part{number:05d}.tacozip" for number in range(count)]
    for number, path in enumerate(zips):
        make_zip(path, number, rows)
    return zips


def bench(program, work, repeats, sizes, report, timed):
    """ZIPs of 1,000 samples side by side; then ten times as many ZIPs of 100 for the memory."""
    folder = work / "tacocat"
    zips = make_zips(folder, sizes.zips, 1000)
    out = folder / "out"
    seconds, peaks = {"studio": [], "toolbox": []}, {"studio": [], "toolbox": []}
    commands = {
        "studio": [program, "tacocat", *zips, "-o", out, "--quiet"],
        "toolbox": [sys.executable, HERE / "tacocat.py", "toolbox", out, *zips],
    }
    # The first round warms the page cache.
    for round in range(repeats + 1):
        for contestant, command in take_turns(list(commands.items()), round):
            shutil.rmtree(out, ignore_errors=True)
            out.mkdir()
            taken, mib = timed(command, folder / "log")
            if contestant == "toolbox":
                taken = float((folder / "log").read_text().split()[-1])
            if round > 0:
                seconds[contestant].append(taken)
                peaks[contestant].append(mib)
    median = {contestant: statistics.median(each) for contestant, each in seconds.items()}
    peak = {contestant: max(each) for contestant, each in peaks.items()}
    report.print_figures(f"\nOne .tacocat over {sizes.zips} ZIPs of 1,000 samples; median of {repeats}; the toolbox without its imports")
    for contestant, each in seconds.items():
        times = " ".join(f"{second:.2f}" for second in each)
        report.print_figures(f"  {contestant:8} {median[contestant]:6.2f} s  peak {peak[contestant]:5.0f} MiB  ({times})")
    report.check_limit("tacocat: times faster than the toolbox", median["toolbox"] / median["studio"], "at least", TIMES_FASTER)
    report.check_limit("tacocat: part of the toolbox's memory", peak["studio"] / peak["toolbox"], "at most", OF_ITS_MEMORY)
    report.compare_runs(f"tacocat {sizes.zips} ZIPs / toolbox", seconds["studio"], seconds["toolbox"])
    report.compare_runs(f"tacocat {sizes.zips} ZIPs, memory / toolbox", peaks["studio"], peaks["toolbox"])
    shutil.rmtree(folder)
    weights = []
    for count in sizes.grown_zips:
        zips = make_zips(folder, count, 100)
        taken, mib = timed([program, "tacocat", *zips, "-o", folder, "--quiet"], folder / "log")
        report.print_figures(f"  {count:5} ZIPs of 100 samples: {taken:6.2f} s  peak {mib:5.0f} MiB")
        weights.append(mib)
        shutil.rmtree(folder)
    if weights:
        report.check_limit("tacocat: memory of ten times the ZIPs", weights[-1] / weights[0], "at most", GROWTH)


def toolbox(folder, zips):
    from tacotoolbox import create_tacocat

    started = time.perf_counter()
    create_tacocat(zips, folder)
    print(time.perf_counter() - started)


if __name__ == "__main__":
    assert sys.argv[1] == "toolbox"
    toolbox(pathlib.Path(sys.argv[2]), sys.argv[3:])
