"""Writes STAC Items as stac-geoparquet: item_table.py ITEMS.json TABLE.parquet."""

import json
import sys

import stac_geoparquet.arrow

source, target = sys.argv[1:]
with open(source, encoding="utf-8") as file:
    features = json.load(file)["features"]
table = stac_geoparquet.arrow.parse_stac_items_to_arrow(features)
stac_geoparquet.arrow.to_parquet(table, target)
