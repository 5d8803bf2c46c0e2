"""Checks TACO Optimized GeoTIFFs with the official validator and compares them with their sources: `tog.py LIST.json`, a list of
objects with `file`, `source`, and properties reported by GDAL 3.11 or newer (`gdal`, `compression`, `interleave`, `overviews`).

The validator needs the `osgeo` package of that GDAL, which no package index has; a stub returns the given properties. Everything
else is read here with another GDAL."""

import json
import pathlib
import sys
import types

import numpy
import rasterio

facts = {entry["file"]: entry for entry in json.load(open(sys.argv[1]))}


class Band:
    def __init__(self, fact):
        self.fact = fact

    def GetOverviewCount(self):
        return self.fact["overviews"]


class Dataset:
    def __init__(self, fact):
        self.fact = fact

    def GetMetadata(self, domain):
        assert domain == "IMAGE_STRUCTURE", domain
        return {"COMPRESSION": self.fact["compression"] or "", "INTERLEAVE": self.fact["interleave"] or ""}

    def GetRasterBand(self, _):
        return Band(self.fact)


gdal = types.ModuleType("osgeo.gdal")
gdal.__version__ = next(iter(facts.values()))["gdal"]
gdal.Open = lambda path: Dataset(facts[path])
osgeo = types.ModuleType("osgeo")
osgeo.gdal = gdal
sys.modules.update({"osgeo": osgeo, "osgeo.gdal": gdal})

from tacotoolbox.sample.validators._base import ValidationError  # noqa: E402
from tacotoolbox.sample.validators.tacotiff import TacotiffValidator  # noqa: E402

validator = TacotiffValidator()
refused = 0
for name, fact in facts.items():
    try:
        validator.validate(types.SimpleNamespace(type="FILE", path=pathlib.Path(name)))
    except ValidationError as error:
        assert not fact["tog"], f"{name}: {error}"
        refused += 1
        continue
    if not fact["tog"]:
        continue
    with open(name, "rb") as file:
        assert file.read(4) in (b"II+\0", b"MM\0+"), f"{name} is no BigTIFF"
    with rasterio.open(name) as made, rasterio.open(fact["source"]) as source:
        assert made.compression.name.lower() == "zstd" and not made.overviews(1), made.profile
        assert all(side % 16 == 0 for shape in made.block_shapes for side in shape), made.block_shapes
        assert made.dtypes == source.dtypes and made.crs == source.crs and made.transform == source.transform
        assert made.nodatavals == source.nodatavals and made.tags(ns="TIFF") is not None
        assert numpy.array_equal(made.read(), source.read(), equal_nan=True), f"{name} has other values than its source"
        assert numpy.array_equal(made.dataset_mask(), source.dataset_mask())
print(f"ok: {len(facts) - refused} passed, {refused} refused")
