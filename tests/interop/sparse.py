"""Writes a sparse GeoTIFF of doubles, SIZE by SIZE pixels, to PATH: ones in the first block, all other blocks missing.

    sparse.py PATH SIZE
"""

import sys

import numpy as np
import rasterio
from rasterio.transform import from_origin
from rasterio.windows import Window

path, size = sys.argv[1], int(sys.argv[2])
profile = dict(driver="GTiff", width=size, height=size, count=1, dtype="float64", crs="EPSG:32631", tiled=True, blockxsize=512,
               blockysize=512, sparse_ok=True, transform=from_origin(300000, 4900020, 10, 10))
with rasterio.open(path, "w", **profile) as target:
    target.write(np.ones((1, 512, 512)), window=Window(0, 0, 512, 512))
