"""What a user of the wheel does with the module, in a clean system: create, validate, query, read, two epochs of training samples."""

import subprocess
import sys
import tempfile
from pathlib import Path

import taco_studio
from taco_studio.torch import Samples

with tempfile.TemporaryDirectory() as folder:
    made = Path(folder, "made")
    subprocess.run([Path(sys.executable).with_name("taco-studio"), "sample", made], check=True, stdout=subprocess.DEVNULL)
    written = Path(folder, "set.tacozip")
    built = taco_studio.create(made / "scenes", collection=made / "collection.json", options={"target": str(written), "format": "zip"})
    assert built["samples"] > 0, built.value
    assert taco_studio.validate(written, deep=True).sound
    dataset = taco_studio.open(written)
    count = dataset.sql("SELECT count(*) AS n FROM level1 WHERE id = 'after.tif'").to_dicts()
    assert count == [{"n": len(dataset)}], count
    image = dataset[0]["after.tif"]
    assert image.read() == (made / "scenes" / dataset[0].id / "after.tif").read_bytes()
    samples = Samples(written, ["after.tif", "label.tif"], bands={"after.tif": [3, 2, 1]}, size=32, seed=1)
    epochs = []
    for epoch in range(2):
        samples.set_epoch(epoch)
        epochs.append([sample["after.tif"].sum() for sample in samples.__getitems__(range(len(samples)))])
    assert len(epochs[0]) == len(dataset) and any(one != other for one, other in zip(*epochs))
    print(f"module: {built.summary}; {len(dataset)} samples, two epochs of {epochs[0][0].dtype} windows")
