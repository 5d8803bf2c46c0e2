"""Compares decoded chunks with their raster: `chunks.py RASTER LIST.json`, where the list has the .npy file and the first band, row
and column of each chunk. Every pixel must be in one chunk."""

import json
import sys

import numpy
import rasterio

with rasterio.open(sys.argv[1]) as raster:
    whole = raster.read()
seen = numpy.zeros(whole.shape, dtype=int)
for path, start in json.load(open(sys.argv[2])):
    band, row, column = (int(number) for number in start.split(","))
    values = numpy.load(path)
    place = numpy.s_[band : band + values.shape[0], row : row + values.shape[1], column : column + values.shape[2]]
    assert values.dtype == whole.dtype, (values.dtype, whole.dtype)
    assert (values == whole[place]).all(), f"{path} differs"
    seen[place] += 1
assert (seen == 1).all(), "some pixels are in no chunk, or in two"
