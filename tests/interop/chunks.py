"""Compares decoded chunks with their raster: `chunks.py RASTER LIST.json`, where the list has the .npy or .arrow file and the first band, row
and column of each chunk. Every pixel must be in one chunk."""

import json
import sys

import numpy
import pyarrow
import rasterio


def read(path):
    """The array of a .npy file, or of an Arrow tensor."""
    if not path.endswith(".arrow"):
        return numpy.load(path)
    with pyarrow.OSFile(path) as file:
        tensor = pyarrow.ipc.read_tensor(file)
    assert tensor.dim_names == ["bands", "rows", "columns"], tensor.dim_names
    assert tensor.is_contiguous
    return tensor.to_numpy()


with rasterio.open(sys.argv[1]) as raster:
    whole = raster.read()
seen = numpy.zeros(whole.shape, dtype=int)
for path, start in json.load(open(sys.argv[2])):
    band, row, column = (int(number) for number in start.split(","))
    values = read(path)
    place = numpy.s_[band : band + values.shape[0], row : row + values.shape[1], column : column + values.shape[2]]
    assert values.dtype == whole.dtype, (values.dtype, whole.dtype)
    assert (values == whole[place]).all(), f"{path} differs"
    seen[place] += 1
assert (seen == 1).all(), "some pixels are in no chunk, or in two"
