"""Compares a dataset with its sources, using the official reader, or two datasets with each other, without it.

    check.py reader DATASET SOURCES [--metadata TABLE.csv]   opens, traverses, queries; every file equals its source
    check.py same ONE OTHER                                  same collection, tables and bytes in any container
    check.py same --values ONE OTHER                         the same except for computed values (internal:*, taco:*)

Prints one line per difference and exits with 1, or prints `ok: …` and exits with 0.
"""

import argparse
import csv
import hashlib
import io
import json
import pathlib
import sys
import zipfile

import pyarrow.parquet as pq

problems = []


def differs(what, got, wanted):
    if got != wanted:
        problems.append(f"{what}: got {got!r}, wanted {wanted!r}")


def sha256(data):
    return hashlib.sha256(data).hexdigest()


# --- with the official reader -----------------------------------------------------------------------------------------


def bytes_at(vsi):
    """The bytes at a GDAL path: a plain path, or `/vsisubfile/OFFSET_SIZE,FILE`."""
    if not vsi.startswith("/vsisubfile/"):
        return pathlib.Path(vsi).read_bytes()
    span, path = vsi.removeprefix("/vsisubfile/").split(",", 1)
    offset, size = map(int, span.split("_"))
    with open(path, "rb") as file:
        file.seek(offset)
        return file.read(size)


def walk(frame, prefix, found):
    """path -> GDAL path of every FILE below a table of samples, by the reader's navigation."""
    ids, types = frame["id"].to_pylist(), frame["type"].to_pylist()
    for position, (name, kind) in enumerate(zip(ids, types)):
        by_position, by_name = frame.read(position), frame.read(name)
        if kind == "FILE":
            differs(f"{prefix}{name}: read by name and by position", by_name, by_position)
            found[prefix + name] = by_position
        else:
            differs(f"{prefix}{name}: children by name and by position", by_name["id"].to_pylist(), by_position["id"].to_pylist())
            walk(by_position, f"{prefix}{name}/", found)


def check_reader(dataset, sources, metadata):
    import rasterio
    import tacoreader
    from duckdb_extensions import import_extension

    import_extension("spatial")
    wanted = {path.relative_to(sources).as_posix(): sha256(path.read_bytes()) for path in sources.rglob("*") if path.is_file()}
    taco = tacoreader.load(str(dataset))
    root = taco.data
    found = {}
    walk(root, "", found)
    differs("paths by navigation", sorted(found), sorted(wanted))
    for path, vsi in found.items():
        differs(f"{path}: bytes by navigation", sha256(bytes_at(vsi)), wanted.get(path))
        if path.endswith(".tif") and path in wanted:
            with rasterio.open(vsi) as one, rasterio.open(sources / path) as other:
                differs(f"{path}: pixels", sha256(one.read().tobytes()), sha256(other.read().tobytes()))

    # The same files from the consolidated tables, whose rows must refer to the same bytes.
    depth = len(taco.collection["taco:pit_schema"]["hierarchy"])
    by_table = []
    for level in range(depth + 1):
        rows = taco.sql(f'SELECT "internal:gdal_vsi" AS vsi FROM level{level} WHERE type = \'FILE\'').to_pydict()["vsi"]
        by_table += [sha256(bytes_at(vsi)) for vsi in rows]
    differs("bytes by level tables", sorted(by_table), sorted(wanted.values()))
    flat = taco.flatten()
    vsi = flat["gdal_vsi"].to_pylist()
    names = [flat[f"l{level}:id"].to_pylist() for level in range(depth + 1)]
    for parts in zip(*names, vsi):
        path = "/".join(parts[:-1])
        differs(f"{path}: bytes by flatten", sha256(bytes_at(parts[-1])), wanted.get(path))

    if metadata:
        rows = {row["path"].split("/")[0]: row for row in csv.DictReader(metadata.open(encoding="utf-8")) if row["path"].count("/") == 0}
        differs("ids of the metadata table", sorted(root["id"].to_pylist()), sorted(rows))
        for column in next(iter(rows.values())):
            if column == "path":
                continue
            for name, value in zip(root["id"].to_pylist(), root[column].to_pylist()):
                text = rows[name][column]
                differs(f"{name}: {column}", value, type(value)(text) if value is not None else text)
    return f"{len(found)} files, {depth + 1} levels"


# --- without it -------------------------------------------------------------------------------------------------------


def members(dataset):
    """Name -> bytes of every member of a ZIP or FOLDER dataset, except TACO_HEADER."""
    if dataset.is_dir():
        return {path.relative_to(dataset).as_posix(): path.read_bytes() for path in dataset.rglob("*") if path.is_file()}
    with zipfile.ZipFile(dataset) as archive:
        bad = archive.testzip()
        if bad:
            problems.append(f"{dataset.name}: {bad} fails its CRC")
        return {name: archive.read(name) for name in archive.namelist() if name != "TACO_HEADER"}


# The location of a file depends on the container.
PLACES = {"internal:offset", "internal:size", "internal:relative_path"}


def is_computed(column, values):
    return column in PLACES or (values and column.startswith("internal:"))


def check_same(one, other, values):
    mine, theirs = members(one), members(other)
    differs("members", sorted(mine), sorted(theirs))
    for name in sorted(mine.keys() & theirs.keys()):
        if name == "COLLECTION.json":
            fields = [json.loads(data) for data in (mine[name], theirs[name])]
            if values:
                # An extent that missed samples is recomputed.
                fields = [{key: value for key, value in one.items() if not key.startswith("taco:") and key != "extent"} for one in fields]
            for key in sorted(fields[0].keys() | fields[1].keys()):
                differs(f"{name}: {key}", *(one.get(key, "absent") for one in fields))
        elif name.endswith(("/__meta__", ".parquet")) and name.startswith(("DATA/", "METADATA/")):
            tables = [pq.read_table(io.BytesIO(data)) for data in (mine[name], theirs[name])]
            kept = [[column for column in table.column_names if not is_computed(column, values)] for table in tables]
            differs(f"{name}: columns", *kept)
            if kept[0] != kept[1]:
                continue
            left, right = (table.select(kept[0]) for table in tables)
            differs(f"{name}: types", [str(field.type) for field in left.schema], [str(field.type) for field in right.schema])
            for column in kept[0]:
                differs(f"{name}: {column}", left[column].to_pylist(), right[column].to_pylist())
        else:
            differs(f"{name}: bytes", sha256(mine[name]), sha256(theirs[name]))
    return f"{len(mine)} members"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    reader = verbs.add_parser("reader")
    reader.add_argument("dataset", type=pathlib.Path)
    reader.add_argument("sources", type=pathlib.Path)
    reader.add_argument("--metadata", type=pathlib.Path)
    same = verbs.add_parser("same")
    same.add_argument("--values", action="store_true")
    same.add_argument("one", type=pathlib.Path)
    same.add_argument("other", type=pathlib.Path)
    arguments = parser.parse_args()
    if arguments.verb == "reader":
        seen = check_reader(arguments.dataset, arguments.sources, arguments.metadata)
    else:
        seen = check_same(arguments.one, arguments.other, arguments.values)
    print("\n".join(problems) if problems else f"ok: {seen}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
