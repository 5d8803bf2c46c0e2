"""Writes a tiled uint16 image of 10,980 by 10,980 pixels with overviews (a Cloud Optimized GeoTIFF) to the path given."""

import sys

import numpy as np
import rasterio
from rasterio.transform import from_origin

SIZE, BLOCK = 10980, 512
profile = dict(driver="COG", width=SIZE, height=SIZE, count=1, dtype="uint16", crs="EPSG:32631", nodata=0,
               transform=from_origin(300000, 4900020, 10, 10), compress="deflate", level=1, blocksize=BLOCK,
               overview_resampling="nearest", num_threads=2)
line = (np.arange(SIZE, dtype=np.uint32) * 2654435761 >> 22).astype(np.uint16)
with rasterio.open(sys.argv[1], "w", **profile) as target:
    for top in range(0, SIZE, BLOCK):
        rows = np.arange(top, min(top + BLOCK, SIZE), dtype=np.uint16)[:, None]
        target.write((line[None, :] + rows)[None], window=((top, top + len(rows)), (0, SIZE)))
