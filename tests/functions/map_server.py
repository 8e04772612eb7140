"""A Step Functions that knows one Map of each execution, which ends once it was moved, and nothing else."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

ITEMS = {"total": 4, "pending": 2, "running": 1, "succeeded": 1}


@contextmanager
def map_server() -> Iterator[str]:
    """Its URL."""
    moved: set[str] = set()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            found = answer(self.headers["X-Amz-Target"].partition(".")[2], asked, moved)
            body = json.dumps(found).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            """Nothing is printed."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def answer(operation: str, asked: dict[str, Any], moved: set[str]) -> dict[str, Any]:
    """What Step Functions answers."""
    if operation == "ListMapRuns":
        *start, machine, run = asked["executionArn"].replace(":execution:", ":mapRun:").split(":")
        arn = f"{':'.join(start)}:{machine}/CopyShards:{run}"
        return {"mapRuns": [{"mapRunArn": arn, "startDate": 100.0}]}
    if operation == "DescribeMapRun":
        status = "SUCCEEDED" if asked["mapRunArn"] in moved else "RUNNING"
        return {"status": status, "maxConcurrency": 0, "itemCounts": ITEMS}
    assert operation == "UpdateMapRun"
    moved.add(asked["mapRunArn"])
    return {}
