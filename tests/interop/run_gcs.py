"""Serves an emulator of Google Cloud Storage on 127.0.0.1 with the empty bucket "data": run_gcs.py PORT.

gcp-storage-emulator, with what the store documents and it lacks: ifGenerationMatch=0, ETag and Last-Modified of downloads, ranges of
the last bytes, no Range header while an upload has no bytes, and the answer about an upload that is complete.
"""

import email.utils
import re
import sys
import time
import urllib.parse
from http import HTTPStatus

from gcp_storage_emulator import server
from gcp_storage_emulator.exceptions import NotFound
from gcp_storage_emulator.handlers import objects

NOW = email.utils.formatdate(time.time(), usegmt=True)
# Uploads that may only make a new object, and those that are complete with their objects.
new_only, completed = set(), {}
insert, partial, download, incomplete = objects.insert, objects.upload_partial, objects.download, objects._resumable_incomplete


def exists(storage, bucket, name):
    try:
        storage.get_file_obj(bucket, name)
        return True
    except NotFound:
        return False


def refuse(response):
    response.status = HTTPStatus.PRECONDITION_FAILED
    response.json({"error": {"code": 412, "message": "conditionNotMet"}})


def inserted(request, response, storage, *rest, **named):
    only_new = request.query.get("ifGenerationMatch") == ["0"]
    if only_new and exists(storage, request.params["bucket_name"], request.query["name"][0]):
        return refuse(response)
    insert(request, response, storage, *rest, **named)
    if only_new and "Location" in response._headers:
        new_only.add(urllib.parse.unquote_plus(re.search("upload_id=([^&]+)", response["Location"]).group(1)))


def sent(request, response, storage, *rest, **named):
    upload = request.query.get("upload_id")[0]
    if upload in completed:
        return response.json(completed[upload])
    try:
        obj = storage.get_resumable_file_obj(upload)
    except NotFound:
        response.status = HTTPStatus.NOT_FOUND
        return
    total = (request.get_header("Content-Range", "") or "").rsplit("/", 1)[-1]
    if total not in ("", "*") and upload in new_only and exists(storage, obj["bucket"], obj["name"]):
        return refuse(response)
    partial(request, response, storage, *rest, **named)
    if response.status == HTTPStatus.OK:
        completed[upload] = storage.get_file_obj(obj["bucket"], obj["name"])


def still_incomplete(response, storage, upload, fallback_end=0):
    incomplete(response, storage, upload, fallback_end)
    if storage.get_resumable_byte_count(upload) == 0:
        del response._headers["Range"]


def downloaded(request, response, storage, *rest, **named):
    try:
        obj = storage.get_file_obj(request.params["bucket_name"], request.params["object_id"])
    except NotFound:
        response.status = HTTPStatus.NOT_FOUND
        return
    last = re.fullmatch(r"\s*bytes=-(\d+)", request.get_header("range", None) or "")
    if last:
        size = int(obj["size"])
        start = max(size - int(last.group(1)), 0)
        whole = request.get_header
        request.get_header = lambda name, default=None: f"bytes={start}-{size - 1}" if name == "range" else whole(name, default)
    download(request, response, storage, *rest, **named)
    response["Last-Modified"] = NOW
    response["ETag"] = f'"{obj["md5Hash"]}"'


changed = {insert: inserted, partial: sent, download: downloaded}
objects._resumable_incomplete = still_incomplete
server.HANDLERS = tuple(
    (pattern, {method: changed.get(handler, handler) for method, handler in handlers.items()}) for pattern, handlers in server.HANDLERS
)
server.Server("127.0.0.1", int(sys.argv[1]), True, "data").run()
