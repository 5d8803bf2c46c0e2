"""Compares copies of rasters with their sources as rasterio reads them: sources with their sidecars, copies alone."""

import sys
from pathlib import Path

import numpy as np
import rasterio

sources, copies = Path(sys.argv[1]), Path(sys.argv[2])
count = 0
for copy in sorted(copies.rglob("*.tif")):
    assert [other.name for other in copy.parent.iterdir() if other.stem.startswith(copy.stem) and other != copy] == [], copy
    source = sources / copy.relative_to(copies)
    with rasterio.open(source) as a, rasterio.open(copy) as b:
        assert a.crs is not None and a.crs == b.crs, (a.crs, b.crs)
        assert a.transform == b.transform and not a.transform.is_identity, (a.transform, b.transform)
        assert (a.dataset_mask() == b.dataset_mask()).all()
        assert 0 < np.count_nonzero(b.dataset_mask()) < b.width * b.height
        assert (a.read() == b.read()).all()
    count += 1
print(count)
