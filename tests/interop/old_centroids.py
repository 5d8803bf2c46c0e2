"""Computes the centroid of every sample of a TORTILLA 0.5 from its crs, geotransform and shape with the writer of that time, and
compares it with the stored one. Prints the number of samples, whose times have to be whole numbers.

    old_centroids.py FILE
"""

import re
import sys

import tacoreader
from pytortilla.datamodel.utils import raster_centroid

POINT = re.compile(r"POINT \((\S+) (\S+)\)")


def check(frame):
    count = 0
    for position in range(len(frame)):
        row = frame.iloc[position]
        if row["tortilla:file_format"] == "TORTILLA":
            count += check(frame.read(position))
            continue
        shape = [int(side) for side in row["stac:raster_shape"]]
        wanted = raster_centroid(row["stac:crs"], tuple(row["stac:geotransform"]), tuple(shape))
        ours, theirs = (POINT.fullmatch(text).groups() for text in (row["stac:centroid"], wanted))
        far = max(abs(float(a) - float(b)) for a, b in zip(ours, theirs))
        assert far <= 2e-6, f"{row['tortilla:id']}: {row['stac:centroid']} and {wanted}"
        assert str(frame["stac:time_start"].dtype) == "int64", frame["stac:time_start"].dtype
        count += 1
    return count


print("ok:", check(tacoreader.load(sys.argv[1])), "samples")
