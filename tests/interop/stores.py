"""Looks at the objects of an emulator: stores.py KIND PORT VERB…, with the verbs make, list, uploads, get NAME FILE, put NAME FILE,
and for S3 drop, transfer PORT FILE, testzip NAME. Prints JSON.

S3 is asked through boto3. The other two have a small interface that urllib speaks; Azure's requests are signed here.
"""

import base64
import hashlib
import hmac
import json
import os
import sys
import urllib.parse
import urllib.request
import xml.etree.ElementTree
from email.utils import formatdate

kind, port, verb, *rest = sys.argv[1:]
url = f"http://127.0.0.1:{port}"
ACCOUNT = "devstoreaccount1"


def s3():
    import boto3

    return boto3.client("s3", endpoint_url=url, aws_access_key_id="test", aws_secret_access_key="secret", region_name="us-east-1")


def send(method, address, body=None, headers=None):
    request = urllib.request.Request(address, data=body, method=method, headers=headers or {})
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request) as response:
        return response.read()


def azure(method, path, query="", body=b"", headers=None):
    """A request signed with the shared key (2015-02-21 and later)."""
    own = {"x-ms-date": formatdate(usegmt=True), "x-ms-version": "2021-12-02", **(headers or {})}
    pairs = sorted(urllib.parse.parse_qsl(query))
    resource = f"/{ACCOUNT}/{ACCOUNT}{path}" + "".join(f"\n{name}:{value}" for name, value in pairs)
    ms = "".join(f"{name}:{own[name]}\n" for name in sorted(own) if name.startswith("x-ms-"))
    length = str(len(body)) if body else ""
    kind = "application/octet-stream" if body else ""
    text = f"{method}\n\n\n{length}\n\n{kind}\n\n\n\n\n\n\n{ms}{resource}"
    key = base64.b64decode(os.environ["AZURE_STORAGE_ACCOUNT_KEY"])
    signature = base64.b64encode(hmac.new(key, text.encode(), hashlib.sha256).digest()).decode()
    own["Authorization"] = f"SharedKey {ACCOUNT}:{signature}"
    if body:
        own["Content-Type"] = kind
    address = f"{url}/{ACCOUNT}{path}" + (f"?{query}" if query else "")
    return send(method, address, body or None, own)


def transfer(through, path):
    """Seconds that boto3 takes for a file, with its own settings, through another port."""
    import time

    import boto3

    client = boto3.client(
        "s3", endpoint_url=f"http://127.0.0.1:{through}", aws_access_key_id="test", aws_secret_access_key="secret", region_name="us-east-1"
    )
    begun = time.monotonic()
    client.upload_file(path, "data", "of boto3")
    seconds = time.monotonic() - begun
    s3().delete_object(Bucket="data", Key="of boto3")
    return seconds


def testzip(name):
    """Number of members of an archive, each of which is read by ranges and has its CRC-32."""
    import io
    import zipfile

    client = s3()
    size = client.head_object(Bucket="data", Key=name)["ContentLength"]

    class Ranges(io.RawIOBase):
        at = 0

        def readable(self):
            return True

        def seekable(self):
            return True

        def tell(self):
            return self.at

        def seek(self, offset, whence=0):
            self.at = offset + {0: 0, 1: self.at, 2: size}[whence]
            return self.at

        def readinto(self, buffer):
            end = min(self.at + len(buffer), size)
            if end <= self.at:
                return 0
            data = client.get_object(Bucket="data", Key=name, Range=f"bytes={self.at}-{end - 1}")["Body"].read()
            buffer[: len(data)] = data
            self.at += len(data)
            return len(data)

    with zipfile.ZipFile(io.BufferedReader(Ranges(), 8 << 20)) as archive:
        assert archive.testzip() is None, archive.testzip()
        return len(archive.namelist())


def quoted(name):
    return urllib.parse.quote(name, safe="")


def main():
    name = rest[0] if rest else None
    if verb == "transfer":
        return transfer(*rest)
    if verb == "testzip":
        return testzip(name)
    if verb == "make":
        if kind == "s3":
            s3().create_bucket(Bucket="data")
            # Anybody may read, as from a bucket with a published dataset, and write: tests in one process set no credentials.
            rule = {"Effect": "Allow", "Principal": "*", "Action": ["s3:*"], "Resource": ["arn:aws:s3:::data/*"]}
            s3().put_bucket_policy(Bucket="data", Policy=json.dumps({"Version": "2012-10-17", "Statement": [rule]}))
        if kind == "azure":
            azure("PUT", "/data", "restype=container")
        return True
    if verb == "list":
        if kind == "s3":
            pages = s3().get_paginator("list_objects_v2").paginate(Bucket="data")
            return sorted(one["Key"] for page in pages for one in page.get("Contents", []))
        if kind == "google":
            listed = json.loads(send("GET", f"{url}/storage/v1/b/data/o"))
            return sorted(one["name"] for one in listed.get("items", []))
        tree = xml.etree.ElementTree.fromstring(azure("GET", "/data", "comp=list&restype=container"))
        return sorted(one.findtext("Name") for one in tree.iter("Blob"))
    if verb == "uploads":
        return len(s3().list_multipart_uploads(Bucket="data").get("Uploads", [])) if kind == "s3" else 0
    if verb == "drop":
        for upload in s3().list_multipart_uploads(Bucket="data").get("Uploads", []):
            s3().abort_multipart_upload(Bucket="data", Key=upload["Key"], UploadId=upload["UploadId"])
        return True
    if verb == "get":
        if kind == "s3":
            s3().download_file("data", name, rest[1])
            return True
        data = azure("GET", f"/data/{urllib.parse.quote(name)}") if kind == "azure" else send("GET", f"{url}/download/storage/v1/b/data/o/{quoted(name)}?alt=media")
        with open(rest[1], "wb") as file:
            file.write(data)
        return True
    with open(rest[1], "rb") as file:
        data = file.read()
    if kind == "s3":
        s3().put_object(Bucket="data", Key=name, Body=data)
    elif kind == "google":
        send("POST", f"{url}/upload/storage/v1/b/data/o?uploadType=media&name={quoted(name)}", data, {"Content-Type": "application/octet-stream"})
    else:
        azure("PUT", f"/data/{urllib.parse.quote(name)}", "", data, {"x-ms-blob-type": "BlockBlob"})
    return True


print(json.dumps(main()))
