# Footprints in degrees: istac:geometry in the system of istac:crs, else the corners of the raster, else the centroid.
import numpy as np
import pyproj
import shapely

EDGE = np.arange(16) / 16  # an edge that is straight in its system bends in degrees: 16 points follow it


AREA = shapely.union_all([PARTS])
SYSTEMS = {}


def transformer(crs):
    if crs not in SYSTEMS:
        try:
            SYSTEMS[crs] = pyproj.Transformer.from_crs(crs, "OGC:CRS84", always_xy=True)
        except pyproj.exceptions.CRSError:
            SYSTEMS[crs] = None
    return SYSTEMS[crs]


def in_degrees(points, to_degrees, closed):
    """Points of a ring or line with continuous longitudes; a ring around a pole is closed along its latitude."""
    points = np.asarray(points, float)[:, :2]
    if to_degrees.source_crs.is_geographic:
        lon, lat = np.array(to_degrees.transform(points[:, 0], points[:, 1]))
        steps = np.abs(np.diff(lon))
        ends = np.abs(lon) > 180 - 1e-9
        if np.all(np.abs(lon) <= 180) and np.any((steps > 180) & ~(ends[1:] & ends[:-1])):
            lon = np.where(lon < 0, lon + 360, lon)
        return np.column_stack([lon, np.clip(lat, -90, 90)])
    dense = (points[:-1, None] + EDGE[:, None] * np.diff(points, axis=0)[:, None]).reshape(-1, 2)
    lon, lat = to_degrees.transform(*np.vstack([dense, points[-1:]]).T)
    seen = np.isfinite(lon) & np.isfinite(lat)
    lon, lat = np.unwrap(lon[seen], period=360), lat[seen]
    if closed and len(lon) > 2:
        if abs(lon[-1] - lon[0]) > 180:
            pole = np.copysign(90, lat.mean())
            lon, lat = np.r_[lon, lon[-1], lon[0]], np.r_[lat, pole, pole]
        lon, lat = np.r_[lon, lon[0]], np.r_[lat, lat[0]]
    return np.column_stack([lon, lat])


def parts(shape, to_degrees):
    """Shapes in degrees of the parts of a shape."""
    for part in shapely.get_parts(shape):
        if part.geom_type == "GeometryCollection" or part.geom_type.startswith("Multi"):
            yield from parts(part, to_degrees)
        elif part.geom_type == "Polygon" and not part.is_empty:
            outer, *holes = [in_degrees(ring.coords, to_degrees, True) for ring in (part.exterior, *part.interiors)]
            if len(outer) > 3:
                middle = outer[:, 0].mean()
                moved = [hole + [360 * round((middle - hole[:, 0].mean()) / 360), 0] for hole in holes if len(hole) > 3]
                yield shapely.make_valid(shapely.Polygon(outer, moved))
        elif part.geom_type == "LineString" and not part.is_empty:
            line = in_degrees(part.coords, to_degrees, False)
            if len(line) > 1:
                yield shapely.LineString(line)
        elif not part.is_empty:
            lon, lat = to_degrees.transform(part.x, part.y)
            if np.isfinite(lon) and np.isfinite(lat):
                yield shapely.Point(lon, lat)


def touches_area(row):
    """True for a row (a dict of its columns) whose footprint touches the area."""
    found = []
    wkb = row.get("istac:geometry")
    if wkb is not None:
        shape = shapely.from_wkb(bytes(wkb), on_invalid="ignore")
        to_degrees = transformer(row.get("istac:crs") or "OGC:CRS84")
        found = list(parts(shape, to_degrees)) if shape is not None and to_degrees else []
    shape = next((list(row[name]) for name in ("stac:tensor_shape", "stac:raster_shape") if row.get(name) is not None), [])
    if not found and row.get("stac:crs") and row.get("stac:geotransform") is not None and len(shape) > 1:
        x, dx, rx, y, ry, dy = row["stac:geotransform"]
        corners = [(0, 0), (shape[-1], 0), (shape[-1], shape[-2]), (0, shape[-2])]
        to_degrees = transformer(row["stac:crs"])
        grid = shapely.Polygon([(x + i * dx + j * rx, y + i * ry + j * dy) for i, j in corners])
        found = list(parts(grid, to_degrees)) if to_degrees else []
    wkb = next((row[name] for name in ("stac:centroid", "istac:centroid") if row.get(name) is not None), None)
    if not found and wkb is not None:
        found = [shapely.from_wkb(bytes(wkb), on_invalid="ignore")]
    return any(shape is not None and shape.intersects(AREA) for shape in found)
