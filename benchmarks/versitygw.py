"""versitygw, an S3 server over a directory: `go install github.com/versity/versitygw/cmd/versitygw@latest`."""

from __future__ import annotations

import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

BUCKET = "bench"
KEY = "testing"


@contextmanager
def server(binary: str, root: Path) -> Iterator[str]:
    """versitygw over a directory; yields its URL."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [binary, "--access", KEY, "--secret", KEY, "--port", f"127.0.0.1:{port}", "--keep-alive", "--quiet"]
    (root / "meta").mkdir()
    (root / "objects").mkdir()
    process = subprocess.Popen(
        [*command, "posix", "--sidecar", str(root / "meta"), str(root / "objects")], stdout=subprocess.DEVNULL
    )
    try:
        for _ in range(100):
            with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
                break
            time.sleep(0.1)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait()
