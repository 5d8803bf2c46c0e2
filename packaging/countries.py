"""Generates assets/countries.bin, the built-in land polygons, from Natural Earth's 1:50m countries.

Natural Earth is in the public domain. The geometry comes from the npm package world-atlas (countries-50m.json, TopoJSON), the
ISO 3166-1 codes from the npm package i18n-iso-countries (codes.json, MIT):

    npm pack world-atlas@2.0.2 i18n-iso-countries@7.14.0      # then unpack both
    python packaging/countries.py countries-50m.json codes.json assets/countries.bin

Layout, numbers as unsigned LEB128 and signed ones zigzag first; texts as a length and UTF-8:
    magic "TSLAND1\\0"; scale x, scale y, origin x, origin y as little-endian float64
    number of arcs, each: number of points, then the steps (x, y) from point to point, the first from (0, 0)
    number of countries, each: name, alpha-2, alpha-3 (empty where ISO gives none), ISO number (0 where none),
        number of polygons, each: number of rings, each: number of arcs, each: index (i forwards, -1-i backwards)
"""

import json
import struct
import sys

# Not in ISO 3166-1, but the common code.
IN_COMMON_USE = {"Kosovo": ("XK", "XKX", 0)}


def unsigned(out, number):
    while number >= 0x80:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)


def signed(out, number):
    unsigned(out, number * 2 if number >= 0 else -number * 2 - 1)


def text(out, value):
    data = value.encode()
    unsigned(out, len(data))
    out.extend(data)


def main(topology_path, codes_path, target):
    topology = json.load(open(topology_path, encoding="utf-8"))
    codes = {int(row[2]): (row[0], row[1], int(row[2])) for row in json.load(open(codes_path, encoding="utf-8"))}
    out = bytearray(b"TSLAND1\0")
    transform = topology["transform"]
    out.extend(struct.pack("<4d", *transform["scale"], *transform["translate"]))
    unsigned(out, len(topology["arcs"]))
    for arc in topology["arcs"]:
        unsigned(out, len(arc))
        for x, y in arc:
            signed(out, x)
            signed(out, y)
    countries = topology["objects"]["countries"]["geometries"]
    unsigned(out, len(countries))
    for country in sorted(countries, key=lambda one: one["properties"]["name"]):
        name = country["properties"]["name"]
        two, three, number = codes.get(int(country.get("id") or 0)) or IN_COMMON_USE.get(name) or ("", "", 0)
        text(out, name)
        text(out, two)
        text(out, three)
        unsigned(out, number)
        polygons = country["arcs"] if country["type"] == "MultiPolygon" else [country["arcs"]]
        unsigned(out, len(polygons))
        for rings in polygons:
            unsigned(out, len(rings))
            for ring in rings:
                unsigned(out, len(ring))
                for arc in ring:
                    signed(out, arc)
    with open(target, "wb") as file:
        file.write(out)
    print(f"{target}: {len(out)} bytes, {len(countries)} countries")


if __name__ == "__main__":
    main(*sys.argv[1:4])
