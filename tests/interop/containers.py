"""Checks datasets against the layout of the specification, independent of the official reader and the program.

    containers.py PATH…     .tacozip, FOLDER, .tacocat, __TACOCAT__, TACOLLECTION.json

Recomputes every number: members and header of a ZIP, byte ranges of each row, parents, row numbers, paths, `__meta__` from the
level tables, structure and fields of the collection, counts over parts. Prints one line per error and exits with 1, or prints
`ok: …` and exits with 0.
"""

import io
import json
import os
import pathlib
import re
import struct
import sys
import zipfile

import pyarrow.parquet as pq

PLACES = {"internal:offset", "internal:size", "internal:source_file"}
REQUIRED = ("id", "dataset_version", "description", "licenses", "providers", "tasks", "taco_version")
faults = []


def fault(path, text):
    faults.append(f"{path}: {text}")


def same(path, what, got, wanted):
    if got != wanted:
        fault(path, f"{what}: {str(got)[:300]} is not {str(wanted)[:300]}")


def parquet(data):
    return pq.read_table(io.BytesIO(data))


def type_name(dtype):
    return str(dtype).lower().replace("element:", "item:")


class Archive:
    """Reads a ZIP's central directory: the offset of every member's data, and the tables that TACO_HEADER locates."""

    def __init__(self, path):
        self.path = path
        with zipfile.ZipFile(path) as archive:
            self.infos = archive.infolist()
            bad = archive.testzip()
            if bad:
                fault(path, f"{bad} fails its CRC")
        self.bytes = path.read_bytes()
        self.ranges = {}
        for info in self.infos:
            name_length, extra_length = struct.unpack_from("<HH", self.bytes, info.header_offset + 26)
            self.ranges[info.filename] = (info.header_offset + 30 + name_length + extra_length, info.file_size)

    def read(self, name):
        offset, size = self.ranges[name]
        return self.bytes[offset : offset + size]

    def check(self):
        names = [info.filename for info in self.infos]
        same(self.path, "the first member", names[0], "TACO_HEADER")
        same(self.path, "names given twice", len(names) - len(set(names)), 0)
        for info in self.infos:
            if info.compress_type or info.flag_bits & 0b1001 or info.compress_size != info.file_size:
                fault(self.path, f"{info.filename} is not stored plainly")
        levels = sorted(name for name in names if name.startswith("METADATA/"))
        wanted = [self.ranges[name] for name in [*levels, "COLLECTION.json"]]
        header = self.read("TACO_HEADER")
        same(self.path, "bytes of the header", (self.ranges["TACO_HEADER"]), (41, 116))
        entries = [struct.unpack_from("<QQ", header, 4 + 16 * at) for at in range(7)]
        same(self.path, "tables of the header", entries, wanted + [(0, 0)] * (7 - len(wanted)))
        same(self.path, "count of the header", header[0], len(wanted))
        return [self.read(name) for name in levels], json.loads(self.read("COLLECTION.json"))


def tree(path, tables, by_part):
    """Paths of the rows of every level, level 0 first, from the tables only; checks the links between rows."""
    paths, kinds, sources = [], [], []
    for level, table in enumerate(tables):
        rows = table.to_pydict()
        source = rows.get("internal:source_file", [None] * table.num_rows)
        if by_part and None in source:
            fault(path, f"level{level} has rows without a part")
        count, numbers = {}, []
        for name in source:
            numbers.append(count.get(name, 0))
            count[name] = numbers[-1] + 1
        same(path, f"level{level} internal:current_id", rows["internal:current_id"], numbers)
        if level == 0:
            same(path, "level0 internal:parent_id", rows["internal:parent_id"], numbers)
            above = [""] * table.num_rows
        else:
            place = {}
            seen = {}
            for row, name in enumerate(sources[-1]):
                place[name, seen.get(name, 0)] = row
                seen[name] = seen.get(name, 0) + 1
            parents = [place.get((name, parent)) for name, parent in zip(source, rows["internal:parent_id"])]
            if None in parents or any(kinds[-1][parent] != "FOLDER" for parent in parents):
                fault(path, f"level{level} has rows without a FOLDER above")
                return None
            for name in set(source):
                of_part = [parent for parent, other in zip(parents, source) if other == name]
                same(path, f"level{level}: children are consecutive", of_part, sorted(of_part))
            above = [paths[-1][parent] for parent in parents]
        here = [f"{up}{name}{'/' if kind == 'FOLDER' else ''}" for up, name, kind in zip(above, rows["id"], rows["type"])]
        if level > 0:
            same(path, f"level{level} internal:relative_path", rows["internal:relative_path"], here)
        same(path, f"level{level}: paths given twice", len(here) - len(set(zip(source, here))), 0)
        bad = [name for name in rows["id"] if not name or re.search(r"[/\\:\x00-\x1f]", name) or name in (".", "..")]
        same(path, f"level{level}: bad ids", bad, [])
        paths.append(here)
        kinds.append(rows["type"])
        sources.append(source)
    return paths, kinds, sources


