"""Means and class shares over footprints by rasterio (GDAL's rasterizer), pyproj and shapely.

    footprint_means.py raster PATH           writes a small raster in UTM: band 1 with heights, band 2 with classes
    footprint_means.py check DATASET PATH    compares own:mean and own:share (class 3) of a FOLDER with that raster

Prints one line per difference and exits with 1, or prints `ok: …` and exits with 0. Pixels whose centre is within 0.3 m of an edge may be
in or out: the expected value has the tolerance that they make, and some footprints have none of them.
"""

import pathlib
import sys

import numpy
import pyarrow.parquet as pq
import pyproj
import rasterio
import shapely
from rasterio.features import geometry_mask
from rasterio.transform import from_origin
from shapely.geometry import Polygon

CRS, CLASS, NODATA = "EPSG:32632", 3, -9999.0
EDGE_M = 0.3


def write(path):
    rows, columns = numpy.mgrid[0:160, 0:200]
    heights = (300 + 40 * numpy.sin(columns / 9.0) + 25 * numpy.cos(rows / 7.0) + (rows * columns) % 11).astype("float32")
    classes = ((columns // 13 + rows // 9) % 5).astype("float32")
    for band in (heights, classes):
        band[100:130, 150:190] = NODATA
    profile = dict(driver="GTiff", width=200, height=160, count=2, dtype="float32", crs=CRS, nodata=NODATA, tiled=True,
                   blockxsize=64, blockysize=64, transform=from_origin(600_000, 5_400_000, 30, 30))
    with rasterio.open(path, "w", **profile) as target:
        target.write(heights, 1)
        target.write(classes, 2)


def in_raster(row):
    """The footprint of a row in the raster's system, with an edge vertex every 20 m."""
    if row["istac:geometry"] is not None:
        own, crs = shapely.from_wkb(row["istac:geometry"]), row["istac:crs"]
    else:
        a, b, c, d, e, f = row["stac:geotransform"]
        *_, height, width = row["stac:tensor_shape"]
        corners = [(0, 0), (0, height), (width, height), (width, 0)]
        own, crs = Polygon([(a + x * b + y * c, d + x * e + y * f) for x, y in corners]), row["stac:crs"]
    degrees = pyproj.CRS.from_user_input(crs).is_geographic
    way = pyproj.Transformer.from_crs(crs, CRS, always_xy=True)
    return shapely.transform(shapely.segmentize(own, 2e-4 if degrees else 20), lambda at: numpy.column_stack(way.transform(*at.T)))


def check(dataset, path):
    problems, exact, several = [], 0, 0
    with rasterio.open(path) as source:
        bands, transform = source.read(), source.transform
    xs = transform.c + (numpy.arange(200) + 0.5) * transform.a
    ys = transform.f + (numpy.arange(160) + 0.5) * transform.e
    centres = shapely.points(*numpy.meshgrid(xs, ys))
    rows = pq.read_table(pathlib.Path(dataset) / "METADATA/level0.parquet").to_pylist()
    for row in rows:
        shape = in_raster(row)
        inside = geometry_mask([shape], bands.shape[1:], transform, invert=True)
        unsure = shapely.distance(shapely.boundary(shape), centres) < EDGE_M
        if not (inside | unsure).any():
            # The pixel at the middle, where no pixel has its centre inside.
            inside = numpy.zeros_like(inside)
            column, line = ~transform * (shape.centroid.x, shape.centroid.y)
            if 0 <= line < 160 and 0 <= column < 200:
                inside[int(line), int(column)] = True
        valid = bands[0] != NODATA
        several += int((inside & valid).sum() > 100)
        for name, values in (("own:mean", bands[0].astype("float64")), ("own:share", (bands[1] == CLASS).astype("float64"))):
            chosen, found = values[inside & valid], row[name]
            if len(chosen) == 0:
                if found is not None:
                    problems.append(f"{row['id']} {name}: got {found}, wanted nothing")
                continue
            wanted = chosen.mean()
            loose = numpy.abs(values[unsure & valid] - wanted).sum() / len(chosen)
            exact += int(loose == 0)
            if found is None or abs(found - wanted) > 1e-6 * max(1, abs(wanted)) + loose:
                problems.append(f"{row['id']} {name}: got {found}, wanted {wanted} ± {loose}")
    if exact < 6 or several < 5:
        problems.append(f"{exact} values without tolerance, {several} footprints of more than 100 pixels")
    print("\n".join(problems) if problems else f"ok: {len(rows)} footprints, {exact} values without tolerance")
    sys.exit(1 if problems else 0)


if sys.argv[1] == "raster":
    write(sys.argv[2])
else:
    check(*sys.argv[2:])
