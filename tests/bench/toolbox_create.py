"""Creates the benchmark's dataset with the official toolbox: toolbox_create.py FOLDER TABLE.csv COLLECTION.json OUT.tacozip"""

import csv
import json
import pathlib
import sys

from tacotoolbox import create
from tacotoolbox.datamodel import Sample, Taco, Tortilla

folder, table, collection, out = map(pathlib.Path, sys.argv[1:])
samples = []
with table.open(encoding="utf-8") as rows:
    for row in csv.DictReader(rows):
        sample = Sample(id=row["path"], path=folder / row["path"])
        sample.extend_with(
            {"region": row["region"], "cloud_cover": int(row["cloud_cover"]), "quality": float(row["quality"]), "split": row["split"]}
        )
        samples.append(sample)
fields = json.loads(collection.read_text(encoding="utf-8"))
create(Taco(tortilla=Tortilla(samples=samples), **fields), out, split_size=None)