def patterns(paths, kinds):
    """`taco:pit_schema` of an isomorphic tree, with padding replaced by the ids of other samples at the position."""
    def children(level, under):
        found = {}
        for here, kind in zip(paths[level], kinds[level]):
            up, _, name = here.rstrip("/").rpartition("/")
            if up.split("/")[1:] == under:
                found.setdefault(up, []).append((name, kind))
        real = [group for group in found.values() if not any(name.startswith("__TACOPAD") for name, _ in group)]
        ids = [name for name, _ in (real or list(found.values()))[0]]
        return {"n": sum(map(len, found.values())), "type": [kind for _, kind in list(found.values())[0]], "id": ids}

    hierarchy, places = {}, [[]]
    for level in range(1, len(paths)):
        found = [children(level, place) for place in places]
        hierarchy[str(level)] = found
        places = [
            [*place, name] for place, one in zip(places, found) for name, kind in zip(one["id"], one["type"]) if kind == "FOLDER"
        ]
    return {"root": {"n": len(paths[0]), "type": kinds[0][0]}, "hierarchy": hierarchy}


def check_collection(path, collection, tables, found, sorted_names=False):
    for key in REQUIRED:
        if not collection.get(key):
            fault(path, f"the collection has no {key}")
    for level, table in enumerate(tables):
        fields = collection["taco:field_schema"][f"level{level}"]
        wanted = [[field.name, type_name(field.type)] for field in table.schema if field.name not in PLACES]
        got = [[name, dtype.lower()] for name, dtype, *_ in fields]
        same(path, f"fields of level{level}", *((sorted(got), sorted(wanted)) if sorted_names else (got, wanted)))
    if found:
        stated = {key: value for key, value in collection["taco:pit_schema"].items() if key != "shape"}
        if not any(name.startswith("__TACOPAD") for level in found[0] for name in level):
            same(path, "taco:pit_schema", stated, patterns(found[0], found[1]))
    extent = collection.get("extent") or {}
    if box := extent.get("spatial"):
        # The extent of the first level with locations; deeper levels may differ.
        columns = [table[name].to_pylist() for name in ("stac:centroid", "istac:centroid") for table in tables if name in table.column_names]
        points = next((known for column in columns if (known := [point for point in column if point])), [])
        for x, y in (struct.unpack("<dd", point[5:21]) for point in points):
            across = box[0] > box[2]
            inside = (x >= box[0] or x <= box[2]) if across else box[0] <= x <= box[2]
            if not (inside and box[1] <= y <= box[3]):
                fault(path, f"{x} {y} is outside the extent {box}")


def check_meta(path, tables, found, read):
    """Every FOLDER's `__meta__` equals the rows of its children in the level below."""
    for level, (paths, kinds) in enumerate(zip(found[0][:-1], found[1])):
        below = tables[level + 1].to_pylist()
        children = {}
        for here, row in zip(found[0][level + 1], below):
            up = here.rstrip("/").rpartition("/")[0] + "/"
            children.setdefault(up, []).append(row)
        for here, kind in zip(paths, kinds):
            if kind != "FOLDER":
                continue
            meta = parquet(read(f"DATA/{here}__meta__"))
            wanted = [{key: row[key] for key in meta.column_names} for row in children[here]]
            same(path, f"{here}__meta__", meta.to_pylist(), wanted)
            lost = [
                name
                for name in tables[level + 1].column_names
                if name not in meta.column_names
                and not name.startswith("internal:")
                and any(row[name] is not None for row in children[here])
            ]
            same(path, f"columns that {here}__meta__ lacks", lost, [])


def check_zip(path):
    archive = Archive(path)
    data, collection = archive.check()
    tables = [parquet(one) for one in data]
    found = tree(path, tables, False)
    check_collection(path, collection, tables, found)
    if not found:
        return 0
    named = set()
    for table, paths in zip(tables, found[0]):
        for here, offset, size in zip(paths, table["internal:offset"].to_pylist(), table["internal:size"].to_pylist()):
            name = f"DATA/{here}" + ("__meta__" if here.endswith("/") else "")
            named.add(name)
            same(path, f"place of {name}", (offset, size), archive.ranges.get(name))
    same(path, "members under DATA", {name for name in archive.ranges if name.startswith("DATA/")}, named)
    check_meta(path, tables, found, archive.read)
    return sum(table.num_rows for table in tables)


