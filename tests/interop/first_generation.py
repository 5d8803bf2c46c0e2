"""Reads a file, or the parts of one, with the official reader of TORTILLA 0.5 and TACO 0.2. Prints one JSON document with every
sample (columns, SHA-256 of the data, nested samples) and the collection.

    first_generation.py FILE…
"""

import hashlib
import json
import math
import sys

import numpy
import tacoreader


def plain(value):
    """A cell as JSON: lists for arrays, null for missing values."""
    if isinstance(value, numpy.ndarray):
        return [plain(item) for item in value]
    if isinstance(value, numpy.generic):
        value = value.item()
    if isinstance(value, float) and math.isnan(value):
        return None
    return value


def bytes_of(found):
    if isinstance(found, bytes):
        return found
    span, path = found.removeprefix("/vsisubfile/").split(",", 1)
    offset, size = map(int, span.split("_"))
    with open(path, "rb") as file:
        file.seek(offset)
        return file.read(size)


def samples(frame):
    listed = []
    for position in range(len(frame)):
        row = frame.iloc[position]
        columns = {name: plain(row[name]) for name in frame.columns if not name.startswith("internal:")}
        sample = {"id": columns["tortilla:id"], "columns": columns}
        if columns["tortilla:file_format"] == "TORTILLA":
            sample["children"] = samples(frame.read(position))
        else:
            sample["sha256"] = hashlib.sha256(bytes_of(frame.read(position))).hexdigest()
        listed.append(sample)
    return listed


def main():
    paths = sys.argv[1:]
    frame = tacoreader.load(paths if len(paths) > 1 else paths[0])
    with open(paths[0], "rb") as file:
        taco = file.read(2) == b"WX"
    collection = tacoreader.load_metadata(paths[0]) if taco else None
    print(json.dumps({"samples": samples(frame), "collection": collection}))


main()
