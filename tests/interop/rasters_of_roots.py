"""Prints what GDAL reads in the first file of the first two roots of a dataset: driver, bands, size, type, the last value of the last band."""

import sys

import rasterio
import tacoreader

rows = tacoreader.load(sys.argv[1]).data
for at in range(2):
    with rasterio.open(rows.read(at).read(0)) as raster:
        last = int(raster.read(raster.count)[-1, -1])
        print(raster.driver, raster.count, raster.height, raster.width, raster.dtypes[0], last)
