"""Zarr stores by zarr and xarray.

make FOLDER            two roots, each with the same stores; FOLDER.json is a list of [root, store, variable, bands of rows of values]
check FOLDER DATASET...  reads the samples of datasets that were made of the folder with zarr, and with GDAL from the ZIP in the ZIP
"""

import io
import json
import sys
import zipfile
from pathlib import Path

# The scripts of this folder are no modules: xarray would import one of them.
sys.path.pop(0)

import numpy as np
import rasterio
import xarray
import zarr
from zarr.codecs import BloscCodec, BytesCodec, ZstdCodec

ROOTS = ("s1", "s2")


def values(shape, dtype, seed):
    count = int(np.prod(shape))
    return ((np.arange(count) * 7 + seed) % 251).astype(dtype).reshape(shape)


def make(folder: Path) -> list:
    expected = []

    def put(root, store, variable, array):
        bands = array[None] if array.ndim == 2 else array.reshape(-1, *array.shape[-2:])
        expected.append([root, store, variable, bands.astype(float).tolist()])

    for seed, root in enumerate(ROOTS):
        place = folder / root
        place.mkdir(parents=True)
        # One array of version 2, in chunks that do not divide it, by the compressor that zarr takes by itself: blosc with lz4.
        array = values((10, 12), "<u2", seed)
        made = zarr.create_array(str(place / "plain.zarr"), shape=array.shape, chunks=(4, 5), dtype=array.dtype, zarr_format=2)
        made[:] = array
        put(root, "plain.zarr", None, array)
        # Big-endian, not compressed, without a name that tells.
        array = values((6, 6), ">i4", seed)
        made = zarr.create_array(str(place / "bare"), shape=array.shape, chunks=(6, 6), dtype=array.dtype, zarr_format=2, compressors=None)
        made[:] = array
        put(root, "bare", None, array)
        # Version 3: blosc with zstd and shuffled bytes; a part that was never written.
        made = zarr.create_array(
            str(place / "third.zarr"), shape=(3, 8, 8), chunks=(1, 4, 4), dtype="float32", zarr_format=3, fill_value=-1,
            serializer=BytesCodec(), compressors=[BloscCodec(cname="zstd", clevel=5, shuffle="shuffle", typesize=4)],
        )
        array = np.full((3, 8, 8), -1, "float32")
        # Of another number of chunks in each root.
        array[: seed + 1] = values((seed + 1, 8, 8), "float32", seed)
        made[: seed + 1] = array[: seed + 1]
        put(root, "third.zarr", None, array)
        # Version 3 with shards.
        array = values((8, 8), "uint8", seed)
        made = zarr.create_array(
            str(place / "shards.zarr"), shape=(8, 8), chunks=(2, 2), shards=(4, 4), dtype="uint8", zarr_format=3, compressors=[ZstdCodec()]
        )
        made[:] = array
        put(root, "shards.zarr", None, array)
        # A cube of two variables with times and places, as xarray writes it.
        for version in (2, 3):
            temp, wind = values((2, 5, 6), "float32", seed), values((2, 5, 6), "int16", seed + 3)
            cube = xarray.Dataset(
                {"temp": (("time", "y", "x"), temp), "wind": (("time", "y", "x"), wind)},
                coords={
                    "time": np.array(["2020-01-01", "2020-02-01"], "datetime64[ns]"),
                    "y": ("y", 4.0 - np.arange(5), {"standard_name": "latitude", "units": "degrees_north"}),
                    "x": ("x", 10.0 + np.arange(6), {"standard_name": "longitude", "units": "degrees_east"}),
                },
            )
            cube.to_zarr(place / f"cube{version}.zarr", mode="w", zarr_format=version, consolidated=True)
            put(root, f"cube{version}.zarr", "temp", temp)
            put(root, f"cube{version}.zarr", "wind", wind)
    return expected


def check(dataset: Path, expected: list) -> None:
    for root, store, variable, bands in expected:
        member = f"DATA/{root}/{store if store.endswith('.zarr') else store + '.zarr'}.zip"
        if dataset.is_dir():
            place, data = f"{dataset}/{member}", (dataset / member).read_bytes()
        else:
            place, data = f"/vsizip/{{{dataset}}}/{member}", zipfile.ZipFile(dataset).read(member)
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            assert archive.testzip() is None, member
        copy = dataset.with_suffix(".copy.zip")
        copy.write_bytes(data)
        opened = zarr.open(zarr.storage.ZipStore(copy, mode="r"), mode="r")
        array = np.asarray(opened[variable][:] if variable else opened[:])
        copy.unlink()
        found = array[None] if array.ndim == 2 else array.reshape(-1, *array.shape[-2:])
        assert found.astype(float).tolist() == bands, (member, variable)
        # GDAL reads no shards, and before 3.11 not the codecs of version 3.
        of_version_3 = store in ("third.zarr", "cube3.zarr") and rasterio.__gdal_version__.startswith(("3.9.", "3.10."))
        if store == "shards.zarr" or of_version_3:
            continue
        inside = f'ZARR:"/vsizip/{{{place}}}"' + (f":/{variable}" if variable else "")
        with rasterio.open(inside) as raster:
            assert raster.read().astype(float).tolist() == bands, inside


folder = Path(sys.argv[2])
if sys.argv[1] == "make":
    folder.with_suffix(".json").write_text(json.dumps(make(folder)))
else:
    for dataset in sys.argv[3:]:
        check(Path(dataset), json.loads(folder.with_suffix(".json").read_text()))
