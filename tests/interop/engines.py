"""An index with columns of every type, and statements of other engines over it.

    engines.py make FOLDER              writes FOLDER/.tacocat
    engines.py run ENGINE STATEMENTS    STATEMENTS is a JSON object of names and statements; prints one of names and sorted ids,
                                        or {"error": "..."} where a statement fails
"""

import json
import math
import os
import sys
import traceback
from datetime import date, datetime, timedelta, timezone
from pathlib import Path

ROWS = 60
IDS = ["it's", 'the "north"', "back\\slash", "50%", "a_b", "axb", "Ñandú", "ñANDÚ 2", "line\nbreak", "dollar$", "[x]", "`tick`", "{brace}"]
REGIONS = ["north", "North", "O'Higgins", 'so"uth', "ÁVILA", "ávila", None, "", "50%", "back\\slash"]


def make(folder):
    import pyarrow as pa
    import pyarrow.parquet as pq
    import shapely

    index = Path(folder) / ".tacocat"
    index.mkdir(parents=True)
    rows = range(ROWS)
    ids = [IDS[row] if row < len(IDS) else f"sample_{row:03}" for row in rows]
    start = datetime(2020, 1, 1)
    times = [None if row % 11 == 10 else start + timedelta(hours=7 * row, microseconds=row % 3) for row in rows]
    places = [place(row) for row in rows]
    dictionary = pa.array([None if row % 9 == 8 else "abc"[row % 3] for row in rows]).dictionary_encode()
    columns = {
        "id": pa.array(ids),
        "type": pa.array(["FOLDER"] * ROWS),
        "cloud_cover": pa.array([None if row % 7 == 6 else math.nan if row % 7 == 5 else row * 1.7 for row in rows]),
        "mean": pa.array([None if row % 5 == 4 else math.nan if row % 4 == 3 else row * 1.5 for row in rows]),
        "eo:single": pa.array([None if row % 8 == 7 else row / 10 for row in rows], pa.float32()),
        "count": pa.array([None if row % 6 == 5 else row - 20 for row in rows], pa.int64()),
        "small": pa.array([row % 200 for row in rows], pa.uint8()),
        "wide": pa.array([2**63 + row if row % 2 else row for row in rows], pa.uint64()),
        "flag": pa.array([[True, False, None][row % 3] for row in rows]),
        "region": pa.array([REGIONS[row % len(REGIONS)] for row in rows]),
        "kind": dictionary,
        "stac:time_start": pa.array(times, pa.timestamp("us")),
        "seen:zoned": pa.array(times, pa.timestamp("us", "Europe/Madrid")),
        "nanos": pa.array([None if time is None else round((time - datetime(1970, 1, 1)) / timedelta(microseconds=1)) * 1000 + 1 for time in times], pa.timestamp("ns")),
        "day": pa.array([None if time is None else time.date() for time in times], pa.date32()),
        "written": pa.array([None if time is None else time.date().isoformat() for time in times]),
        "istac:geometry": pa.array([place.get("geometry") for place in places], pa.binary()),
        "istac:crs": pa.array([place.get("geometry_crs") for place in places], pa.string()),
        "stac:crs": pa.array([place.get("crs") for place in places], pa.string()),
        "stac:geotransform": pa.array([place.get("transform") for place in places], pa.list_(pa.float64())),
        "stac:tensor_shape": pa.array([place.get("shape") for place in places], pa.list_(pa.int64())),
        "stac:centroid": pa.array([None if row % 13 == 12 else shapely.Point(-170 + 6 * row, -50 + 2 * row).wkb for row in rows], pa.binary()),
        "nothing": pa.nulls(ROWS),
        "internal:current_id": pa.array([row % 20 for row in rows], pa.int64()),
        "internal:parent_id": pa.array([row % 20 for row in rows], pa.int64()),
        "internal:offset": pa.array([0] * ROWS, pa.int64()),
        "internal:size": pa.array([0] * ROWS, pa.int64()),
        "internal:source_file": pa.array([f"part{row // 20}.tacozip" for row in rows]),
    }
    level0 = pa.table(columns)
    padding = {name: pa.array([None], values.type) for name, values in columns.items()}
    padding.update(id=pa.array(["__TACOPAD__0"]), type=pa.array(["FOLDER"]), **{
        "internal:current_id": pa.array([20]), "internal:parent_id": pa.array([20]), "internal:offset": pa.array([0]),
        "internal:size": pa.array([0]), "internal:source_file": pa.array(["part2.tacozip"]), "kind": pa.array([None], pa.string()).dictionary_encode(),
    })  # fmt: skip
    level0 = pa.concat_tables([level0, pa.table(padding, schema=level0.schema)])
    below = [(row, child) for row in rows for child in ("after.tif", "before.tif")]
    level1 = pa.table(
        {
            "id": pa.array([child for _, child in below]),
            "type": pa.array(["FILE"] * len(below)),
            "cloud_cover": pa.array([row * 1.1 + (child == "after.tif") * 20 for row, child in below]),
            "internal:current_id": pa.array([(row % 20) * 2 + (child == "before.tif") for row, child in below], pa.int64()),
            "internal:parent_id": pa.array([row % 20 for row, _ in below], pa.int64()),
            "internal:offset": pa.array([0] * len(below), pa.int64()),
            "internal:size": pa.array([0] * len(below), pa.int64()),
            "internal:source_file": pa.array([f"part{row // 20}.tacozip" for row, _ in below]),
        }
    )
    pq.write_table(level0, index / "level0.parquet", row_group_size=16)
    pq.write_table(level1, index / "level1.parquet", row_group_size=32)
    hidden = ("internal:offset", "internal:size", "internal:source_file")
    fields = {f"level{at}": [[f.name, str(f.type), ""] for f in table.schema if f.name not in hidden] for at, table in enumerate((level0, level1))}
    collection = {
        "id": "engines",
        "dataset_version": "1.0.0",
        "description": "Columns of every type.",
        "licenses": ["CC0-1.0"],
        "providers": [{"name": "Tests", "roles": ["producer"]}],
        "tasks": ["classification"],
        "taco_version": "2.0.0",
        "taco:pit_schema": {
            "root": {"n": ROWS + 1, "type": "FOLDER"},
            "shape": [ROWS + 1, 2],
            "hierarchy": {"1": [{"n": len(below), "type": ["FILE", "FILE"], "id": ["after.tif", "before.tif"]}]},
        },
        "taco:field_schema": fields,
    }
    (index / "COLLECTION.json").write_text(json.dumps(collection, indent=4))


