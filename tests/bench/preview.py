"""Compares the first preview of a Sentinel-2-sized band with the same decimated read by GDAL: of a COG, and of a striped file.

GDAL is `gdal_translate` where it is on the PATH, else the one of rasterio, which is open in this process already.
"""

import json
import shutil
import statistics
import subprocess
import time

import numpy as np
import rasterio
from rasterio.transform import from_origin

FIT = 1024
AGAINST_GDAL = 1.3
FIRST_SECONDS = 0.1
STRETCH_SECONDS = 0.016
# Turns that the program measures itself.
TURNS = 15


def make(folder, side):
    folder.mkdir(parents=True, exist_ok=True)
    cog, strips = folder / "cog.tif", folder / "strips.tif"
    if cog.exists() and strips.exists():
        return cog, strips
    generator = np.random.default_rng(3)
    coarse = generator.integers(200, 4000, (side // 60, side // 60)).astype(np.float32)
    pixels = np.kron(coarse, np.ones((60, 60), np.float32)) + generator.normal(0, 60, (side, side)).astype(np.float32)
    pixels = pixels.clip(0, 10_000).astype(np.uint16)
    facts = {"width": side, "height": side, "count": 1, "dtype": "uint16", "crs": "EPSG:32718", "transform": from_origin(300_000, 8_700_000, 10, 10)}
    with rasterio.open(strips, "w", driver="GTiff", compress="deflate", predictor=2, **facts) as out:
        out.write(pixels, 1)
    with rasterio.open(cog, "w", driver="COG", compress="deflate", predictor=2, **facts) as out:
        out.write(pixels, 1)
    return cog, strips


def timed(work, turns):
    seconds = []
    for _ in range(turns):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)


def decimated(path):
    with rasterio.open(path) as source:
        source.read(1, out_shape=(FIT, FIT))


def bench_preview(program, work, sizes, report):
    folder, side = work / "preview", sizes.preview_side
    for path in make(folder, side):
        decimated(path)
        runs, reads = [], []
        for _ in range(sizes.preview_repeats):
            runs.append(json.loads(subprocess.run([program, "bench-preview", path], check=True, capture_output=True).stdout))
            reads.append(timed(lambda: decimated(path), sizes.preview_turns))
        report.compare_runs(f"preview {path.name}, {side} x {side} / rasterio", [run["first_median_seconds"] for run in runs], reads)
        if not report.is_quick:
            check_preview(path, side, runs[-1], reads[-1], report)


def check_preview(path, side, ours, theirs, report):
    """Prints the seconds of a preview and holds them against their limits."""
    size = f"{path.stat().st_size / 2**20:.0f} MiB, to {ours['columns']} x {ours['rows']}"
    report.print_figures(f"\n{path.name}, {side} x {side} uint16, {size}; median of {TURNS}")
    report.print_figures(f"  studio {ours['first_median_seconds']:.3f} s, at worst {ours['first_worst_seconds']:.3f} s; the read in rasterio {theirs:.3f} s")
    if translate := shutil.which("gdal_translate"):
        command = [translate, "-q", "-outsize", str(FIT), str(FIT), path, path.with_name("out.tif")]
        theirs = timed(lambda: subprocess.run(command, check=True), TURNS)
        report.print_figures(f"  gdal_translate {theirs:.3f} s")
    report.check_limit(f"{path.name}: first picture against GDAL", ours["first_median_seconds"] / theirs, "at most", AGAINST_GDAL)
    if path.name == "cog.tif":
        report.check_limit("cog.tif: seconds to the first picture", ours["first_median_seconds"], "at most", FIRST_SECONDS)
    report.check_limit(f"{path.name}: seconds to another stretch, at worst", ours["stretch_worst_seconds"], "at most", STRETCH_SECONDS)