def check_folder(path):
    collection = json.loads((path / "COLLECTION.json").read_text(encoding="utf-8"))
    names = sorted(file.name for file in (path / "METADATA").iterdir())
    same(path, "tables", names, [f"level{level}.parquet" for level in range(len(names))])
    tables = [pq.read_table(path / "METADATA" / name) for name in names]
    found = tree(path, tables, False)
    check_collection(path, collection, tables, found)
    if not found:
        return 0
    wanted = {here + ("__meta__" if here.endswith("/") else "") for paths in found[0] for here in paths}
    files = {file.relative_to(path / "DATA").as_posix() for file in (path / "DATA").rglob("*") if file.is_file()}
    same(path, "files under DATA", files, wanted)
    check_meta(path, tables, found, lambda name: (path / name).read_bytes())
    return sum(table.num_rows for table in tables)


def check_parts(path, tables, collection, folder):
    found = tree(path, tables, True)
    check_collection(path, collection, tables, None, sorted_names=True)
    if not found:
        return 0
    archives = {name: Archive(folder / name) for level in found[2] for name in set(level)}
    for table, paths, sources in zip(tables, found[0], found[2]):
        places = zip(table["internal:offset"].to_pylist(), table["internal:size"].to_pylist())
        for here, source, place in zip(paths, sources, places):
            name = f"DATA/{here}" + ("__meta__" if here.endswith("/") else "")
            same(path, f"place of {source} {name}", place, archives[source].ranges.get(name))
    return sum(table.num_rows for table in tables)


def check_sources(path, collection, folder):
    sources = collection["taco:sources"]
    parts = [json.loads(Archive(folder / name).read("COLLECTION.json")) for name in sources["files"]]
    same(path, "count of the parts", sources["count"], len(parts))
    same(path, "ids of the parts", sources["ids"], [part["id"] for part in parts])
    extents = [{"file": name, "id": part["id"], **part["extent"]} for name, part in zip(sources["files"], parts)]
    same(path, "extents of the parts", [one["spatial"] for one in sources["extents"]], [one["spatial"] for one in extents])
    total = sum(part["taco:pit_schema"]["root"]["n"] for part in parts)
    same(path, "samples of the parts", collection["taco:pit_schema"]["root"]["n"], total)
    for level, found in collection["taco:pit_schema"]["hierarchy"].items():
        for at, pattern in enumerate(found):
            wanted = sum(part["taco:pit_schema"]["hierarchy"][level][at]["n"] for part in parts)
            same(path, f"samples of pattern {at} of level {level}", pattern["n"], wanted)
    return total


def check_index(path):
    collection = json.loads((path / "COLLECTION.json").read_text(encoding="utf-8"))
    names = sorted(file.name for file in path.glob("level*.parquet"))
    check_sources(path, collection, path.parent)
    return check_parts(path, [pq.read_table(path / name) for name in names], collection, path.parent)


def check_index_file(path):
    data = path.read_bytes()
    same(path, "magic and version", (data[:8], struct.unpack_from("<I", data, 8)[0]), (b"TACOCAT\0", 1))
    entries = [struct.unpack_from("<QQ", data, 16 + 16 * at) for at in range(7)]
    end = 128
    for offset, size in entries:
        if size:
            same(path, "sections follow one another", offset, end)
            end = offset + size
    same(path, "length", len(data), end)
    used = [entry for entry in entries[:6] if entry[1]]
    same(path, "depth", struct.unpack_from("<I", data, 12)[0], len(used) - 1)
    collection = json.loads(data[entries[6][0] :][: entries[6][1]])
    same(path, "_tacocat", collection["_tacocat"]["num_datasets"], len(collection["_tacocat"]["dataset_sources"]))
    tables = [parquet(data[offset : offset + size]) for offset, size in used]
    return check_parts(path, tables, collection, path.parent)


def check(path):
    if path.name == ".tacocat":
        return check_index(path)
    if path.name == "__TACOCAT__":
        return check_index_file(path)
    if path.name == "TACOLLECTION.json":
        return check_sources(path, json.loads(path.read_text(encoding="utf-8")), path.parent)
    return check_folder(path) if path.is_dir() else check_zip(path)


if __name__ == "__main__":
    rows = sum(check(pathlib.Path(path)) for path in sys.argv[1:])
    print("\n".join(faults) if faults else f"ok: {len(sys.argv) - 1} datasets, {rows} rows")
    sys.stdout.flush()
    # Not sys.exit, as pyarrow's threads sometimes abort the interpreter during shutdown.
    os._exit(1 if faults else 0)
