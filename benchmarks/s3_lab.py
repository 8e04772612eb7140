"""The S3 server of the benchmarks as a process: objects in memory, trees loaded and saved by its control requests."""

from __future__ import annotations

import ssl
import subprocess
import tempfile
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
# The machine's own authorities: clients of AWS read them all, and so they do here.
_MACHINES_AUTHORITIES = (Path("/etc/ssl/certs/ca-certificates.crt"), Path("/etc/pki/tls/certs/ca-bundle.crt"))


@dataclass(frozen=True)
class S3Lab:
    """A running server; over TLS ``authorities`` is the file of those that its clients trust."""

    url: str
    authorities: Path | None = None

    @property
    def environment(self) -> dict[str, str]:
        """What the tools and our functions read of their environment to reach it."""
        trusted = str(self.authorities) if self.authorities else ""
        tls = {"AWS_CA_BUNDLE": trusted, "SSL_CERT_FILE": trusted} if trusted else {}
        return tls | {
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
        context = ssl.create_default_context(cafile=str(self.authorities)) if self.authorities else None
        with urllib.request.urlopen(url, timeout=_CONTROL_SECONDS, context=context) as answer:
            text: str = answer.read().decode()
        return text


@contextmanager
def running(*, tls: bool = False, first_byte_ms: int = 0) -> Iterator[S3Lab]:
    """A fresh, empty server on a free port of the loopback; S3's requests wait so long for their answer."""
    with tempfile.TemporaryDirectory() as scratch:
        made, trusted = Path(scratch, "authority.pem"), Path(scratch, "trusted.pem")
        flags = ["-tls", str(made)] if tls else []
        command = [str(BINARY), *flags, "-first-byte-ms", str(first_byte_ms)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        try:
            assert process.stdout is not None
            port = process.stdout.readline().strip()
            if not port:
                raise RuntimeError(f"{BINARY} did not start")
            if tls:
                known = [path.read_bytes() for path in _MACHINES_AUTHORITIES if path.exists()]
                trusted.write_bytes(b"".join([*known[:1], made.read_bytes()]))
            yield S3Lab(f"{'https' if tls else 'http'}://127.0.0.1:{port}", trusted if tls else None)
        finally:
            process.terminate()
            process.wait()
