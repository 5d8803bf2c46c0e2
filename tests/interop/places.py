"""Holds exported footprints against pyproj and shapely. Prints one line per difference, with exit code 1.

    places.py SAMPLES.parquet STAC_FOLDER EXPECTED.json [CROISSANT.json]

EXPECTED.json: {id: {"crs": text, "type": "Polygon" | "LineString" | "Point", "coordinates": [[x, y], ...]}} in the CRS, rings without
holes. With one sample, the box of the Croissant file is compared with that of the sample.
"""

import json
import pathlib
import sys

import numpy
import pyarrow.parquet as pq
import pyproj
import shapely
from shapely.geometry import LineString, Point, Polygon, shape

DEGREES = 1e-6
problems = []


def vertices(geometry):
    return shapely.get_coordinates(geometry)


def turns(points):
    """Points with longitude, and the same a turn to both sides."""
    points = numpy.asarray(points, dtype=float)
    return numpy.concatenate([points, points + [360, 0], points - [360, 0]])


def check(name, made, expected):
    way = pyproj.Transformer.from_crs(expected["crs"], "OGC:CRS84", always_xy=True)
    back = pyproj.Transformer.from_crs("OGC:CRS84", expected["crs"], always_xy=True)
    degrees = pyproj.CRS.from_user_input(expected["crs"]).is_geographic
    corners = numpy.asarray(expected["coordinates"], dtype=float)
    source = {"Polygon": Polygon, "LineString": LineString, "Point": lambda all: Point(all[0])}[expected["type"]](corners)
    if not made.is_valid:
        problems.append(f"{name}: {shapely.is_valid_reason(made)}")
    west, south, east, north = made.bounds
    if west < -180 or east > 180 or south < -90 or north > 90:
        problems.append(f"{name}: bounds {made.bounds}")
    for polygon in getattr(made, "geoms", [made]):
        if polygon.geom_type == "Polygon":
            if not polygon.exterior.is_ccw or any(hole.is_ccw for hole in polygon.interiors):
                problems.append(f"{name}: rings go the wrong way around")
    own = vertices(made)
    # Every corner is a vertex.
    lon, lat = way.transform(corners[:, 0], corners[:, 1])
    for x, y in zip(lon, numpy.clip(lat, -90, 90)):
        if abs(y) > 90 - 1e-9:
            continue
        off = numpy.abs(turns(own) - [x, y]).max(axis=1).min()
        if off > DEGREES and not (degrees and abs(abs(x) - 180) < DEGREES):
            problems.append(f"{name}: corner {x}, {y} is off by {off}")
    # Every vertex that is not made by cutting is on an edge.
    size = max(source.bounds[2] - source.bounds[0], source.bounds[3] - source.bounds[1], 1e-9)
    edge = source.exterior if expected["type"] == "Polygon" else source
    for x, y in own:
        if abs(y) > 90 - 1e-9 or abs(abs(x) - 180) < 1e-9:
            continue
        px, py = back.transform(x, y)
        places = [Point(px, py)] + ([Point(px + 360, py), Point(px - 360, py)] if degrees else [])
        near = min((shapely.shortest_line(edge, place) for place in places), key=lambda line: line.length)
        (nx, ny), _ = near.coords
        nlon, nlat = way.transform(nx, ny)
        off = max(abs((nlon - x + 180) % 360 - 180) * numpy.cos(numpy.radians(y)), abs(nlat - y))
        if off > DEGREES:
            problems.append(f"{name}: vertex {x}, {y} is off its edge by {off}")
    if expected["type"] != "Polygon":
        return
    # What is inside is inside, what is outside is outside.
    random = numpy.random.default_rng(7)
    left, bottom, right, top = source.bounds
    points = random.uniform([left - size / 4, bottom - size / 4], [right + size / 4, top + size / 4], size=(600, 2))
    lon, lat = way.transform(points[:, 0], points[:, 1])
    for (px, py), x, y in zip(points, lon, lat):
        place = Point(px, py)
        if not numpy.isfinite([x, y]).all() or edge.distance(place) < size / 200 or abs(y) > 90:
            continue
        if degrees and not source.contains(place):
            # A turn further it may be inside.
            if any(source.buffer(size / 200).contains(Point(px + turn, py)) for turn in (-360, 360)):
                continue
        x = (x + 180) % 360 - 180
        if made.covers(Point(x, y)) != source.contains(place):
            problems.append(f"{name}: {x}, {y} is {'not ' if source.contains(place) else ''}inside")
            break


def main():
    table = pq.read_table(sys.argv[1])
    geo = json.loads(table.schema.metadata[b"geo"])["columns"]["geometry"]
    expected = json.loads(pathlib.Path(sys.argv[3]).read_text())
    if not pyproj.CRS.from_json_dict(geo["crs"]).equals(pyproj.CRS("OGC:CRS84")) or geo["orientation"] != "counterclockwise":
        problems.append(f"geo: {geo}")
    seen = set()
    for row in table.to_pylist():
        name = row["id"]
        if name not in expected:
            continue
        seen.add(name)
        made = shapely.from_wkb(row["geometry"])
        check(name, made, expected[name])
        box = row["bbox"]
        inside = vertices(made)
        if box["xmin"] <= box["xmax"]:
            out = (inside[:, 0] < box["xmin"] - 1e-9) | (inside[:, 0] > box["xmax"] + 1e-9)
        else:
            out = (inside[:, 0] < box["xmin"] - 1e-9) & (inside[:, 0] > box["xmax"] + 1e-9)
        if out.any() or inside[:, 1].min() < box["ymin"] - 1e-9 or inside[:, 1].max() > box["ymax"] + 1e-9:
            problems.append(f"{name}: its box {box} does not hold it")
        item = json.loads((pathlib.Path(sys.argv[2]) / "items" / f"{name}.json").read_text())
        theirs = shape(item["geometry"])
        if theirs.geom_type != made.geom_type or numpy.abs(vertices(theirs) - vertices(made)).max() > DEGREES:
            problems.append(f"{name}: the Item has another geometry")
        if len(sys.argv) > 4:
            croissant = json.loads(pathlib.Path(sys.argv[4]).read_text())
            south, west, north, east = map(float, croissant["spatialCoverage"]["geo"]["box"].split())
            theirs = numpy.array([west, south, east, north])
            if numpy.abs(theirs - [box["xmin"], box["ymin"], box["xmax"], box["ymax"]]).max() > DEGREES:
                problems.append(f"{name}: Croissant has the box {theirs}, not {box}")
    if seen != set(expected):
        problems.append(f"missing: {set(expected) - seen}")
    for problem in problems:
        print(problem)
    if not problems:
        print(f"ok: {len(seen)} footprints")
    sys.exit(1 if problems else 0)


main()
