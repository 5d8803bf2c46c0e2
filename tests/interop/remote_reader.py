"""Opens a dataset by its URL with the official reader and compares it with its sources: remote_reader.py URL SOURCES.

Every file below the folder SOURCES is a FILE of the dataset with the same bytes, and nothing else is. Prints `ok: …` and exits with 0.
"""

import hashlib
import pathlib
import sys
import urllib.request

import obstore
import tacoreader
import tacoreader._remote_io

url, sources = sys.argv[1], pathlib.Path(sys.argv[2])
# Servers of this machine have no certificate, and the reader asks for one.
tacoreader._remote_io._create_store = lambda address: obstore.store.HTTPStore.from_url(address, client_options={"allow_http": True})
opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def bytes_at(vsi):
    """The bytes at `/vsisubfile/OFFSET_SIZE,/vsicurl/URL`, or at `/vsicurl/URL`."""
    headers = {}
    if vsi.startswith("/vsisubfile/"):
        span, vsi = vsi.removeprefix("/vsisubfile/").split(",", 1)
        offset, size = map(int, span.split("_"))
        headers["Range"] = f"bytes={offset}-{offset + size - 1}"
    assert vsi.startswith("/vsicurl/http"), vsi
    with opener.open(urllib.request.Request(vsi.removeprefix("/vsicurl/"), headers=headers)) as response:
        return response.read()


def walk(frame, prefix, found):
    for name, kind in zip(frame["id"].to_pylist(), frame["type"].to_pylist()):
        below = frame.read(name)
        if kind == "FILE":
            found[prefix + name] = hashlib.sha256(bytes_at(below)).hexdigest()
        else:
            walk(below, f"{prefix}{name}/", found)


found = {}
data = tacoreader.load(url).data
walk(data, "", found)
wanted = {
    path.relative_to(sources).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
    for path in sources.rglob("*")
    if path.is_file()
}
if found != wanted:
    names = sorted(set(found) ^ set(wanted)) or [name for name in wanted if found[name] != wanted[name]]
    sys.exit(f"differs: {names[:5]}")
print(f"ok: {len(data['id'].to_pylist())} rows, {len(found)} files")
