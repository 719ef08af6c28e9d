"""A model hub on the loopback interface that speaks as much of the real one's HTTP as is needed."""

import hashlib
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

COMMIT = "0123456789abcdef0123456789abcdef01234567"


class Hub:
    """Serves ``files`` of one repository; ``status`` other than 200 is answered to everything."""

    def __init__(self, repo: str, files: dict[str, bytes], *, chunk_delay: float = 0.0) -> None:
        self.status = 200
        self.requests: list[str] = []
        hub = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *args):
                pass

            def _answer(self, with_body: bool) -> None:
                hub.requests.append(f"{self.command} {self.path}")
                name = self.path.split(f"/{repo}/resolve/main/")[-1]
                content = files.get(name)
                status = hub.status if hub.status != 200 else 200 if content is not None else 404
                if self.path == "/":
                    status, content = 200, b""
                if status != 200:
                    self.send_response(status)
                    if status == 404:
                        self.send_header("X-Error-Code", "EntryNotFound")
                    self.send_header("Content-Length", "0")
                    self.end_headers()
                    return
                start = 0
                if self.headers.get("Range"):
                    start = int(self.headers["Range"].removeprefix("bytes=").split("-")[0])
                self.send_response(206 if start else 200)
                self.send_header("ETag", f'"{hashlib.sha256(content).hexdigest()}"')
                self.send_header("X-Repo-Commit", COMMIT)
                self.send_header("Accept-Ranges", "bytes")
                if start:
                    total = len(content)
                    self.send_header("Content-Range", f"bytes {start}-{total - 1}/{total}")
                self.send_header("Content-Length", str(len(content) - start))
                self.end_headers()
                if with_body:
                    for i in range(start, len(content), 2**18):
                        self.wfile.write(content[i : i + 2**18])
                        time.sleep(chunk_delay)

            def do_GET(self):
                self._answer(with_body=True)

            def do_HEAD(self):
                self._answer(with_body=False)

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()
