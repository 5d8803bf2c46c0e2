"""Columns of every kind for catalogues, and what a table of Items has of them.

    item_columns.py write FILE ID…      a Parquet table with a row for each id
    item_columns.py read FILE           types and values of a stac-geoparquet file as JSON, read by pyarrow, geopandas and stac-geoparquet
"""

import datetime
import decimal
import json
import sys

import pyarrow as pa
import pyarrow.parquet as pq

DAY = datetime.timedelta(days=1)


def write(path, ids):
    count = range(len(ids))
    start = datetime.datetime(2021, 5, 1)
    times = [start + number * DAY for number in count]
    columns = {
        "path": pa.array(ids),
        "datetime": pa.array(times, pa.timestamp("us")),
        "s2cell": pa.array([9749618429198860289 + number for number in count], pa.uint64()),
        "created": pa.array([datetime.datetime(2021, 5, 3)] * len(ids), pa.timestamp("us")),
        "acquired": pa.array(times, pa.timestamp("us")),
        "local": pa.array(times, pa.timestamp("ms", tz="+05:30")),
        "seen": pa.array([-1 for _ in count], pa.timestamp("ns", tz="UTC")),
        "old": pa.array([datetime.date(1899, 12, 31)] * len(ids), pa.date32()),
        "dec": pa.array([decimal.Decimal("1.10")] * len(ids), pa.decimal128(5, 2)),
        "flags": pa.array([[True, None], [], None, [False]][: len(ids)] + [None] * (len(ids) - 4), pa.list_(pa.bool_())),
        "visit": pa.array([{"year": 2020, "at": start}] * len(ids), pa.struct([("year", pa.int16()), ("at", pa.timestamp("us"))])),
        "nested": pa.array([[[1, None], None, []]] * len(ids), pa.list_(pa.list_(pa.int32()))),
        "i8": pa.array([-1] * len(ids), pa.int8()),
        "half": pa.array([0.1] * len(ids), pa.float32()),
        "nan": pa.array([float("nan"), 0.5, float("inf"), None][: len(ids)] + [0.5] * (len(ids) - 4), pa.float64()),
        "title": pa.array([7] * len(ids), pa.int32()),
        "platform": pa.array(["Sentinel-2A"] * len(ids)),
        "gsd": pa.array([10.0] * len(ids)),
        "keywords": pa.array([["a", "b"]] * len(ids)),
        "bbox": pa.array([1.5] * len(ids)),
        "season": pa.array(["wet"] * len(ids)).dictionary_encode(),
    }
    pq.write_table(pa.table(columns), path)


def read(path):
    import geopandas
    from stac_geoparquet.arrow import stac_table_to_items

    table = pq.read_table(path)
    frame = geopandas.read_parquet(path)
    items = list(stac_table_to_items(table))
    by_id = {item["id"]: item for item in items}
    found = {
        "types": {field.name: str(field.type) for field in table.schema},
        "rows": {row["id"]: row for row in table.drop_columns(["geometry", "links"]).to_pylist()},
        "items": by_id,
        "epsg": str(frame.crs),
        "bounds": {name: list(bounds) for name, bounds in zip(frame["id"], frame.bounds.to_numpy().tolist())},
    }
    print(json.dumps(found, default=str))


if __name__ == "__main__":
    {"write": lambda: write(sys.argv[2], sys.argv[3:]), "read": lambda: read(sys.argv[2])}[sys.argv[1]]()
