"""Opens an index over several ZIPs, or one ZIP, with the official reader, and compares it with its parts and optionally with another index.

    check_index.py INDEX|ZIP [OTHER]     every row refers to the bytes of its member; OTHER has the same tables

Prints `ok: …` and ends with 0, or the first difference and ends with 1.
"""

import os
import pathlib
import sys
import zipfile

import tacoreader
from duckdb_extensions import import_extension


def tables(index):
    import_extension("spatial")
    dataset = tacoreader.load(str(index))
    depth = len(dataset.collection["taco:pit_schema"]["hierarchy"])
    return [dataset.sql(f"SELECT * FROM level{level}").to_pylist() for level in range(depth + 1)]


def check_bytes(index, levels):
    """Compares rows with the archive members by name, from the root."""
    looked_at = 0
    paths = {}
    for depth, rows in enumerate(levels):
        for number, row in enumerate(rows):
            source = row.get("internal:source_file")
            above = "" if depth == 0 else paths[depth - 1, source, row["internal:parent_id"]] + "/"
            paths[depth, source, row["internal:current_id"]] = above + row["id"]
            part = index.parent / source if source else index
            name = f"DATA/{above}{row['id']}" + ("/__meta__" if row["type"] == "FOLDER" else "")
            with zipfile.ZipFile(part) as archive:
                wanted = archive.read(name)
            with open(part, "rb") as file:
                file.seek(row["internal:offset"])
                if file.read(row["internal:size"]) != wanted:
                    return f"{source} {name}: other bytes at {row['internal:offset']}"
            looked_at += 1
    return looked_at


def main():
    index, *others = map(pathlib.Path, sys.argv[1:])
    levels = tables(index)
    seen = check_bytes(index, levels)
    if not isinstance(seen, int):
        print(seen)
        return 1
    for other in others:
        for depth, (mine, theirs) in enumerate(zip(levels, tables(other), strict=True)):
            for rows in (mine, theirs):
                for row in rows:
                    row.pop("internal:gdal_vsi")
            if mine != theirs:
                print(f"level{depth} differs:\n{mine}\n{theirs}")
                return 1
    print(f"ok: {seen} rows")
    return 0


if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    os._exit(code)
