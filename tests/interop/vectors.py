"""Vector files by GeoPandas: vectors.py write ENDING ... | read FILE.

`write` puts the same four buildings into `scenes/one/buildings.ENDING` and prints coordinate system, bounds and centre of each file
as they are read back. `read` prints the fields and outlines of a file.
"""

import json
import os
import sys
import warnings

import geopandas
from shapely.geometry import Point, Polygon

warnings.filterwarnings("ignore")
DRIVERS = {"geojson": "GeoJSON", "gpkg": "GPKG", "fgb": "FlatGeobuf", "shp": "ESRI Shapefile"}
EAST, NORTH = 500000, 4100000


def building(x, y):
    east, north = EAST + x, NORTH - y
    return Polygon([(east, north), (east + 60, north), (east + 60, north - 40), (east, north - 40)])


def write(endings):
    shapes = [building(x, y) for x, y in [(100, 100), (400, 300), (900, 800), (1100, 200)]]
    fields = {"class": ["house", "shed", "Scheune ü", "house"], "height": [7.5, 3.0, None, 8.25], "n": [1, 2, 3, 4]}
    layer = geopandas.GeoDataFrame(fields, geometry=shapes, crs="EPSG:32629")
    for ending in endings:
        os.makedirs("scenes/one", exist_ok=True)
        path = f"scenes/one/buildings.{ending}"
        (layer.to_crs(4326) if ending == "geojson" else layer).to_file(path, driver=DRIVERS[ending])
        read = geopandas.read_file(path)
        left, bottom, right, top = read.total_bounds.tolist()
        middle = Point((left + right) / 2, (bottom + top) / 2)
        place = geopandas.GeoSeries([middle], crs=read.crs).to_crs(4326)[0]
        print(json.dumps({"crs": read.crs.to_string(), "bounds": [left, bottom, right, top], "centre": [place.x, place.y]}))


def read(path):
    layer = geopandas.read_file(path).sort_values("n")
    print(
        json.dumps(
            {
                "crs": layer.crs.to_string(),
                "class": list(layer["class"]),
                "n": [int(number) for number in layer["n"]],
                "height": [None if height != height else height for height in layer["height"]],
                "bounds": [list(shape.bounds) for shape in layer.geometry],
                "area": [shape.area for shape in layer.geometry],
            }
        )
    )


if __name__ == "__main__":
    verb, *arguments = sys.argv[1:]
    write(arguments) if verb == "write" else read(*arguments)
