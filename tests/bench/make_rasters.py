"""Generates rasters like Sentinel-2 chips: 13 bands of 512 x 512 uint16 with shapes and noise, tiled, zstd. Arguments: folder, count."""

import concurrent.futures
import os
import pathlib
import sys

import numpy
import rasterio
from rasterio.transform import from_origin

BANDS, SIDE = 13, 512


def make(folder, number):
    generator = numpy.random.default_rng(number)
    rows, columns = numpy.mgrid[0:SIDE, 0:SIDE] / SIDE
    waves = sum(
        numpy.sin(columns * generator.uniform(2, 40) + rows * generator.uniform(2, 40) + generator.uniform(0, 6)) for _ in range(5)
    )
    pixels = numpy.empty((BANDS, SIDE, SIDE), numpy.uint16)
    for band in range(BANDS):
        level = generator.uniform(400, 4000)
        pixels[band] = numpy.clip(level * (1 + 0.2 * waves) + generator.normal(0, 60, (SIDE, SIDE)), 1, 16000)
    profile = {
        "driver": "GTiff",
        "width": SIDE,
        "height": SIDE,
        "count": BANDS,
        "dtype": "uint16",
        "crs": "EPSG:32718",
        "transform": from_origin(300_000 + number * 5120, 9_000_000, 10, 10),
        "tiled": True,
        "blockxsize": 256,
        "blockysize": 256,
        "compress": "zstd",
        # Both layouts occur; GDAL's default is pixel interleave.
        "interleave": "pixel" if number % 2 == 0 else "band",
    }
    with rasterio.open(pathlib.Path(folder) / f"chip_{number:04d}.tif", "w", **profile) as raster:
        raster.write(pixels)


if __name__ == "__main__":
    folder, count = sys.argv[1], int(sys.argv[2])
    pathlib.Path(folder).mkdir(parents=True, exist_ok=True)
    with concurrent.futures.ProcessPoolExecutor(os.cpu_count()) as pool:
        for done in pool.map(make, [folder] * count, range(count)):
            pass
