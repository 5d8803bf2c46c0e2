"""Checks with pyarrow the Parquet settings of the tables of a ZIP dataset.

    parquet.py DATASET CODEC ROWS     every table has this codec; no row group of a level table has more rows

Prints `ok: …` and ends with 0, or the first difference and ends with 1.
"""

import io
import os
import sys
import zipfile

import pyarrow.parquet as pq

CODECS = {"zstd": "ZSTD", "snappy": "SNAPPY", "gzip": "GZIP", "none": "UNCOMPRESSED"}


def main():
    path, codec, rows = sys.argv[1], CODECS[sys.argv[2]], int(sys.argv[3])
    seen = 0
    with zipfile.ZipFile(path) as archive:
        for name in archive.namelist():
            if not name.endswith((".parquet", "/__meta__")):
                continue
            file = pq.ParquetFile(io.BytesIO(archive.read(name)))
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
    print(f"ok: {seen} tables")
    return 0


if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    os._exit(code)
