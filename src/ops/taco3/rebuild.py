"""Writes the dataset beside this file as TACO 3, with the official library:

    pip install 'taco-eo[writer]>=0.12'
    python rebuild.py OUTPUT.zip

An output that does not end in .zip is written as a folder. contract.json has the structure, the fields and the collection,
tables/ a row for each sample, file and folder, data/ the files of each sample.
"""

import argparse
import itertools
import json
import sys
from pathlib import Path
from typing import Annotated, Any, ClassVar

import pyarrow as pa
import pyarrow.parquet as pq
import taco
from pydantic import ConfigDict, Field, create_model
from taco.contract.types import parse_type
from taco.metadata.spatiotemporal import footprint_center, grid_center, grid_problems

HERE = Path(__file__).resolve().parent
CONTRACT = json.loads((HERE / "contract.json").read_text(encoding="utf-8"))
PROFILES = {"stac": taco.metadata.sample.STAC, "spatial": taco.metadata.sample.Spatial, "temporal": taco.metadata.sample.Temporal}
GRID = ("proj_code", "proj_shape", "proj_transform")


def profile_model(name):
    """The profile of the library for rows of every kind: samples, folders and files."""

    class Profile(PROFILES[name]):
        __taco_scopes__: ClassVar[frozenset[str]] = frozenset({"sample", "folder", "asset"})

    return Profile


def field_model(group):
    """A model with the fields of contract.json."""
    fields = {}
    for field in group["fields"]:
        kind = Annotated[Any, parse_type(field["type"])]
        described = Field(description=field["description"]) if field["description"] else Field()
        fields[field["name"]] = (kind | None if field["nullable"] else kind, described)
    return create_model(group["namespace"], __config__=ConfigDict(protected_namespaces=()), **fields)


class Group:
    """The fields of one namespace of a level: how the library declares them, and their values for a row."""

    def __init__(self, level, group):
        self.namespace, self.kind, self.optional = group["namespace"], group["kind"], group.get("optional", False)
        self.names, self.model, self.has_place = [], None, self.kind in ("stac", "spatial")
        if self.kind == "majortom":
            self.declared = taco.extensions.MajorTOM(dist_km=group["dist_km"], centroid=group["centroid"])
        elif self.kind == "split":
            self.names, self.model = ["split"], taco.metadata.sample.Split
            self.declared = self.model
        elif self.kind == "fields":
            self.names, self.model = [field["name"] for field in group["fields"]], field_model(group)
            self.declared = self.model
        else:
            self.model = profile_model(self.kind)
            self.names = [name for name in self.model.model_fields if name not in ("bbox", "centroid")]
            if self.optional:
                self.declared = self.model | None
            elif self.has_place:
                computed = {"stac": taco.extensions.STAC, "spatial": taco.extensions.Spatial}[self.kind]
                self.declared = computed(model=self.model)
            else:
                self.declared = self.model
        self.level = level

    def values(self, row):
        """The model of a row; None where a row of an optional group has no value."""
        values = {name: row.get(f"{self.namespace}:{name}") for name in self.names}
        if self.kind in PROFILES and all(value is None for value in values.values()):
            return None
        if self.has_place and values["proj_code"] is not None:
            grid = [[values[name]] for name in GRID]
            problems = grid_problems(*grid)
            if problems:
                print(f"{self.level}: a grid became its outline, as the library refuses it: {problems[0][1]}", file=sys.stderr)
                values.update(dict.fromkeys(GRID), geometry=row[f"{self.namespace}:outline"])
        if self.has_place and self.optional:
            grid = [values[name] for name in GRID]
            values["centroid"] = footprint_center(values["geometry"]) if None in grid else grid_center(*grid)
        return self.model(**values)


def rows_of(level):
    """The rows of a level's table, with times outside profiles as numbers, which keep every digit."""
    file = pq.ParquetFile(HERE / "tables" / f"{level.replace('/', '__')}.parquet")
    for batch in file.iter_batches(batch_size=4096):
        names, columns = [], []
        for name, column in zip(batch.schema.names, batch.columns):
            if pa.types.is_timestamp(column.type) and name.partition(":")[0] not in PROFILES:
                column = column.cast(pa.int64())
            names.append(name)
            columns.append(column.to_pylist())
        for values in zip(*columns):
            yield dict(zip(names, values))


LEVELS = [(level["name"], [Group(level["name"], group) for group in level["groups"]]) for level in CONTRACT["levels"]]


def samples():
    """The samples with their files, folders and metadata."""
    (_, sample_groups), *below = LEVELS
    members = [(name, groups, itertools.groupby(rows_of(name), key=lambda row: row["sample"])) for name, groups in below]
    for number, row in enumerate(rows_of("sample")):
        assets, folders = [], []
        for name, groups, by_sample in members:
            folder = name.removeprefix("children").removeprefix("/")
            _, rows = next(by_sample)
            for member in rows:
                path = f"{folder}/{member['name']}" if folder else member["name"]
                metadata = metadata_of(groups, member)
                if not member["is_folder"]:
                    assets.append(taco.Asset(HERE / "data" / str(number) / path, path=path, metadata=metadata))
                elif metadata:
                    folders.append(taco.Folder(path, metadata=metadata))
        yield taco.Sample(id=row["id"], assets=assets, folders=folders, metadata=metadata_of(sample_groups, row))


def metadata_of(groups, row):
    values = {group.namespace: group.values(row) for group in groups if group.model is not None}
    return taco.Metadata(**{namespace: value for namespace, value in values.items() if value is not None})


def collection():
    """The collection with the contract of the library."""
    levels = [taco.Level(name, **{group.namespace: group.declared for group in groups}) for name, groups in LEVELS]
    contract = taco.Contract(structure=CONTRACT["structure"], metadata=levels)
    return taco.Collection(contract=contract, **CONTRACT["collection"])


def main():
    arguments = argparse.ArgumentParser(description="Writes the dataset beside this file as TACO 3.")
    arguments.add_argument("output", type=Path)
    arguments.add_argument("--overwrite", action="store_true", help="replace the output if it exists")
    arguments.add_argument("--partition-by", metavar="FIELD", help="write a ZIP for each value of a field of the samples")
    arguments.add_argument("--partition-size", metavar="SIZE", help="write ZIPs of at most this size, such as 4GB")
    given = arguments.parse_args()
    parts = {name: getattr(given, name) for name in ("partition_by", "partition_size") if getattr(given, name)}
    with taco.open_writer(collection(), given.output, overwrite=given.overwrite, progress=sys.stderr.isatty(), **parts) as writer:
        writer.extend(samples())
        result = writer.run()
    print(f"{result.samples} samples in {result.path}")
    sound = True
    for path in result.parts or (result.path,):
        report = taco.validate(path)
        sound = sound and report.ok
        if report.issues:
            print(f"{path}: {report}")
    sys.exit(0 if sound else 1)


if __name__ == "__main__":
    main()
