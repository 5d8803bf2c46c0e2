"""What the row groups and the order of a level table cost and save, counted in bytes, which do not depend on the machine; and the
seconds of DuckDB for the same filters, which do.

    python row_groups.py FOLDER [--rows 10000000] [--runs 3]

The filters are a month of ten years, a box of 10 by 10 degrees, and both. "read" is the share of the columns' bytes in row groups that
the statistics do not exclude. "column" is the largest decoded column of a row group, which a reader holds in memory for each thread.
"""

import argparse
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

GROUPS = (16_384, 65_536, 262_144, 1_048_576, 4_194_304)
COUNTRIES = pa.array(["AU", "BR", "ES", "IN", "KE", "PE"])
MONTH = (np.datetime64("2020-05-01"), np.datetime64("2020-06-01"))
BOX = (10.0, 20.0, 40.0, 50.0)
FILTERS = {
    "month": ["time"],
    "box": ["lon", "lat"],
    "month and box": ["time", "lon", "lat"],
}
DUCKDB = """
import duckdb, sys, time
begun = time.perf_counter()
duckdb.connect().execute(sys.argv[1]).fetchall()
print(time.perf_counter() - begun)
"""


def rows_in(order, count):
    """Random places and times, in no order, in that of time, or in that of cells of 10 degrees and time within them."""
    generator = np.random.default_rng(1)
    lon, lat = generator.uniform(-180, 180, count), generator.uniform(-60, 75, count)
    seconds = generator.integers(0, 315_619_200, count)
    if order == "time":
        at = np.argsort(seconds)
    elif order == "place, time":
        at = np.lexsort((seconds, lat // 10, lon // 10))
    else:
        at = np.arange(count)
    number = np.arange(count)
    return pa.table(
        {
            "id": pc.utf8_lpad(pa.array(number).cast(pa.string()), 9, "0"),
            "time": pa.array(np.datetime64("2015-01-01T00:00:00", "us") + seconds[at].astype("timedelta64[s]")),
            "lon": lon[at],
            "lat": lat[at],
            "cloud_cover": generator.uniform(0, 100, count),
            "country": pa.DictionaryArray.from_arrays(pa.array(generator.integers(0, 6, count, np.int8)), COUNTRIES).cast(pa.string()),
            "internal:offset": number * 60,
            "internal:size": np.full(count, 16),
            "internal:current_id": number,
        }
    )


def within(group, columns, wanted):
    """Whether the statistics of a row group admit rows of a filter."""
    bounds = {"time": MONTH, "lon": BOX[:2], "lat": BOX[2:]}
    for column in wanted:
        statistics = group.column(columns[column]).statistics
        low, high = statistics.min, statistics.max
        if column == "time":
            low, high = np.datetime64(low), np.datetime64(high)
        first, last = bounds[column]
        if high < first or low > last:
            return False
    return True


def seconds(path, wanted, runs):
    """The least seconds of DuckDB for a filter."""
    tests = {
        "time": "time >= TIMESTAMP '2020-05-01' AND time < TIMESTAMP '2020-06-01'",
        "lon": f"lon BETWEEN {BOX[0]} AND {BOX[1]}",
        "lat": f"lat BETWEEN {BOX[2]} AND {BOX[3]}",
    }
    statement = f"SELECT count(*), avg(cloud_cover) FROM '{path}' WHERE " + " AND ".join(tests[column] for column in wanted)
    command = [sys.executable, "-c", DUCKDB, statement]
    return min(float(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()[-1]) for _ in range(runs))


def main():
    """Writes a table for each order and size of row groups, and prints a line for each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rows", type=lambda text: int(float(text)), default=10_000_000)
    parser.add_argument("--runs", type=int, default=3)
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    names = [f"{name}: read %, DuckDB s" for name in FILTERS]
    print("\t".join(["order", "rows of a group", "groups", "bytes a row", "footer kB", "footer ms", "column MB", *names]))
    for order in ("none", "time", "place, time"):
        table = rows_in(order, arguments.rows)
        for size in GROUPS:
            if size > arguments.rows:
                continue
            path = arguments.folder / "level0.parquet"
            pq.write_table(table, path, row_group_size=size, compression="zstd", compression_level=3)
            begun = time.perf_counter()
            metadata = pq.read_metadata(path)
            footer_ms = (time.perf_counter() - begun) * 1e3
            columns = {metadata.schema.column(at).name: at for at in range(metadata.num_columns)}
            groups = [metadata.row_group(at) for at in range(metadata.num_row_groups)]
            largest = max(group.column(at).total_uncompressed_size for group in groups for at in range(metadata.num_columns))
            cells = []
            for wanted in FILTERS.values():
                needed = [columns[column] for column in [*wanted, "cloud_cover"]]
                size_of = lambda group: sum(group.column(at).total_compressed_size for at in needed)  # noqa: E731
                read = sum(size_of(group) for group in groups if within(group, columns, wanted))
                share = 100 * read / sum(map(size_of, groups))
                cells.append(f"{share:.2f}, {seconds(path, wanted, arguments.runs):.3f}")
            bytes_a_row = path.stat().st_size / arguments.rows
            line = [order, f"{size:,}", f"{len(groups):,}", f"{bytes_a_row:.1f}", f"{metadata.serialized_size / 1e3:.0f}"]
            print("\t".join([*line, f"{footer_ms:.1f}", f"{largest / 1e6:.1f}", *cells]), flush=True)
            path.unlink()


if __name__ == "__main__":
    main()
