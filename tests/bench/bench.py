"""Times the studio against `tar` (read all, write one: the limit) and against the official toolbox, the opening of a million rows
against the plain Parquet read, the memory of a draft of a million samples, exact statistics of 500 rasters against one thread that
only reads them, joining 200 ZIPs against the toolbox, queries against DuckDB, and the start of the window. Called by packaging/bench, which names the program.

Everything runs several times in turn, with the page cache warmed in the same way before each run; the medians count.

With --quick the same with less data, in less than five minutes: prints ratios alone, names those that are slower than in the records of
history.jsonl, adds a record, and draws docs/bench.svg.
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
import pyarrow.parquet as pq

import history
import tacocat
from datasets import COLLECTION, write_zip
from measure import COMPLETE, QUICK, Report, take_turns
from preview import bench_preview
from queries import bench_query
from start import bench_start

HERE = pathlib.Path(__file__).resolve().parent
AGAINST_TAR = 1.5
PEAK_MIB = 300.0
OPEN_SECONDS = 1.5
AGAINST_PARQUET = 2.5
DRAFT_MIB = 1024.0
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


def warm(folder, memory_touched):
    """Reads every file once and syncs earlier output, so that no run pays for another."""
    for entry in os.scandir(folder / "files"):
        with open(entry.path, "rb", buffering=0) as file:
            while file.read(1 << 20):
                pass
    os.sync()
    take_memory_back(memory_touched)


def take_memory_back(size):
    """A virtual machine hands pages that were freed back to its host within seconds, and whoever writes next pays for fetching them: up
    to four times the system time of the run itself, by chance. A process that touches as much memory as a run needs, just before it,
    evens that out for all."""
    if not hasattr(mmap, "MAP_POPULATE"):
        return
    touch = f"import mmap; mmap.mmap(-1, {size}, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | mmap.MAP_POPULATE)"
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


def bench_create(program, work, repeats, sizes, report):
    for case in sizes.create:
        folder = work / "create"
        make_files(folder, case.files, case.size)
        out = folder / "out"
        inputs = [folder / "files", folder / "metadata.csv", folder / "collection.json"]
        contestants = {
            "tar": ["tar", "-cf", out / "all.tar", "-C", folder, "files"],
            "studio": [program, "create", inputs[0], "-o", out / "studio.tacozip", "--collection", inputs[2], "--metadata", inputs[1]],
            "toolbox": [sys.executable, HERE / "toolbox_create.py", *inputs, out / "toolbox.tacozip"],
        }
        runs = {contestant: [] for contestant in contestants}
        for turn in range(repeats):
            for contestant, command in take_turns(list(contestants.items()), turn):
                shutil.rmtree(out, ignore_errors=True)
                out.mkdir()
                warm(folder, sizes.memory_touched)
                runs[contestant].append(timed(command, folder / "log"))
        shutil.rmtree(folder)
        median = {contestant: statistics.median(seconds for seconds, _ in pairs) for contestant, pairs in runs.items()}
        peak = {contestant: max(mib for _, mib in pairs) for contestant, pairs in runs.items()}
        report.print_figures(f"\n{case.title}, flat, four columns; median of {repeats}")
        for contestant, pairs in runs.items():
            each = " ".join(f"{seconds:.2f}" for seconds, _ in pairs)
            ratio = median[contestant] / median["tar"]
            report.print_figures(f"  {contestant:8} {median[contestant]:8.2f} s  {ratio:6.2f} x tar  peak {peak[contestant]:6.0f} MiB  ({each})")
        report.check_limit(f"{case.title}: against tar", median["studio"] / median["tar"], "at most", AGAINST_TAR)
        report.check_limit(f"{case.title}: times faster than the toolbox", median["toolbox"] / median["studio"], "at least", case.times_faster)
        report.check_limit(f"{case.title}: peak MiB", peak["studio"], "at most", PEAK_MIB)
        seconds = {contestant: [taken for taken, _ in pairs] for contestant, pairs in runs.items()}
        for peer in ("tar", "toolbox"):
            report.compare_runs(f"create {case.files} x {case.size // 1024} KiB / {peer}", seconds["studio"], seconds[peer])


def make_rows(path, rows):
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


def bench_open(program, work, repeats, sizes, report):
    """Time to open up to the first row, and to read the Parquet only, in one process with a warm cache."""
    path, rows = work / "rows.tacozip", sizes.opened_rows
    make_rows(path, rows)
    runs = [asked(program, "bench-open", path) for _ in range(repeats)]
    assert all(run["rows"] == rows for run in runs), runs
    opened, read = [run["open_seconds"] for run in runs], [run["parquet_seconds"] for run in runs]
    first, parquet = statistics.median(opened), statistics.median(read)
    report.print_figures(f"\n{rows:,} rows of metadata: first table row after {first:.3f} s, the Parquet read alone {parquet:.3f} s")
    report.check_limit(f"{rows:,} rows: seconds to the first table row", first, "at most", OPEN_SECONDS)
    report.check_limit(f"{rows:,} rows: against the Parquet read", first / parquet, "at most", AGAINST_PARQUET)
    report.compare_runs(f"open {rows} rows / Parquet read", opened, read)


def make_draft_table(samples):
    """The paths and values of the draft that the program makes, as columns."""
    rows, roots = range(samples), [row // 10 for row in range(samples)]
    return pa.table(
        {
            "id": [f"t{row % 10:02}.tif" for row in rows],
            "path": [f"/data/archive/scenes/roi_{root:07}/t{row % 10:02}.tif" for row, root in zip(rows, roots)],
            "size": pa.array([1 << 20] * samples, pa.int64()),
            "split": ["train"] * samples,
            "cloud_cover": pa.array(map(float, rows), pa.float64()),
            "row": pa.array(rows, pa.int64()),
            "tile": [f"T18L{row % 5000:04}" for row in rows],
        }
    )


def bench_draft(program, work, repeats, sizes, report):
    """The memory of a draft, and the time to open its project; beside them an Arrow table of its samples, and reading that as Parquet."""
    table, path = make_draft_table(sizes.draft_samples), work / "draft.parquet"
    pq.write_table(table, path, compression="zstd")
    held, opened, read = [], [], []
    for _ in range(repeats):
        run = asked(program, "bench-draft", str(sizes.draft_samples))
        held.append(max(run["draft_bytes"] or 0, run["draft_and_tree_bytes"] or 0))
        opened.append(run["project_open_seconds"])
        started = time.perf_counter()
        pq.read_table(path)
        read.append(time.perf_counter() - started)
    path.unlink()
    report.print_figures(f"\nA draft of {run['samples']:,} samples in memory")
    report.check_limit(f"draft of {sizes.draft_samples:,} samples: MiB", max(held) / 2**20, "at most", DRAFT_MIB)
    # Systems other than Linux do not say how much memory it has.
    if all(held):
        report.compare_runs(f"draft {sizes.draft_samples} samples, memory / Arrow", held, [table.nbytes] * repeats)
    report.compare_runs(f"draft {sizes.draft_samples} samples, open / Parquet read", opened, read)


def bench_stats(program, work, repeats, sizes, report):
    """In turn: one thread of rasterio that only reads, one thread of our GDAL that only reads, the statistics on all cores."""
    folder = work / "rasters"
    made = subprocess.run([sys.executable, HERE / "make_rasters.py", folder, str(sizes.rasters)], check=False)
    if made.returncode != 0:
        sys.exit("the rasters could not be made")
    reader = [sys.executable, HERE / "read_rasters.py", folder]
    read, read_own, computed = [], [], []
    # The first round warms the page cache.
    for round in range(repeats + 1):
        theirs = json.loads(subprocess.run([str(word) for word in reader], capture_output=True, check=True).stdout)
        ours = asked(program, "bench-stats", folder)
        assert ours["rasters"] == theirs["rasters"] == sizes.rasters and ours["failures"] == 0, (theirs, ours)
        if round > 0:
            read.append(theirs["read_seconds"])
            read_own.append(ours["read_seconds"])
            computed.append(ours["stats_seconds"])
    shutil.rmtree(folder)
    report.print_figures(f"\nExact statistics with percentiles of {sizes.rasters} rasters of 13 x 512 x 512 uint16, tiled, zstd; median of {repeats}")
    for what, seconds in [("rasterio, one thread, reading", read), ("GDAL here, one thread, reading", read_own), ("statistics", computed)]:
        each = " ".join(f"{second:.2f}" for second in seconds)
        report.print_figures(f"  {what:32} {statistics.median(seconds):6.2f} s  ({each})")
    against = statistics.median(computed)
    report.check_limit("statistics: against one thread of rasterio that only reads", against / statistics.median(read), "at most", AGAINST_READING)
    report.check_limit("statistics: against one thread of our GDAL", against / statistics.median(read_own), "at most", AGAINST_READING)
    for peer, seconds in (("rasterio, one thread", read), ("our GDAL, one thread", read_own)):
        report.compare_runs(f"stats {sizes.rasters} rasters / {peer}", computed, seconds)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("work", type=pathlib.Path, help="an empty folder with 4 GB of room")
    parser.add_argument("--repeats", type=int, help="3 where nothing is said, 5 with --quick")
    parser.add_argument("--only", choices=["create", "open", "draft", "stats", "tacocat", "query", "start", "preview"])
    parser.add_argument("--quick", action="store_true", help="less data, and ratios alone")
    parser.add_argument("--no-record", action="store_true", help="with --quick: changes neither history.jsonl nor docs/bench.svg")
    arguments = parser.parse_args()
    program, work, only = arguments.program, arguments.work, arguments.only
    sizes = QUICK if arguments.quick else COMPLETE
    repeats = arguments.repeats or sizes.repeats
    short_repeats = max(repeats, sizes.short_repeats)
    report = Report(arguments.quick)
    # A record has all ratios. What the checkout was is asked before the run, during which it may be edited.
    commit = history.describe_commit() if arguments.quick and not arguments.no_record and only is None else None

    if only in (None, "create"):
        bench_create(program, work, repeats, sizes, report)
    if only in (None, "open"):
        bench_open(program, work, short_repeats if arguments.quick else repeats, sizes, report)
    if only in (None, "draft"):
        bench_draft(program, work, repeats if arguments.quick else 1, sizes, report)
    if only in (None, "stats"):
        bench_stats(program, work, repeats, sizes, report)
    if only in (None, "tacocat"):
        tacocat.bench(program, work, repeats, sizes, report, timed)
    if only in (None, "query"):
        bench_query(program, work, short_repeats, sizes, report)
    if only in (None, "preview"):
        bench_preview(program, work, sizes, report)
    if only in (None, "start"):
        bench_start(program, work, repeats, sizes, report)
    if arguments.quick:
        keep_ratios(report.ratios, commit)
    return 1 if report.missed else 0


def keep_ratios(ratios, commit):
    """Warns of ratios that are slower than before; with a commit, adds them to the records and draws those."""
    records = [*history.read(), history.make_record(commit or {}, ratios)]
    history.compare(records)
    if commit:
        history.append(records[-1])
        history.draw(records)


if __name__ == "__main__":
    sys.exit(main())
