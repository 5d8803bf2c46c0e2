"""Filters over five million rows, or fewer, against DuckDB on the same Parquet file: two predicates, a box, a box and a range of time, groups.

Both stay open and answer in turn, with the page cache warm; the medians count. The answers have to be the same.
"""

import json
import statistics
import subprocess
import sys
import time

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from duckdb_extensions import import_extension

from datasets import COLLECTION

AGAINST_DUCKDB = 1.3
OPEN_AND_FILTER_SECONDS = 0.3
BOX = (-80.0, -20.0, -60.0, 5.0)

# name, the statement for both (T is the table), filters of the studio, their equivalent in DuckDB
CASES = [
    ("two predicates", "SELECT id, cloud_cover FROM T WHERE cloud_cover < 5 AND quality > 0.9", [], ""),
    ("two predicates, counted", "SELECT count(*) AS n FROM T WHERE cloud_cover < 5 AND quality > 0.9", [], ""),
    ("text and number", "SELECT id FROM T WHERE split = 'test' AND country = 'PE' AND cloud_cover < 20", [], ""),
    (
        "box",
        "SELECT id FROM T",
        [{"bbox": list(BOX)}],
        'ST_Intersects(ST_GeomFromWKB("stac:centroid"), ST_MakeEnvelope({}, {}, {}, {}))'.format(*BOX),
    ),
    (
        "box and time",
        "SELECT id FROM T",
        [{"bbox": list(BOX), "datetime": "2021-03-01/2021-03-31"}],
        "TRY_CAST(\"stac:time_start\" AS DATE) BETWEEN DATE '2021-03-01' AND DATE '2021-03-31'"
        ' AND ST_Intersects(ST_GeomFromWKB("stac:centroid"), ST_MakeEnvelope({}, {}, {}, {}))'.format(*BOX),
    ),
    (
        "group by two texts",
        "SELECT country, split, count(*) AS n, avg(cloud_cover) AS a, max(quality) AS q FROM T GROUP BY country, split",
        [],
        "",
    ),
    ("group by month", "SELECT date_trunc('month', \"stac:time_start\") AS m, count(*) AS n FROM T GROUP BY m ORDER BY m", [], ""),
    ("best hundred", "SELECT id, cloud_cover FROM T ORDER BY quality DESC LIMIT 100", [], ""),
]


def make_index(folder, rows):
    """A `.tacocat` with this number of samples and without parts, with the tools' settings: row groups of 65,536, zstd."""
    tacocat = folder / ".tacocat"
    tacocat.mkdir(parents=True, exist_ok=True)
    path = tacocat / "level0.parquet"
    random = np.random.default_rng(7)
    countries = np.array(["PE", "BR", "BO", "CL", "ES", "FR", "DE", "IT", "KE", "TZ", "IN", "CN", "JP", "AU", "NZ", "US"])
    splits = np.array(["train", "validation", "test"])
    begin = np.datetime64("2018-01-01", "us").astype("int64")
    writer = None
    for start in range(0, rows, 65_536):
        count = min(65_536, rows - start)
        number = np.arange(start, start + count)
        wkb = np.zeros((count, 21), np.uint8)
        wkb[:, 0], wkb[:, 1] = 1, 1
        wkb[:, 5:13] = random.uniform(-180, 180, (count, 1)).astype("<f8").view(np.uint8)
        wkb[:, 13:21] = random.uniform(-60, 80, (count, 1)).astype("<f8").view(np.uint8)
        offsets = np.arange(0, 21 * (count + 1), 21, dtype=np.int32)
        centroid = pa.Array.from_buffers(pa.binary(), count, [None, pa.py_buffer(offsets), pa.py_buffer(wkb.tobytes())])
        times = begin + (random.uniform(0, 5 * 365.25 * 86_400, count) * 1e6).astype("int64")
        table = pa.table(
            {
                "id": [f"sample_{n:08d}" for n in number],
                "type": ["FILE"] * count,
                "stac:crs": [f"EPSG:{code}" for code in 32_601 + random.integers(0, 60, count)],
                "stac:centroid": centroid,
                "stac:time_start": pa.array(times).cast(pa.timestamp("us")),
                "cloud_cover": random.uniform(0, 100, count),
                "quality": random.random(count),
                "split": splits[random.choice(3, count, p=[0.7, 0.2, 0.1])],
                "country": countries[random.integers(0, 16, count)],
                "internal:current_id": number % 1000,
                "internal:parent_id": number % 1000,
                "internal:offset": 1000 + (number % 1000) * 70_000,
                "internal:size": np.full(count, 69_000),
                "internal:source_file": [f"part_{n // 1000:05d}.tacozip" for n in number],
            }
        )
        writer = writer or pq.ParquetWriter(path, table.schema, compression="zstd", compression_level=13)
        writer.write_table(table, row_group_size=65_536)
    writer.close()
    structure = {"root": {"n": rows, "type": "FILE"}, "shape": [rows], "hierarchy": {}}
    fields = [[field.name, str(field.type), ""] for field in table.schema]
    collection = {
        **COLLECTION,
        "taco_version": "2.0.0",
        "taco:pit_schema": structure,
        "taco:field_schema": {"level0": fields},
    }
    (tacocat / "COLLECTION.json").write_text(json.dumps(collection), encoding="utf-8")
    return tacocat


