"""An S3 server on 127.0.0.1 with the files below a folder in the bucket `data`. Prints its address and serves until its standard
input is closed. Needs the moto package; makes no network requests."""

import os
import sys
from pathlib import Path

os.environ.update(AWS_ACCESS_KEY_ID="test", AWS_SECRET_ACCESS_KEY="test", AWS_DEFAULT_REGION="us-east-1", NO_PROXY="127.0.0.1")

import boto3  # noqa: E402
from moto.server import ThreadedMotoServer  # noqa: E402

folder = Path(sys.argv[1])
server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
server.start()
_, port = server.get_host_and_port()
endpoint = f"http://127.0.0.1:{port}"
client = boto3.client("s3", endpoint_url=endpoint)
client.create_bucket(Bucket="data", ACL="public-read")
for path in sorted(folder.rglob("*")):
    if path.is_file():
        client.upload_file(str(path), "data", path.relative_to(folder).as_posix(), ExtraArgs={"ACL": "public-read"})
print(endpoint, flush=True)
sys.stdin.read()
server.stop()
