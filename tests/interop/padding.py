"""Opens the padded dataset of tests/padding.rs with the official reader: only real roots, every position present, unchanged bytes."""

import json
import sys
import zipfile
import pathlib

import tacoreader

path = sys.argv[1]
dataset = tacoreader.load(path)
roots = [str(i) for i in dataset.data["id"]]
assert roots == [f"scene_{n}" for n in range(5)], roots
for root in range(5):
    types = [str(kind) for kind in dataset.data.read(root)["type"]]
    assert types == ["FILE", "FILE", "FOLDER"], (root, types)
if zipfile.is_zipfile(path):
    collection = json.loads(zipfile.ZipFile(path).read("COLLECTION.json"))
else:
    collection = json.loads((pathlib.Path(path) / "COLLECTION.json").read_text())
schema = collection["taco:pit_schema"]
assert schema["root"] == {"n": 8, "type": "FOLDER"}, schema
first, second = schema["hierarchy"]["1"], schema["hierarchy"]["2"]
assert first == [{"n": 24, "type": ["FILE", "FILE", "FOLDER"], "id": ["before.txt", "label.txt", "s2"]}], first
assert second == [{"n": 16, "type": ["FILE", "FILE"], "id": ["t0.txt", "t1.txt"]}], second
print("ok")
