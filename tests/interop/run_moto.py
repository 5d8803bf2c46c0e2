"""Serves an S3 emulator on 127.0.0.1: run_moto.py PORT [--on-disk].

With --on-disk, parts and objects are files that are mapped, not read: the emulator as it is holds an object in memory three times
when its parts are joined, and reads it whole for each range.
"""

import mmap
import os
import sys
import tempfile

ON_DISK = "--on-disk" in sys.argv
if ON_DISK:
    os.environ["MOTO_S3_DEFAULT_KEY_BUFFER_SIZE"] = "1"

from moto.s3 import models
from moto.server import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import WSGIRequestHandler, make_server


class Joined:
    """The bytes of joined parts."""

    def __init__(self):
        self.file, self.size = tempfile.TemporaryFile(), 0

    def extend(self, value):
        self.file.write(value)
        self.size += len(value)

    def __len__(self):
        return self.size


def complete(self, body):
    """As moto's, with each part released when it was joined."""
    total, digests, count = Joined(), bytearray(), 0
    for number, etag in body:
        part = self.parts.get(number)
        if part is None or part.etag.replace('"', "") != etag.replace('"', ""):
            raise models.InvalidPart()
        digests.extend(bytes.fromhex(part.etag.replace('"', "")))
        total.extend(part.value)
        part._value_buffer.close()
        count += 1
    if count == 0:
        raise models.MalformedXML
    total.file.flush()
    return total, f"{models.md5_hash(bytes(digests)).hexdigest()}-{count}", None


def read(self):
    with self.lock:
        mapped = getattr(self, "_mapped", None)
        if mapped is not None:
            return mapped
        self._value_buffer.seek(0)
        return self._value_buffer.read()


def write(self, value):
    if isinstance(value, Joined):
        self._value_buffer = value.file
        self._mapped = mmap.mmap(value.file.fileno(), 0, access=mmap.ACCESS_READ)
    else:
        self._value_buffer.seek(0)
        self._value_buffer.truncate()
        self._value_buffer.write(value)
    self.contentsize = len(value)


if ON_DISK:
    models.FakeMultipart.complete = complete
    models.FakeKey.value = property(read, write)


class Handler(WSGIRequestHandler):
    protocol_version = "HTTP/1.1"

    def log(self, *_):
        pass


app = DomainDispatcherApplication(create_backend_app)
make_server("127.0.0.1", int(sys.argv[1]), app, threaded=True, request_handler=Handler).serve_forever()
