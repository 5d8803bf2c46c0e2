"""Generates datasets for benchmarks. Offsets are computed in advance, so a million samples take seconds."""

import json
import struct
import zipfile

import pyarrow as pa
import pyarrow.parquet as pq

COLLECTION = {
    "id": "bench",
    "dataset_version": "1.0.0",
    "description": "Random bytes, for timing.",
    "licenses": ["CC0-1.0"],
    "providers": [{"name": "Bench", "roles": ["producer"]}],
    "tasks": ["classification"],
}
# Size of a sample, and of the TACO_HEADER member before the first one, in bytes.
SIZE = 16
FIRST = 157


def write_zip(path, names, columns, **fields):
    """A flat ZIP dataset of samples of 16 bytes: `names` all of one length, `columns` beside those that every dataset has, `fields`
    more of the collection."""
    rows = len(names)
    member = 30 + len("DATA/") + len(names[0])
    table = pa.table(
        {
            "id": names,
            "type": ["FILE"] * rows,
            **columns,
            "internal:current_id": pa.array(range(rows), pa.int64()),
            "internal:parent_id": pa.array(range(rows), pa.int64()),
            "internal:offset": pa.array([FIRST + row * (member + SIZE) + member for row in range(rows)], pa.int64()),
            "internal:size": pa.array([SIZE] * rows, pa.int64()),
        }
    )
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd", compression_level=13, row_group_size=65_536)
    parquet = sink.getvalue().to_pybytes()
    schema = [[field.name, str(field.type), ""] for field in table.schema if field.name not in ("internal:offset", "internal:size")]
    described = {
        **COLLECTION,
        "taco_version": "2.0.0",
        **fields,
        "taco:pit_schema": {"root": {"n": rows, "type": "FILE"}, "shape": [rows], "hierarchy": {}},
        "taco:field_schema": {"level0": schema},
    }
    collection = json.dumps(described, indent=4).encode()
    parquet_at = FIRST + rows * (member + SIZE) + 30 + len("METADATA/level0.parquet")
    collection_at = parquet_at + len(parquet) + 30 + len("COLLECTION.json")
    header = struct.pack("<B3x14Q", 2, parquet_at, len(parquet), collection_at, len(collection), *[0] * 10)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(zipfile.ZipInfo("TACO_HEADER"), header)
        for row, name in enumerate(names):
            archive.writestr(zipfile.ZipInfo(f"DATA/{name}"), row.to_bytes(SIZE, "little"))
        archive.writestr(zipfile.ZipInfo("METADATA/level0.parquet"), parquet)
        archive.writestr(zipfile.ZipInfo("COLLECTION.json"), collection)
    with path.open("rb") as file:
        file.seek(parquet_at)
        assert file.read(4) == b"PAR1", "the computed offsets are wrong"
