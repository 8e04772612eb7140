"""Small objects to and from S3: this product's client and copier beside s5cmd, in one run on one machine.

Needs versitygw, an S3 server over a directory, and s5cmd:

    go install github.com/versity/versitygw/cmd/versitygw@latest
    go install github.com/peak/s5cmd/v2@latest
    .venv/bin/python benchmarks/s3_objects.py --versitygw ~/go/bin/versitygw --s5cmd ~/go/bin/s5cmd

Server and files lie on tmpfs and the network is the loopback, so the figures are about the clients' CPU.
The rows "client" only move bytes between memory and S3; "copier" and s5cmd read and write files, and s5cmd
also starts and lists. The runs take turns, and the median counts.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import socket
import statistics
import subprocess
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from fanout.adapters.checksum import crc64nvme
from fanout.adapters.posix.tree import PosixTree
from fanout.adapters.s3.client import S3Client
from fanout.adapters.s3.credentials import Credentials
from fanout.adapters.s3.endpoint import Endpoint
from fanout.adapters.s3.tree import S3Tree
from fanout.domain.entries import Entry
from fanout.domain.errors import FanoutError
from fanout.domain.outcomes import Result
from fanout.domain.segments import Segment
from fanout.ports import Tree
from fanout.steps.copying import Copier

BUCKET = "bench"
DIRECTORIES = 64
KEY = "testing"


class Figure(NamedTuple):
    """What one run took."""

    objects_per_second: float
    cpu_seconds_per_1000: float


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


def measured(count: int, who: int, work: Callable[[], None]) -> Figure:
    """Objects a second and CPU of ``who`` (this process or its children) for ``count`` objects."""
    before, began = resource.getrusage(who), time.perf_counter()
    work()
    seconds, after = time.perf_counter() - began, resource.getrusage(who)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Figure(count / seconds, cpu / count * 1000)


def in_threads(threads: int, count: int, work: Callable[[int], object]) -> None:
    """``work`` for each number below ``count``, spread over threads."""

    def run(first: int) -> None:
        for number in range(first, count, threads):
            work(number)

    workers = [threading.Thread(target=run, args=(first,)) for first in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


def copy_tree(source: Tree, destination: Tree, threads: int) -> None:
    """List and copy everything. Raises ``RuntimeError`` for the first entry that fails."""
    entries: Iterator[Entry] = source.list(Segment(""))
    for _, outcome in Copier(source, destination, crc64nvme, lambda: False).copy_all(enumerate(entries), threads):
        if outcome.result is not Result.COPIED:
            raise RuntimeError(f"{outcome.path}: {outcome.message}")
    destination.finish()


class Series:
    """The runs of one round, each over its own keys or directory."""

    def __init__(self, url: str, root: Path, s5cmd: str, count: int, size: int, threads: int) -> None:
        self._url, self._root, self._s5cmd = url, root, s5cmd
        self._count, self._threads = count, threads
        self._client = S3Client(Endpoint("us-east-1", url), lambda: Credentials(KEY, KEY))
        with suppress(FanoutError):
            self._client.call("CreateBucket", "PUT", BUCKET, body=b"")
        self._body = os.urandom(size)
        self._files = root / "files"
        for number in range(count):
            path = self._files / self._name(number)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(self._body)

    def round(self, number: int) -> dict[str, Figure]:
        """Every client once."""
        mine, children = resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN
        runs: dict[str, tuple[int, Callable[[], None]]] = {
            "upload: client": (mine, lambda: self._each(lambda name: self._put(f"client/{name}"))),
            "upload: s5cmd": (children, lambda: self._run_s5cmd(f"{self._files}/", f"s3://{BUCKET}/s5cmd/")),
            "upload: copier": (mine, lambda: copy_tree(self._posix("files"), self._s3("copier/"), self._threads)),
            "download: client": (mine, lambda: self._each(lambda name: self._get(f"client/{name}"))),
            "download: s5cmd": (children, lambda: self._run_s5cmd(f"s3://{BUCKET}/s5cmd/*", f"{self._root}/s5cmd/")),
            "download: copier": (mine, lambda: copy_tree(self._s3("client/"), self._posix("copier"), self._threads)),
        }
        figures = {name: measured(self._count, who, work) for name, (who, work) in runs.items()}
        for folder in ("s5cmd", "copier"):
            found = sum(1 for path in (self._root / folder).rglob("*") if path.is_file())
            if found != self._count:
                raise RuntimeError(f"{folder} wrote {found} of {self._count} files in round {number}")
            shutil.rmtree(self._root / folder)
        return figures

    def _name(self, number: int) -> str:
        return f"{number % DIRECTORIES:02}/{number:06}"

    def _each(self, work: Callable[[str], object]) -> None:
        in_threads(self._threads, self._count, lambda number: work(self._name(number)))

    def _put(self, key: str) -> None:
        self._client.put_object(BUCKET, key, self._body, crc64nvme=crc64nvme(self._body))

    def _get(self, key: str) -> None:
        if self._client.get_object(BUCKET, key).body != self._body:
            raise RuntimeError(f"{key} came back as something else")

    def _posix(self, folder: str) -> PosixTree:
        (self._root / folder).mkdir(exist_ok=True)
        return PosixTree(self._root / folder, "", "bench", str(time.monotonic_ns()))

    def _s3(self, prefix: str) -> S3Tree:
        return S3Tree(self._client, BUCKET, prefix)

    def _run_s5cmd(self, source: str, destination: str) -> None:
        command = [self._s5cmd, "--log", "error", "--endpoint-url", self._url, "--numworkers", str(self._threads)]
        environment = os.environ | {"AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": KEY, "AWS_REGION": "us-east-1"}
        subprocess.run([*command, "cp", source, destination], env=environment, check=True)


def main() -> None:
    """Run the series and print a table."""
    parser = argparse.ArgumentParser(description="Small objects to and from S3, beside s5cmd")
    parser.add_argument("--versitygw", default="versitygw")
    parser.add_argument("--s5cmd", default="s5cmd")
    parser.add_argument("--objects", type=int, default=8000)
    parser.add_argument("--size", type=int, default=4096)
    parser.add_argument("--threads", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--tmpfs", default="/dev/shm")
    given = parser.parse_args()
    figures: defaultdict[str, list[Figure]] = defaultdict(list)
    with tempfile.TemporaryDirectory(dir=given.tmpfs) as folder, server(given.versitygw, Path(folder)) as url:
        series = Series(url, Path(folder), given.s5cmd, given.objects, given.size, given.threads)
        for number in range(given.rounds):
            for name, figure in series.round(number).items():
                figures[name].append(figure)
    print(f"{given.objects} objects of {given.size} bytes, {given.threads} threads, median of {given.rounds}")
    print(f"{'':20}{'objects/s':>12}{'CPU s/1000':>12}{'to s5cmd':>10}")
    for name, found in figures.items():
        rate, cpu = (statistics.median(values) for values in zip(*found, strict=True))
        peer = statistics.median(figure.objects_per_second for figure in figures[f"{name.split(':')[0]}: s5cmd"])
        print(f"{name:20}{rate:12.0f}{cpu:12.3f}{rate / peer:9.1f}x")


if __name__ == "__main__":
    main()
