"""A model of plan, run and finish beyond one machine: measures its constants on this one at a few sizes, compares its prediction with a
larger run, and prints what it predicts for a dataset of any size.

    python scale.py PROGRAM FOLDER                       measures, compares, prints the predictions
    python scale.py PROGRAM FOLDER --samples 1e8 --bytes 300e12 --part 4e9 --workers 1,16,64,256
    python scale.py - FOLDER …                           predicts with the constants in FOLDER/constants.json

Times are those of this machine. Rates of stores and prices are options: they differ by region and change.
"""

import argparse
import json
import math
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from datasets import write_zip

# Samples of the runs that give the constants, and of the run that the prediction is held against.
FITTED = (50_000, 100_000, 200_000)
HELD = 1_000_000
PARTS = 20
# Parts of another run of the middle size: what each part adds to the end.
MANY = 400
# The run that measures throughput: samples of a MiB.
BIG = 768
MIB = 1 << 20


def run(command):
    """Seconds, peak MiB and bytes read of a command; a failure ends the script."""
    script = 'exec 3>&1; /usr/bin/time -f "%e %M" "$@" 2>"$0" >/dev/null; code=$?; cat /proc/$$/io; exit $code'
    log = Path("/tmp") / f"scale-{time.monotonic_ns()}"
    done = subprocess.run(["sh", "-c", script, str(log), *map(str, command)], capture_output=True, text=True, check=False)
    text = log.read_text(errors="replace")
    log.unlink()
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\nended with {done.returncode}:\n{text[-2000:]}")
    seconds, peak = text.strip().splitlines()[-1].split()
    read = re.search(r"rchar: (\d+)", done.stdout)
    return float(seconds), int(peak) / 1024, int(read.group(1)) if read else 0


def folder_bytes(folder):
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def columns(rows):
    """Columns as a real dataset has: a place, a time, numbers and texts."""
    generator = np.random.default_rng(rows)
    lon, lat = generator.uniform(-180, 180, rows), generator.uniform(-60, 75, rows)
    points = [b"\x01\x01\x00\x00\x00" + np.array([x, y], "<f8").tobytes() for x, y in zip(lon, lat)]
    return {
        "stac:centroid": points,
        "stac:time_start": (generator.integers(1_400_000_000, 1_700_000_000, rows) * 1_000_000).astype("datetime64[us]"),
        "cloud_cover": generator.uniform(0, 100, rows),
        "country": np.array(["PE", "BR", "ES", "KE", "IN", "AU"])[generator.integers(0, 6, rows)].tolist(),
    }


def measure(program, folder, rows, parts=PARTS):
    """Plans, builds and finishes a dataset of `rows` samples of 16 bytes."""
    work = folder / f"rows-{rows}"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    source, plan = work / "source.tacozip", work / "plan"
    write_zip(source, [f"sample_{row:09d}" for row in range(rows)], columns(rows))
    plan_s, plan_mib, _ = run([program, "plan", source, "-o", plan, "--parts", parts, "--consolidate", "tacocat"])
    run_s = sum(run([program, "plan", "run", plan, "--part", part])[0] for part in range(1, parts + 1))
    finish_s, finish_mib, _ = run([program, "plan", "finish", plan])
    dataset = plan / "dataset"
    index = next(path for path in dataset.rglob(".tacocat") if path.is_dir())
    open_s, open_mib, _ = run([program, "query", index, "--sql", "SELECT id FROM data LIMIT 1"])
    found = {
        "samples": rows,
        "plan_s": plan_s,
        "plan_mib": plan_mib,
        "plan_bytes": folder_bytes(plan) - folder_bytes(dataset),
        "run_s": run_s,
        "finish_s": finish_s,
        "finish_mib": finish_mib,
        "index_bytes": folder_bytes(index),
        "open_s": open_s,
        "open_mib": open_mib,
    }
    shutil.rmtree(work)
    return found


def measure_bytes(program, folder):
    """Throughput of a part, and bytes read for each byte written."""
    work = folder / "bytes"
    shutil.rmtree(work, ignore_errors=True)
    files = work / "files"
    files.mkdir(parents=True)
    generator = np.random.default_rng(1)
    for number in range(BIG):
        (files / f"{number:05d}.bin").write_bytes(generator.bytes(MIB))
    (work / "collection.json").write_text(json.dumps({
        "id": "bytes", "dataset_version": "1.0.0", "description": "Random bytes.", "licenses": ["CC0-1.0"],
        "providers": [{"name": "Bench", "roles": ["producer"]}], "tasks": ["other"]}), encoding="utf-8")
    plan = work / "plan"
    run([program, "plan", files, "-o", plan, "--parts", 1, "--collection", work / "collection.json"])
    seconds, _, read = run([program, "plan", "run", plan, "--part", 1])
    shutil.rmtree(work)
    return {"bytes_per_second": BIG * MIB / seconds, "read_per_byte": read / (BIG * MIB)}


LINEAR = ("plan_s", "plan_mib", "plan_bytes", "run_s", "finish_s", "finish_mib", "index_bytes", "open_s", "open_mib")


