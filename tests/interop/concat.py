"""Joins datasets with the official reader and compares the rows with the studio's tables.

    concat.py MODE FOLDER DATASET…     FOLDER/levelN.parquet are the studio's rows of every level

The reader restarts row numbers in each dataset, so they are not compared; instead of paths, the bytes are compared.
Prints `ok: …` and ends with 0, or the first difference and ends with 1.
"""

import os
import pathlib
import sys

import pyarrow.parquet as pq
import tacoreader
from duckdb_extensions import import_extension

LEFT_OUT = {"internal:current_id", "internal:parent_id", "internal:source_file", "internal:relative_path", "internal:gdal_vsi"}


def bytes_at(vsi):
    if not vsi.startswith("/vsisubfile/"):
        return pathlib.Path(vsi).read_bytes()
    span, path = vsi.removeprefix("/vsisubfile/").split(",", 1)
    offset, size = map(int, span.split("_"))
    with open(path, "rb") as file:
        file.seek(offset)
        return file.read(size)


def main():
    mode, folder, datasets = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3:]
    import_extension("spatial")
    joined = tacoreader.concat([tacoreader.load(path) for path in datasets], column_mode=mode)
    depth = len(joined.collection["taco:pit_schema"]["hierarchy"])
    seen = 0
    for level in range(depth + 1):
        theirs = joined.sql(f"SELECT * FROM level{level}").to_pylist()
        ours = pq.read_table(folder / f"level{level}.parquet").to_pylist()
        if len(theirs) != len(ours):
            print(f"level{level}: {len(ours)} rows, not {len(theirs)}")
            return 1
        for row, (mine, other) in enumerate(zip(ours, theirs)):
            other.pop("internal:gdal_vsi_1", None)
            if bytes_at(mine["internal:gdal_vsi"]) != bytes_at(other["internal:gdal_vsi"]):
                print(f"level{level} row {row}: other bytes")
                return 1
            one, two = ({key: value for key, value in values.items() if key not in LEFT_OUT} for values in (mine, other))
            if one != two:
                print(f"level{level} row {row}:\n{one}\n{two}")
                return 1
            seen += 1
    print(f"ok: {seen} rows")
    return 0


if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    os._exit(code)
