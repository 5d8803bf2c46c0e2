"""Generates datasets for benchmarks. Offsets are computed in advance, and the ZIP is written by arrays, so five million samples take
seconds.

datasets.py OUTPUT ROWS writes one with numbers, texts and times."""

import json
import struct
import sys
import zlib
from pathlib import Path

import numpy as np
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
    others = [("TACO_HEADER", header), ("METADATA/level0.parquet", parquet), ("COLLECTION.json", collection)]
    write_members(path, [f"DATA/{name}" for name in names], others)
    with path.open("rb") as file:
        file.seek(parquet_at)
        assert file.read(4) == b"PAR1", "the computed offsets are wrong"


# The fields that a local header and an entry of the central directory share, from the version to the length of extra fields.
SHARED = [("version", "<u2"), ("flags", "<u2"), ("method", "<u2"), ("time", "<u2"), ("date", "<u2"), ("crc", "<u4"), ("stored", "<u4"),
          ("size", "<u4"), ("name_length", "<u2"), ("extra_length", "<u2")]
# Date of members, 1980-01-01.
DATE = 33


def records(kind, signature, before, after, names, sizes, crcs):
    """An array of ZIP records of members whose names have one length."""
    length = len(names[0])
    made = np.zeros(len(names), dtype=[("signature", "<u4"), *before, *SHARED, *after, ("name", f"S{length}"), *kind])
    made["signature"], made["version"], made["date"], made["name_length"] = signature, 20, DATE, length
    made["name"], made["stored"], made["size"], made["crc"] = names, sizes, sizes, crcs
    return made


def write_members(path, names, others):
    """A ZIP without compression: the first of `others` (name, bytes), then members of 16 bytes that hold their number, then the rest."""
    names = np.array(names, dtype=np.bytes_)
    numbers = np.arange(len(names), dtype="<u8")
    crcs = np.fromiter((zlib.crc32(number.to_bytes(SIZE, "little")) for number in range(len(names))), "<u4", len(names))
    data = records([("low", "<u8"), ("high", "<u8")], 0x04034B50, [], [], names, SIZE, crcs)
    data["low"] = numbers
    directory = []
    after = [("comment", "<u2"), ("disk", "<u2"), ("internal", "<u2"), ("external", "<u4"), ("offset", "<u4")]

    def listed(names, sizes, crcs, offsets):
        entries = records([], 0x02014B50, [("made_by", "<u2")], after, names, sizes, crcs)
        entries["made_by"], entries["offset"] = 20, offsets
        directory.append(entries)

    with path.open("wb") as file:

        def write_one(name, content):
            one = np.array([name.encode()]), len(content), zlib.crc32(content)
            listed(*one, file.tell())
            file.write(records([], 0x04034B50, [], [], *one).tobytes())
            file.write(content)

        write_one(*others[0])
        listed(names, SIZE, crcs, file.tell() + numbers * data.itemsize)
        data.tofile(file)
        for name, content in others[1:]:
            write_one(name, content)
        begin, count = file.tell(), sum(map(len, directory))
        assert begin < 2**32 - 1, "offsets of 32 bits only"
        for entries in directory:
            entries.tofile(file)
        end, size = file.tell(), file.tell() - begin
        if count >= 0xFFFF:
            file.write(struct.pack("<IQHHIIQQQQ", 0x06064B50, 44, 45, 45, 0, 0, count, count, size, begin))
            file.write(struct.pack("<IIQI", 0x07064B50, 0, end, 1))
        few = min(count, 0xFFFF)
        file.write(struct.pack("<IHHHHIIH", 0x06054B50, 0, 0, few, few, size, begin, 0))


def main(path, rows):
    random = np.random.default_rng(1)
    start = np.datetime64("2020-01-01", "us")
    columns = {
        "region": pa.array(np.char.add("region ", (np.arange(rows) % 40).astype(str))),
        "cloud_cover": pa.array(np.arange(rows) % 101),
        "quality": pa.array(random.random(rows)),
        "split": pa.array(np.array(["train", "validation", "test"])[np.arange(rows) % 3]),
        "stac:time_start": pa.array(start + (np.arange(rows) % 2_000_000 * 60_000_000).astype("timedelta64[us]")),
    }
    write_zip(path, [f"sample_{number:07d}" for number in range(rows)], columns)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