class Studio:
    """The program with an open dataset; each input line is a query."""

    def __init__(self, program, path):
        self.process = subprocess.Popen(
            [program, "bench-query", path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8"
        )

    def ask(self, query):
        self.process.stdin.write(json.dumps(query) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            sys.exit(f"bench-query ended on {query}")
        return json.loads(answer)

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def first_column(table):
    """The sorted values of the first column, for comparing results."""
    return sorted(str(value) for value in table.column(0).to_pylist())


def bench_query(program, work, repeats, sizes, report, only=None):
    folder = work / "queries"
    tacocat = folder / ".tacocat"
    if not (tacocat / "COLLECTION.json").exists():
        make_index(folder, sizes.queried_rows)
    level = tacocat / "level0.parquet"
    with level.open("rb") as file:
        while file.read(1 << 24):
            pass
    db = duckdb.connect()
    try:
        import_extension("spatial", con=db)
        db.execute("LOAD spatial")
        spatial = True
    except (duckdb.Error, ImportError, RuntimeError) as error:
        print(f"boxes are not compared: {error}")
        spatial = False
    opened = []
    for _ in range(repeats):
        studio = Studio(program, tacocat)
        answer = studio.ask({"sql": CASES[0][1].replace(" FROM T", " FROM data")})
        opened.append(answer["open_seconds"] + answer["seconds"])
        studio.close()
    report.print_figures(f"\n{sizes.queried_rows:,} rows in {level.stat().st_size / 2**20:.0f} MiB; median of {repeats}")
    studio = Studio(program, tacocat)
    for name, statement, filters, where in CASES:
        if only and only not in name:
            continue
        ours = {"sql": statement.replace(" FROM T", " FROM data"), "filters": filters}
        theirs = statement.replace(" FROM T", f" FROM read_parquet('{level}')")
        if where and not spatial and "ST_" in where:
            continue
        if where:
            theirs += f" WHERE {where}"
        mine, duck = [], []
        for _ in range(repeats):
            answer = studio.ask(ours)
            mine.append(answer["seconds"])
            start = time.perf_counter()
            table = db.execute(theirs).fetch_arrow_table()
            duck.append(time.perf_counter() - start)
        assert "error" not in answer, answer
        assert answer["rows"] == table.num_rows, f"{name}: {answer['rows']} rows, DuckDB has {table.num_rows}"
        if "LIMIT" not in statement and table.schema.field(0).type in (pa.string(), pa.int64()):
            assert answer["first_column"] == first_column(table)[:5], f"{name}: {answer['first_column']}"
        mine_median, duck_median = statistics.median(mine), statistics.median(duck)
        report.print_figures(f"  {name:26} studio {mine_median:.3f} s, DuckDB {duck_median:.3f} s, {answer['rows']:,} rows")
        report.check_limit(f"{name}: against DuckDB", mine_median / duck_median, "at most", AGAINST_DUCKDB)
        report.compare_runs(f"query {sizes.queried_rows} rows, {name} / DuckDB", mine, duck)
    studio.close()
    report.check_limit("open and filter: seconds", statistics.median(opened), "at most", OPEN_AND_FILTER_SECONDS)
