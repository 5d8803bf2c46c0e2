"""Seconds that one thread takes to read every pixel of the rasters in a folder with GDAL, through rasterio, and nothing else."""

import json
import os
import pathlib
import sys
import time

os.environ["GDAL_NUM_THREADS"] = "1"

import rasterio

paths = sorted(pathlib.Path(sys.argv[1]).glob("*.tif"))
started = time.perf_counter()
pixels = 0
for path in paths:
    with rasterio.open(path) as raster:
        pixels += raster.read().size
print(json.dumps({"rasters": len(paths), "pixels": pixels, "read_seconds": time.perf_counter() - started}))