def fit(runs):
    """For each quantity a constant and a slope per sample, by least squares; neither is below 0."""
    samples = np.array([found["samples"] for found in runs], float)
    lines = {}
    for name in LINEAR:
        slope, constant = np.polyfit(samples, [found[name] for found in runs], 1)
        if constant < 0:
            slope, constant = float(np.dot(samples, [found[name] for found in runs]) / np.dot(samples, samples)), 0.0
        lines[name] = [float(max(constant, 0)), float(max(slope, 0))]
    # The constant of the parts is spread over them.
    lines["part_s"] = lines["run_s"][0] / PARTS
    return lines


def at(constants, name, samples):
    constant, slope = constants[name]
    return constant + slope * samples


def predict(constants, options, workers):
    """What a dataset of `options.samples` and `options.bytes` takes with this number of workers."""
    parts = max(1, math.ceil(options.bytes / options.part))
    rate = min(options.rate, constants["bytes_per_second"]) if options.rate else constants["bytes_per_second"]
    part_s = constants["part_s"] + constants["run_s"][1] * options.samples / parts + options.bytes / parts / rate
    run_s = math.ceil(parts / workers) * part_s
    plan_s, finish_s = at(constants, "plan_s", options.samples), at(constants, "finish_s", options.samples) + constants["finish_part_s"] * parts
    return {"parts": parts, "part_s": part_s, "plan_s": plan_s, "run_s": run_s, "finish_s": finish_s, "whole_s": plan_s + run_s + finish_s}


def written(seconds):
    for unit, size in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.1f} s"


def show(constants, options):
    samples, size = options.samples, options.bytes
    print(f"\n{samples:,.0f} samples, {size / 1e12:,.1f} TB, parts of {options.part / 1e9:g} GB")
    print("workers  parts    a part     plan      run       finish    whole")
    for workers in options.workers:
        found = predict(constants, options, workers)
        times = "  ".join(f"{written(found[name]):8}" for name in ("part_s", "plan_s", "run_s", "finish_s", "whole_s"))
        print(f"{workers:7}  {found['parts']:7}  {times}")
    parts = predict(constants, options, 1)["parts"]
    puts = parts * (math.ceil(options.part / options.upload) + 2)
    gets = samples + math.ceil(size / options.upload)
    index, month = at(constants, "index_bytes", samples), size / 1e9 * options.storage
    requests = puts / 1000 * options.put + gets / 1000 * options.get
    print(f"bytes read by the parts: {constants['read_per_byte'] * size / 1e12:,.0f} TB ({constants['read_per_byte']:.2f} for each byte written)")
    print(f"requests: {puts:,.0f} to write, {gets:,.0f} to read, {requests:,.0f} dollars at {options.put} and {options.get} per 1000")
    print(f"plan folder {at(constants, 'plan_bytes', samples) / 1e9:,.1f} GB, memory of plan {at(constants, 'plan_mib', samples) / 1024:,.1f} GiB, of finish {at(constants, 'finish_mib', samples) / 1024:,.1f} GiB")
    print(f"index {index / 1e9:,.1f} GB, opened in {written(at(constants, 'open_s', samples))} with {at(constants, 'open_mib', samples) / 1024:,.1f} GiB")
    print(f"storage {month:,.0f} dollars a month at {options.storage} per GB; one download of everything {size / 1e9 * options.egress:,.0f} dollars at {options.egress}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--samples", type=float, default=1e8)
    parser.add_argument("--bytes", type=float, default=300e12)
    parser.add_argument("--part", type=float, default=4e9, help="bytes of a part")
    parser.add_argument("--workers", type=lambda text: [int(word) for word in text.split(",")], default=[1, 16, 64, 256, 1024])
    parser.add_argument("--rate", type=float, default=100e6, help="bytes per second of one worker at the store; 0 for that of this machine's disk")
    parser.add_argument("--upload", type=float, default=16e6, help="bytes of an upload request")
    parser.add_argument("--put", type=float, default=0.005, help="price of 1000 requests that write")
    parser.add_argument("--get", type=float, default=0.0004, help="price of 1000 requests that read")
    parser.add_argument("--storage", type=float, default=0.023, help="price of a GB for a month")
    parser.add_argument("--egress", type=float, default=0.09, help="price of a GB that leaves the store")
    parser.add_argument("--held", type=int, default=HELD, help="samples of the run that the prediction is held against; 0 for none")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    file = options.folder / "constants.json"
    if options.program == "-":
        constants = json.loads(file.read_text(encoding="utf-8"))
    else:
        runs = [measure(options.program, options.folder, rows) for rows in FITTED]
        constants = {**fit(runs), **measure_bytes(options.program, options.folder)}
        many = measure(options.program, options.folder, FITTED[1], MANY)
        constants["finish_part_s"] = max(0.0, (many["finish_s"] - at(constants, "finish_s", FITTED[1])) / (MANY - PARTS))
        file.write_text(json.dumps(constants, indent=1), encoding="utf-8")
        for found in runs:
            print(json.dumps(found))
        if options.held:
            found = measure(options.program, options.folder, options.held)
            print(f"\nprediction for {options.held:,} samples against a run")
            for name in LINEAR:
                expected = at(constants, name, options.held)
                print(f"  {name:12} {expected:14,.1f} predicted  {found[name]:14,.1f} measured  {expected / found[name]:5.2f}")
    show(constants, options)


if __name__ == "__main__":
    main()
