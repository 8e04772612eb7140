"""The installed command with a ledger and a home of its own, and an S3 on the loopback."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest

from tests.support import s3_servers
from tests.support.s3_servers import KEY, S3Server

FANOUT = str(Path(sys.executable).with_name("fanout"))
FILES = {"a": b"one", "d/b": b"two" * 1000, "d/e/empty": b"", "ü/c d": b"three"}
_numbers = itertools.count()


class Here:
    """``fanout local`` as a user types it, in a home that holds nothing else."""

    def __init__(self, home: Path) -> None:
        self.home, self.ledger = home, home / "state/fanout"
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("FANOUT_", "AWS_", "XDG_"))}
        self.environment = kept | {
            "HOME": str(home),
            "XDG_STATE_HOME": str(home / "state"),
            "AWS_ACCESS_KEY_ID": KEY,
            "AWS_SECRET_ACCESS_KEY": KEY,
            "AWS_REGION": "us-east-1",
            "AWS_EC2_METADATA_DISABLED": "true",
        }

    def run(self, *words: object, status: int = 0, without: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
        """Run a command to its end, without variables of the environment."""
        environment = {name: value for name, value in self.environment.items() if name not in without}
        command = [FANOUT, "local", *map(str, words)]
        ended = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=self.home, check=False)
        assert ended.returncode == status, f"{ended.returncode}: {ended.stdout}{ended.stderr}"
        return ended

    def begin(self, *words: object) -> subprocess.Popen[str]:
        """Begin a command in a process group of its own, as a shell does."""
        command = [FANOUT, "local", *map(str, words)]
        return subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=self.environment,
            cwd=self.home,
            start_new_session=True,
        )


@pytest.fixture
def here(tmp_path: Path) -> Here:
    home = tmp_path / "home"
    home.mkdir()
    return Here(home)


@pytest.fixture(scope="session")
def moto_server() -> Iterator[S3Server]:
    with s3_servers.moto() as server:
        yield server


def until(holds: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    """Wait until something holds while a process runs; fails with what it printed if it ends before."""
    while not holds():
        if process.poll() is not None:
            assert process.stdout is not None
            pytest.fail(f"it ended with {process.returncode}: {process.stdout.read()}")
        time.sleep(0.02)


class End:
    """A source or a destination: a directory or a prefix, filled and read by other means than the product's."""

    def __init__(self, kind: str, place: Path, server: S3Server | None = None) -> None:
        self.kind, self.place, self.server = kind, place, server
        if kind == "s3":
            assert server is not None
            self.bucket = f"here-{os.getpid()}-{next(_numbers)}"
            self.s3 = _client(server.url)
            self.s3.create_bucket(Bucket=self.bucket)

    @property
    def text(self) -> str:
        """The end as it is typed."""
        return str(self.place) if self.kind == "mount" else f"s3://{self.bucket}/tree/"

    @property
    def words(self) -> tuple[str, ...]:
        """The options that the end needs."""
        return ("--s3-endpoint", self.server.url) if self.server is not None and self.kind == "s3" else ()

    def put(self, path: str, data: bytes) -> None:
        """Write a file."""
        if self.kind == "s3":
            self.s3.put_object(Bucket=self.bucket, Key=f"tree/{path}", Body=data)
            return
        file = self.place / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)

    def files(self) -> dict[str, bytes]:
        """All files by their paths."""
        if self.kind == "mount":
            found = [one for one in self.place.rglob("*") if one.is_file()]
            return {one.relative_to(self.place).as_posix(): one.read_bytes() for one in found}
        listed = self.s3.list_objects_v2(Bucket=self.bucket, Prefix="tree/").get("Contents", [])
        keys = [one["Key"] for one in listed if not one["Key"].endswith("/")]
        bodies = {key: self.s3.get_object(Bucket=self.bucket, Key=key)["Body"].read() for key in keys}
        return {key.removeprefix("tree/"): body for key, body in bodies.items()}


def _client(url: str) -> Any:
    return boto3.client(
        "s3", endpoint_url=url, region_name="us-east-1", aws_access_key_id=KEY, aws_secret_access_key=KEY
    )
