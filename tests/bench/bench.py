"""Times the studio against `tar` (read all, write one: the limit) and against the official toolbox, the opening of a million rows
against the plain Parquet read, the memory of a draft of a million samples, exact statistics of 500 rasters against one thread that
only reads them, joining 200 ZIPs against the toolbox, queries against DuckDB, and the start of the window. Called by packaging/bench, which names the program.

Everything runs several times in turn, with the page cache warmed in the same way before each run; the medians count.
"""

import argparse
import json
import mmap
import os
import pathlib
import random
import shutil
import statistics
import subprocess
import sys
import time

import pyarrow as pa

import tacocat
from datasets import COLLECTION, write_zip
from preview import bench_preview
from queries import bench_query
from start import bench_start

HERE = pathlib.Path(__file__).resolve().parent
# name, number of files, bytes per file, required speed-up over the toolbox
CASES = [("50,000 files of 1 KiB", "small", 50_000, 1024, 20.0), ("20,000 files of 64 KiB", "medium", 20_000, 65_536, 4.0)]
AGAINST_TAR = 1.5
PEAK_MIB = 300.0
OPEN_SECONDS = 1.5
AGAINST_PARQUET = 2.5
DRAFT_MIB = 1024.0
# Disk space for reading, writing and caching the larger case, with a margin.
MEMORY_TOUCHED = 4 << 30
RASTERS = 500
AGAINST_READING = 1.0


def make_files(folder, count, size):
    files = folder / "files"
    files.mkdir(parents=True)
    generator = random.Random(size)
    with (folder / "metadata.csv").open("w", encoding="utf-8") as table:
        table.write("path,region,cloud_cover,quality,split\n")
        for number in range(count):
            name = f"sample_{number:06d}.bin"
            (files / name).write_bytes(generator.randbytes(size))
            split = ("train", "validation", "test")[number % 3]
            table.write(f"{name},region {number % 40},{number % 101},{generator.random():.6f},{split}\n")
    (folder / "collection.json").write_text(json.dumps(COLLECTION), encoding="utf-8")


def warm(folder):
    """Reads every file once and syncs earlier output, so that no run pays for another."""
    for entry in os.scandir(folder / "files"):
        with open(entry.path, "rb", buffering=0) as file:
            while file.read(1 << 20):
                pass
    os.sync()
    take_memory_back()


def take_memory_back():
    """A virtual machine hands pages that were freed back to its host within seconds, and whoever writes next pays for fetching them: up
    to four times the system time of the run itself, by chance. A process that touches as much memory as a run needs, just before it,
    evens that out for all."""
    if not hasattr(mmap, "MAP_POPULATE"):
        return
    touch = f"import mmap; mmap.mmap(-1, {MEMORY_TOUCHED}, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | mmap.MAP_POPULATE)"
    subprocess.run([sys.executable, "-c", touch], check=False)


# Starts a command and prints its exit code, its seconds, and the peak of its memory as the system counts it. A process of its own: the
# system counts what the process that starts a command holds at that moment, too, which in this one is more than the studio needs.
LAUNCHER = """
import json, os, subprocess, sys, time
with open(sys.argv[1], "wb") as output:
    started = time.perf_counter()
    process = subprocess.Popen(sys.argv[2:], stdin=subprocess.DEVNULL, stdout=output, stderr=output)
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - started
process.returncode = os.waitstatus_to_exitcode(status)
print(json.dumps([process.returncode, seconds, usage.ru_maxrss]))
"""


def timed(command, log):
    """Seconds and peak MiB of a command and its children; a failure ends the benchmark."""
    launcher = [sys.executable, "-I", "-S", "-c", LAUNCHER, log, *command]
    ran = subprocess.run([str(word) for word in launcher], stdout=subprocess.PIPE, check=True)
    code, seconds, peak = json.loads(ran.stdout)
    if code != 0:
        sys.exit(f"{' '.join(map(str, command))}\nended with {code}:\n{log.read_text(errors='replace')[-2000:]}")
    unit = 1024 * 1024 if sys.platform == "darwin" else 1024
    return seconds, peak / unit


def bench_create(program, work, repeats, report):
    for title, name, count, size, times_faster in CASES:
        folder = work / name
        make_files(folder, count, size)
        out = folder / "out"
        inputs = [folder / "files", folder / "metadata.csv", folder / "collection.json"]
        contestants = {
            "tar": ["tar", "-cf", out / "all.tar", "-C", folder, "files"],
            "studio": [program, "create", inputs[0], "-o", out / "studio.tacozip", "--collection", inputs[2], "--metadata", inputs[1]],
            "toolbox": [sys.executable, HERE / "toolbox_create.py", *inputs, out / "toolbox.tacozip"],
        }
        runs = {contestant: [] for contestant in contestants}
        for _ in range(repeats):
            for contestant, command in contestants.items():
                shutil.rmtree(out, ignore_errors=True)
                out.mkdir()
                warm(folder)
                runs[contestant].append(timed(command, folder / "log"))
        shutil.rmtree(folder)
        median = {contestant: statistics.median(seconds for seconds, _ in pairs) for contestant, pairs in runs.items()}
        peak = {contestant: max(mib for _, mib in pairs) for contestant, pairs in runs.items()}
        print(f"\n{title}, flat, four columns; median of {repeats}")
        for contestant, pairs in runs.items():
            each = " ".join(f"{seconds:.2f}" for seconds, _ in pairs)
            ratio = median[contestant] / median["tar"]
            print(f"  {contestant:8} {median[contestant]:8.2f} s  {ratio:6.2f} x tar  peak {peak[contestant]:6.0f} MiB  ({each})")
        report(f"{title}: against tar", median["studio"] / median["tar"], "at most", AGAINST_TAR)
        report(f"{title}: times faster than the toolbox", median["toolbox"] / median["studio"], "at least", times_faster)
        report(f"{title}: peak MiB", peak["studio"], "at most", PEAK_MIB)