def place(row):
    """Where a sample is: a geometry, a grid, both without a place, or a centroid alone."""
    import shapely

    west, south = -170 + 6 * row, -50 + 2 * row
    match row % 6:
        case 0:
            return {"geometry": shapely.box(west, south, west + 3, south + 2).wkb}
        case 1:
            zone = 30 + row % 3
            shape = shapely.box(300_000, 4_000_000 + 40_000 * row, 500_000, 4_090_000 + 40_000 * row)
            return {"geometry": shape.wkb, "geometry_crs": f"EPSG:326{zone}"}
        case 2:
            return {"crs": f"EPSG:327{18 + row % 4}", "transform": [300_000, 10, 0, 8_000_000 + row * 1e4, 0, -10], "shape": [3, 10_980, 10_980]}
        case 3:
            # Over the antimeridian.
            return {"crs": "EPSG:32660", "transform": [700_000, 100, 0, 4_000_000 + row * 2e4, 0, -100], "shape": [2000, 2000]}
        case 4:
            return {"crs": "EPSG:4326", "transform": [west, 0.01, 0, south, 0, -0.01], "shape": [1, 300, 400]}
    return {"crs": "EPSG:999999", "transform": [0, 1, 0, 0, 0, -1], "shape": [1, 10, 10]} if row % 12 == 5 else {}


def run_duckdb(statements):
    import duckdb

    for statement in statements:
        connection = duckdb.connect()
        if "LOAD spatial" in statement:
            # From an installed package instead of the network.
            import duckdb_extensions

            duckdb_extensions.import_extension("spatial", con=connection)
            statement = statement.replace("INSTALL spatial; ", "")
        begin = min(at for at in (statement.find("SELECT"), statement.find("WITH")) if at >= 0)
        connection.execute(statement[:begin])
        yield [row[0] for row in connection.sql(statement[begin:]).select("id").fetchall()]


def run_python(statements, ids):
    for statement in statements:
        names = {"__name__": "__main__"}
        exec(compile(statement, "statement", "exec"), names)
        yield ids(names["rows"])


def run(engine, statements):
    if engine == "duckdb":
        one = run_duckdb
    elif engine == "polars":
        one = lambda list: run_python(list, lambda rows: rows["id"].to_list())
    elif engine == "dask":
        import dask

        dask.config.set(scheduler="synchronous")
        one = lambda list: run_python(list, lambda rows: rows["id"].compute().tolist())
    else:
        os.environ["PYSPARK_PYTHON"] = sys.executable
        from pyspark.sql import SparkSession

        settings = {"spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "2", "spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
        builder = SparkSession.builder.master("local[2]")
        for key, value in settings.items():
            builder = builder.config(key, value)
        builder.getOrCreate().sparkContext.setLogLevel("ERROR")
        one = lambda list: run_python(list, lambda rows: [row["id"] for row in rows.select("id").collect()])
    found = {}
    for name, statement in statements.items():
        try:
            found[name] = sorted(next(iter(one([statement]))))
        except Exception as error:
            traceback.print_exc()
            found[name] = {"error": f"{type(error).__name__}: {error}"[:2000]}
    print("RESULT " + json.dumps(found))


if __name__ == "__main__":
    if sys.argv[1] == "make":
        make(sys.argv[2])
    else:
        run(sys.argv[2], json.loads(Path(sys.argv[3]).read_text()))
