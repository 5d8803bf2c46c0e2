"""Runs the official tool's extensions on the locations and sizes of a FOLDER dataset and compares the results with its columns.

    groups.py DATASET

Prints one line per difference and exits with 1, or prints `ok: …` and exits with 0.
"""

import json
import os
import pathlib
import sys

import pyarrow.parquet as pq
from tacotoolbox.taco.extensions.labels import LabelClass, Labels
from tacotoolbox.taco.extensions.opticaldata import OpticalData
from tacotoolbox.taco.extensions.scientific import Publication, Publications
from tacotoolbox.taco.extensions.split import SplitStrategy
from tacotoolbox.tortilla.extensions.majortom import MajorTOM
from tacotoolbox.tortilla.extensions.spatial_grouping import SpatialGrouping


class Sized:
    def __init__(self, folder):
        self._size_bytes = sum(f.stat().st_size for f in folder.rglob("*") if f.is_file() and f.name != "__meta__")


class Rows:
    """The attributes of a tortilla that the extensions use."""

    def __init__(self, table, root):
        self._metadata_table = table
        self.samples = [Sized(root / "DATA" / name) for name in table.column("id").to_pylist()]


def main(path):
    root = pathlib.Path(path)
    table = pq.read_table(root / "METADATA/level0.parquet")
    collection = json.loads((root / "COLLECTION.json").read_text(encoding="utf-8"))
    rows = Rows(table, root)
    problems = []
    for extension in (MajorTOM(dist_km=10), SpatialGrouping(target_count=4, target_size="150KB")):
        theirs = extension._compute(rows)
        for name in theirs.column_names:
            ours = table.column(name).to_pylist()
            if ours != theirs.column(name).to_pylist():
                problems.append(f"{name}: got {ours}, wanted {theirs.column(name).to_pylist()}")
    classes = [LabelClass(name="none", category=0), LabelClass(name="new", category="N", description="built since")]
    paper = Publication(doi="10.1000/1", citation="A (2020)", summary="why")
    for extension in (
        Labels(label_classes=classes, label_description="change"),
        OpticalData(sensor="landsat8oli[B03,B02]"),
        Publications(publications=[paper]),
        SplitStrategy(strategy="stratified"),
    ):
        for name, wanted in extension._compute(None).to_pylist()[0].items():
            if name == "optical:bands":
                # The official table has no units: each band of ours has one.
                if not all(band["unit"] for band in collection[name]) or any(band["unit"] for band in wanted):
                    problems.append(f"{name}: units {[band['unit'] for band in collection[name]]}")
                wanted = [{**band, "unit": own["unit"]} for band, own in zip(wanted, collection[name])]
            if collection.get(name) != wanted:
                problems.append(f"{name}: got {collection.get(name)!r}, wanted {wanted!r}")
    codes = len(set(table.column("majortom:code").to_pylist()))
    groups = len(set(table.column("spatialgroup:code").to_pylist()))
    if codes < 2 or groups < 2:
        problems.append(f"only {codes} cells and {groups} groups: nothing was compared")
    print("\n".join(problems) if problems else f"ok: {table.num_rows} samples, {codes} cells, {groups} groups")
    return 1 if problems else 0


if __name__ == "__main__":
    code = main(sys.argv[1])
    sys.stdout.flush()
    # Not sys.exit, as pyarrow's threads sometimes abort the interpreter during shutdown.
    os._exit(code)