def make_million(path, rows):
    generator = random.Random(1)
    columns = {
        "region": [f"region {number % 40}" for number in range(rows)],
        "cloud_cover": pa.array([number % 101 for number in range(rows)], pa.int64()),
        "quality": pa.array([generator.random() for _ in range(rows)], pa.float64()),
        "split": [("train", "validation", "test")[number % 3] for number in range(rows)],
    }
    write_zip(path, [f"sample_{number:07d}" for number in range(rows)], columns)


def asked(program, *arguments):
    """Output of a hidden bench command of the program."""
    ran = subprocess.run([program, *arguments], capture_output=True, text=True, check=False)
    if ran.returncode != 0:
        sys.exit(f"{arguments[0]} ended with {ran.returncode}:\n{ran.stderr}")
    return json.loads(ran.stdout)


def bench_open(program, work, repeats, report):
    """Time to open up to the first row, and to read the Parquet only, in one process with a warm cache."""
    path = work / "million.tacozip"
    make_million(path, 1_000_000)
    runs = [asked(program, "bench-open", path) for _ in range(repeats)]
    assert all(run["rows"] == 1_000_000 for run in runs), runs
    first = statistics.median(run["open_seconds"] for run in runs)
    parquet = statistics.median(run["parquet_seconds"] for run in runs)
    print(f"\n1,000,000 rows of metadata: first table row after {first:.3f} s, the Parquet read alone {parquet:.3f} s")
    report("1,000,000 rows: seconds to the first table row", first, "at most", OPEN_SECONDS)
    report("1,000,000 rows: against the Parquet read", first / parquet, "at most", AGAINST_PARQUET)


def bench_draft(program, report):
    run = asked(program, "bench-draft", "1000000")
    held = max(run["draft_bytes"] or 0, run["draft_and_tree_bytes"] or 0) / 2**20
    print(f"\nA draft of {run['samples']:,} samples in memory")
    report("draft of a million samples: MiB", held, "at most", DRAFT_MIB)


def bench_stats(program, work, repeats, report):
    """In turn: one thread of rasterio that only reads, one thread of our GDAL that only reads, the statistics on all cores."""
    folder = work / "rasters"
    made = subprocess.run([sys.executable, HERE / "make_rasters.py", folder, str(RASTERS)], check=False)
    if made.returncode != 0:
        sys.exit("the rasters could not be made")
    reader = [sys.executable, HERE / "read_rasters.py", folder]
    read, read_own, computed = [], [], []
    # The first round warms the page cache.
    for round in range(repeats + 1):
        theirs = json.loads(subprocess.run([str(word) for word in reader], capture_output=True, check=True).stdout)
        ours = asked(program, "bench-stats", folder)
        assert ours["rasters"] == theirs["rasters"] == RASTERS and ours["failures"] == 0, (theirs, ours)
        if round > 0:
            read.append(theirs["read_seconds"])
            read_own.append(ours["read_seconds"])
            computed.append(ours["stats_seconds"])
    shutil.rmtree(folder)
    print(f"\nExact statistics with percentiles of {RASTERS} rasters of 13 x 512 x 512 uint16, tiled, zstd; median of {repeats}")
    for what, seconds in [("rasterio, one thread, reading", read), ("GDAL here, one thread, reading", read_own), ("statistics", computed)]:
        each = " ".join(f"{second:.2f}" for second in seconds)
        print(f"  {what:32} {statistics.median(seconds):6.2f} s  ({each})")
    against = statistics.median(computed)
    report("statistics: against one thread of rasterio that only reads", against / statistics.median(read), "at most", AGAINST_READING)
    report("statistics: against one thread of our GDAL", against / statistics.median(read_own), "at most", AGAINST_READING)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("work", type=pathlib.Path, help="an empty folder with 4 GB of room")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", choices=["create", "open", "draft", "stats", "tacocat", "query", "start", "preview"])
    arguments = parser.parse_args()
    missed = []

    def report(what, value, side, limit):
        met = value <= limit if side == "at most" else value >= limit
        print(f"  {'ok  ' if met else 'MISS'} {what}: {value:.2f} ({side} {limit:g})", flush=True)
        if not met:
            missed.append(what)

    if arguments.only in (None, "create"):
        bench_create(arguments.program, arguments.work, arguments.repeats, report)
    if arguments.only in (None, "open"):
        bench_open(arguments.program, arguments.work, arguments.repeats, report)
    if arguments.only in (None, "draft"):
        bench_draft(arguments.program, report)
    if arguments.only in (None, "stats"):
        bench_stats(arguments.program, arguments.work, arguments.repeats, report)
    if arguments.only in (None, "tacocat"):
        tacocat.bench(arguments.program, arguments.work, arguments.repeats, report, timed)
    if arguments.only in (None, "query"):
        bench_query(arguments.program, arguments.work, max(arguments.repeats, 5), report)
    if arguments.only in (None, "preview"):
        bench_preview(arguments.program, arguments.work, report)
    if arguments.only in (None, "start"):
        bench_start(arguments.program, arguments.work, arguments.repeats, report)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
