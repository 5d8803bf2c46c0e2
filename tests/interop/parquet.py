"""Checks with pyarrow the Parquet settings of the tables of a ZIP dataset, or of an index in a folder.

    parquet.py DATASET CODEC ROWS     every table has this codec; no row group of a level table has more rows

Prints `ok: …` and ends with 0, or the first difference and ends with 1.
"""

import io
import os
import pathlib
import sys
import zipfile

import pyarrow.parquet as pq

CODECS = {"zstd": "ZSTD", "snappy": "SNAPPY", "gzip": "GZIP", "none": "UNCOMPRESSED"}


def tables(path):
    """Name and bytes of each table."""
    if path.is_dir():
        for file in sorted(path.glob("*.parquet")):
            yield f"METADATA/{file.name}", file.read_bytes()
        return
    with zipfile.ZipFile(path) as archive:
        for name in archive.namelist():
            if name.endswith((".parquet", "/__meta__")):
                yield name, archive.read(name)


def main():
    path, codec, rows = pathlib.Path(sys.argv[1]), CODECS[sys.argv[2]], int(sys.argv[3])
    seen = 0
    for name, data in tables(path):
        file = pq.ParquetFile(io.BytesIO(data))
        for number in range(file.metadata.num_row_groups):
            group = file.metadata.row_group(number)
            if group.column(0).compression != codec:
                print(f"{name}: {group.column(0).compression}, not {codec}")
                return 1
            if group.num_rows > rows and name.startswith("METADATA/"):
                print(f"{name}: a row group of {group.num_rows} rows")
                return 1
        file.read()
        seen += 1
    if seen == 0:
        print(f"{path}: no tables")
        return 1
    print(f"ok: {seen} tables")
    return 0


if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    os._exit(code)
