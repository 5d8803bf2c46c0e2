"""Compares the column `taco:header` of a FOLDER dataset with headers built from the IFDs of its files.

    tacotiff.py DATASET [--tool]     --tool: also with the official package `tacotiff`, if it can be imported

The IFD of each BigTIFF is parsed here, independent of GDAL and the program.
"""

import os
import pathlib
import struct
import sys

import pyarrow.parquet as pq

# Sizes in bytes of the TIFF types: BYTE, ASCII, SHORT, LONG, signed types, …, and the 64-bit types.
SIZES = {1: 1, 2: 1, 3: 2, 4: 4, 6: 1, 8: 2, 9: 4, 11: 4, 12: 8, 16: 8, 17: 8}
LETTERS = {1: "B", 3: "H", 4: "I", 16: "Q"}


def directory(data):
    """Tags of the first image of a little-endian BigTIFF: number -> values."""
    magic, version, width, zero, start = struct.unpack_from("<2sHHHQ", data)
    assert (magic, version, width, zero) == (b"II", 43, 8, 0), "no little-endian BigTIFF"
    (count,) = struct.unpack_from("<Q", data, start)
    tags = {}
    for entry in range(count):
        tag, kind, values, inline = struct.unpack_from("<HHQQ", data, start + 8 + 20 * entry)
        at = start + 8 + 20 * entry + 12 if values * SIZES.get(kind, 8) <= 8 else inline
        if kind in LETTERS:
            tags[tag] = struct.unpack_from(f"<{values}{LETTERS[kind]}", data, at)
    return tags


def header(data):
    tags = directory(data)
    tiles = sorted(zip(tags[324], tags[325]))
    fixed = struct.pack(
        "<IHIIHHHBBBQI",
        0x45564F4C,
        1,
        tags[256][0],
        tags[257][0],
        tags[322][0],
        tags[323][0],
        tags[277][0],
        tags[258][0],
        tags[339][0],
        tags.get(317, (1,))[0],
        tiles[0][0],
        len(tiles),
    )
    return fixed + struct.pack(f"<{len(tiles)}I", *(size for _, size in tiles))


def main():
    root, tool = pathlib.Path(sys.argv[1]), "--tool" in sys.argv
    table = pq.read_table(root / "METADATA/level0.parquet")
    faults, seen = [], 0
    for name, found in zip(table["id"].to_pylist(), table["taco:header"].to_pylist()):
        path = root / "DATA" / name
        wanted = {"directory": header(path.read_bytes())}
        if tool:
            # Not this file, which is in the first folder of the search path.
            sys.path[:] = [place for place in sys.path if pathlib.Path(place) != pathlib.Path(__file__).parent]
            import tacotiff

            # The package requires the predictor tag, which files without a predictor do not have.
            if 317 in directory(path.read_bytes()):
                wanted["tacotiff"] = tacotiff.metadata_from_tiff(str(path))
        for source, bytes_ in wanted.items():
            if found != bytes_:
                faults.append(f"{name}: {found.hex()[:80]} is not {bytes_.hex()[:80]} of the {source}")
            seen += 1
    print("\n".join(faults) if faults else f"ok: {seen} headers")
    return 1 if faults or not seen else 0


if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    # Not sys.exit, as pyarrow's threads sometimes abort the interpreter during shutdown.
    os._exit(code)
