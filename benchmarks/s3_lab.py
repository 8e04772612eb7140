"""The S3 server of the benchmarks as a process: objects in memory, trees loaded and saved by its control requests."""

from __future__ import annotations

import subprocess
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

BINARY = Path(".fanout/bench/s3lab")
DATA_BUCKET, WORK_BUCKET = "bench-data", "bench-work"
KEY = "testing"
_CONTROL_SECONDS = 300


@dataclass(frozen=True)
class S3Lab:
    """A running server."""

    url: str

    @property
    def environment(self) -> dict[str, str]:
        """What the tools and our functions read of their environment to reach it."""
        return {
            "AWS_ACCESS_KEY_ID": KEY,
            "AWS_SECRET_ACCESS_KEY": KEY,
            "AWS_REGION": "us-east-1",
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_ENDPOINT_URL": self.url,
            "AWS_CONFIG_FILE": "/dev/null",
        }

    def load(self, directory: Path, prefix: str) -> None:
        """Make an object of each file below a directory."""
        self._ask("load", directory=str(directory), prefix=f"{DATA_BUCKET}/{prefix}")

    def save(self, prefix: str, directory: Path) -> None:
        """Make a file of each object below a prefix."""
        self._ask("save", directory=str(directory), prefix=f"{DATA_BUCKET}/{prefix}")

    def remove(self, prefix: str, bucket: str = DATA_BUCKET) -> None:
        """Forget the objects below a prefix."""
        self._ask("remove", prefix=f"{bucket}/{prefix}")

    def cpu_seconds(self) -> float:
        """The processor time that the server has taken."""
        return float(self._ask("cpu"))

    def _ask(self, what: str, **query: str) -> str:
        url = f"{self.url}/.lab/{what}?{urllib.parse.urlencode(query)}"
        with urllib.request.urlopen(url, timeout=_CONTROL_SECONDS) as answer:
            text: str = answer.read().decode()
        return text


@contextmanager
def running() -> Iterator[S3Lab]:
    """A fresh, empty server on a free port of the loopback."""
    process = subprocess.Popen([str(BINARY)], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        port = process.stdout.readline().strip()
        if not port:
            raise RuntimeError(f"{BINARY} did not start")
        yield S3Lab(f"http://127.0.0.1:{port}")
    finally:
        process.terminate()
        process.wait()
