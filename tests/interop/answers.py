"""Answers of the official reader: reads `[{"path": …, "questions": […]}, …]` from a file and prints a list of lists of answers.

A path may be a list of paths, which are joined by the reader's `concat`.

Questions: {"ask": "load"}, {"ask": "sql", "sql": …}, {"ask": "bbox", "bbox": [W, S, E, N], "level": N},
{"ask": "datetime", "range": "A/B", "level": N}, {"ask": "read"}. A failure is {"error": …}.
"""

import hashlib
import json
import os
import pathlib
import sys

import tacoreader
from duckdb_extensions import import_extension


def digest(vsi):
    """SHA-256 of the bytes at a GDAL path: paths differ between containers, bytes must not."""
    if not vsi.startswith("/vsisubfile/"):
        return hashlib.sha256(pathlib.Path(vsi).read_bytes()).hexdigest()
    span, path = vsi.removeprefix("/vsisubfile/").split(",", 1)
    offset, size = map(int, span.split("_"))
    with open(path, "rb") as file:
        file.seek(offset)
        return hashlib.sha256(file.read(size)).hexdigest()


def walk(frame, prefix):
    """(path, hash of the bytes) of every FILE below a table of samples, by the reader's navigation."""
    found = []
    for position, (name, kind) in enumerate(zip(frame["id"].to_pylist(), frame["type"].to_pylist())):
        if str(name).startswith("__TACOPAD"):
            continue
        below = frame.read(position)
        if kind == "FILE":
            found.append([prefix + name, digest(below)])
        else:
            found += walk(below, f"{prefix}{name}/")
    return found


def below(dataset):
    """The result of a filter: ids of the samples, and of their children by the reader's navigation."""
    frame = dataset.data
    ids = sorted(frame["id"].to_pylist())
    children = []
    for position, (name, kind) in enumerate(zip(frame["id"].to_pylist(), frame["type"].to_pylist())):
        if kind == "FOLDER":
            names = [child for child in frame.read(position)["id"].to_pylist() if not str(child).startswith("__TACOPAD")]
            children.append([name, sorted(names)])
    return {"ids": ids, "children": sorted(children)}


def answer(dataset, question):
    ask = question["ask"]
    if ask == "load":
        return {"id": dataset.collection.get("id"), "ids": sorted(dataset.data["id"].to_pylist())}
    if ask == "sql":
        rows = dataset.sql(question["sql"]).to_pydict()
        return sorted(json.dumps(row, default=str) for row in zip(*rows.values()))
    if ask == "bbox":
        return below(dataset.filter_bbox(*question["bbox"], level=question["level"]))
    if ask == "datetime":
        return below(dataset.filter_datetime(question["range"], level=question["level"]))
    if ask == "read":
        return sorted(walk(dataset.data, ""))
    raise ValueError(ask)


def answers(asked):
    try:
        path = asked["path"]
        dataset = tacoreader.load(path) if isinstance(path, str) else tacoreader.concat([tacoreader.load(one) for one in path])
    except Exception as error:
        return [{"error": f"{type(error).__name__}: {error}"} for _ in asked["questions"]]
    found = []
    for question in asked["questions"]:
        try:
            found.append(answer(dataset, question))
        except Exception as error:
            found.append({"error": f"{type(error).__name__}: {error}"})
    return found


if __name__ == "__main__":
    import_extension("spatial")
    print(json.dumps([answers(asked) for asked in json.loads(pathlib.Path(sys.argv[1]).read_text(encoding="utf-8"))]))
    sys.stdout.flush()
    # Not sys.exit, as pyarrow's threads sometimes abort the interpreter during shutdown.
    os._exit(0)
