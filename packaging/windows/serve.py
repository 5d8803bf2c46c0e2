"""Serves a folder on a free port of this machine, with ranges; writes the port into a file: serve.py FOLDER PORTFILE"""

import http.server
import os
import sys


class Handler(http.server.SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def __init__(self, *arguments):
        super().__init__(*arguments, directory=sys.argv[1])

    def do_GET(self):
        path = self.translate_path(self.path)
        wanted = self.headers.get("Range", "")
        if not (wanted.startswith("bytes=") and os.path.isfile(path)):
            return super().do_GET()
        with open(path, "rb") as file:
            data = file.read()
        first, _, last = wanted[6:].partition("-")
        start = int(first) if first else max(0, len(data) - int(last))
        end = min(int(last) + 1, len(data)) if first and last else len(data)
        if start >= len(data):
            self.send_error(416)
            return
        self.send_response(206)
        self.send_header("Content-Range", f"bytes {start}-{end - 1}/{len(data)}")
        self.send_header("Content-Length", str(end - start))
        self.end_headers()
        self.wfile.write(data[start:end])

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
with open(sys.argv[2] + ".part", "w") as file:
    file.write(str(server.server_address[1]))
os.rename(sys.argv[2] + ".part", sys.argv[2])
server.serve_forever()
