"""Opens and queries an index of many samples, beside DuckDB on the same Parquet file. The level table is made, a row group at a time;
the parts that it names do not exist, as nothing here reads the bytes of samples.

    python many_rows.py PROGRAM FOLDER [--rows 100000000] [--runs 3] [--sorted]

Seconds are those of a whole process of the program; for DuckDB those of the statement in a process of its own, without the start of
Python. The least of the runs counts, which alternate. Memory is the peak of the process. Both use all processors.
"""

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

# Rows of a row group.
GROUP = 1 << 20
# Rows of a part.
PART = 1_000_000
COUNTRIES = np.array(["AU", "BR", "ES", "IN", "KE", "PE"])
STATEMENTS = {
    "first row": "SELECT * FROM {} LIMIT 1",
    "filter": "SELECT count(*) AS n FROM {} WHERE cloud_cover < 1.5 AND country = 'PE'",
    "rows of a filter": "SELECT id, cloud_cover FROM {} WHERE cloud_cover < 0.0001 ORDER BY id LIMIT 100",
    "time and place": "SELECT count(*) AS n FROM {} WHERE \"stac:time_start\" >= TIMESTAMP '2020-05-01'"
    " AND \"stac:time_start\" < TIMESTAMP '2020-06-01' AND country = 'KE'",
    "group": "SELECT country, count(*) AS n, avg(cloud_cover) AS mean FROM {} GROUP BY country ORDER BY country",
}
# Runs the statement in DuckDB; prints its seconds and rows.
DUCKDB = """
import duckdb, json, sys, time
begun = time.perf_counter()
rows = duckdb.connect().execute(sys.argv[1]).fetchall()
print(json.dumps([time.perf_counter() - begun, str(rows)]))
"""


def table(first, rows, in_order):
    """A batch of the level table."""
    generator = np.random.default_rng(first)
    number = np.arange(first, first + rows)
    seconds = number * 6 if in_order else generator.integers(0, 600_000_000, rows)
    digits = np.char.zfill(number.astype("U9"), 9)
    parts = pa.array([f"part{part:05d}.tacozip" for part in range(first // PART, (first + rows - 1) // PART + 1)])
    return pa.table(
        {
            "id": pa.array(np.char.add("s", digits)),
            "type": pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, np.int8)), pa.array(["FILE"])).cast(pa.string()),
            "stac:time_start": pa.array(((1_262_304_000 + seconds) * 1_000_000).astype("datetime64[us]")),
            "cloud_cover": generator.uniform(0, 100, rows),
            "country": COUNTRIES[generator.integers(0, 6, rows)],
            "internal:current_id": number,
            "internal:parent_id": number,
            "internal:offset": pa.array(157 + (number % PART) * 60),
            "internal:size": pa.array(np.full(rows, 16)),
            "internal:source_file": pa.DictionaryArray.from_arrays(pa.array((number // PART - first // PART).astype(np.int16)), parts).cast(
                pa.string()
            ),
        }
    )


def make(folder, rows, in_order):
    """Writes the index, unless it is there."""
    index = folder / ".tacocat"
    if (index / "COLLECTION.json").exists():
        return index
    index.mkdir(parents=True, exist_ok=True)
    writer = None
    for first in range(0, rows, GROUP):
        batch = table(first, min(GROUP, rows - first), in_order)
        writer = writer or pq.ParquetWriter(index / "level0.parquet", batch.schema, compression="zstd", compression_level=1)
        writer.write_table(batch, row_group_size=GROUP)
    writer.close()
    fields = [[field.name, str(field.type), ""] for field in batch.schema if field.name not in ("internal:offset", "internal:size")]
    collection = {
        "id": "many-rows",
        "dataset_version": "1.0.0",
        "description": "Made rows, for timing.",
        "licenses": ["CC0-1.0"],
        "providers": [{"name": "Bench", "roles": ["producer"]}],
        "tasks": ["classification"],
        "taco_version": "2.0.0",
        "taco:pit_schema": {"root": {"n": rows, "type": "FILE"}, "shape": [rows], "hierarchy": {}},
        "taco:field_schema": {"level0": fields},
    }
    (index / "COLLECTION.json").write_text(json.dumps(collection, indent=4))
    return index


def timed(command):
    """Seconds, peak MiB and output of a command; a failure ends the script."""
    begun = time.perf_counter()
    done = subprocess.run(["/usr/bin/time", "-f", "%M", *map(str, command)], capture_output=True, text=True, check=False)
    seconds = time.perf_counter() - begun
    lines = done.stderr.strip().splitlines()
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\nended with {done.returncode}:\n{done.stderr[-2000:]}")
    return seconds, int(lines[-1]) / 1024, done.stdout


def main():
    """Makes the index, runs each statement in both, and prints a line for each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rows", type=lambda text: int(float(text)), default=100_000_000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--sorted", action="store_true", help="rows in the order of their time")
    arguments = parser.parse_args()
    begun = time.perf_counter()
    index = make(arguments.folder, arguments.rows, arguments.sorted)
    parquet = index / "level0.parquet"
    print(f"{arguments.rows:,} rows, {parquet.stat().st_size / 1e9:.2f} GB of Parquet, made in {time.perf_counter() - begun:.0f} s")
    print("statement\tstudio s\tDuckDB s\tratio\tstudio MiB\tDuckDB MiB")
    for name, statement in STATEMENTS.items():
        ours, theirs = [], []
        for _ in range(arguments.runs):
            ours.append(timed([arguments.program, "query", index, "--sql", statement.format("data"), "--format", "json"]))
            theirs.append(timed([sys.executable, "-c", DUCKDB, statement.format(f"'{parquet}'")]))
        found, wanted = ours[0][2].replace("\n", " "), json.loads(theirs[0][2])[1]
        seconds = min(one[0] for one in ours)
        other = min(json.loads(one[2])[0] for one in theirs)
        memory = [max(one[1] for one in runs) for runs in (ours, theirs)]
        print(f"{name}\t{seconds:.2f}\t{other:.2f}\t{seconds / other:.2f}\t{memory[0]:.0f}\t{memory[1]:.0f}")
        print(f"  {found[:150]}\n  {wanted[:150]}", file=sys.stderr)


if __name__ == "__main__":
    main()
