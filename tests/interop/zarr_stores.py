"""Reads the Zarr stores of a FOLDER dataset and of a ZIP with GDAL: each is an array of 4 by 4 values from 0 to 15."""

import sys

import rasterio

for place in (sys.argv[1], "/vsizip/{" + sys.argv[2] + "}"):
    for name in ("group.zarr/b4", "plain.zarr", "third.zarr"):
        for root in ("s1", "s2"):
            path = f"{place}/DATA/{root}/{name}"
            # A group has its array by name; a store of one array is opened itself.
            array = f'ZARR:"{path}"'
            with rasterio.open(array) as raster:
                assert raster.read(1).ravel().tolist() == list(range(16)), path
