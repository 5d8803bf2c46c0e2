"""Holds decoded chunks against the raster that they are of: `chunks.py RASTER LIST.json`, where the list names for each chunk
its .npy file and its first band, row and column. Every pixel has to be in one chunk."""

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
