"""Listing: entries a second of one function and of several, beside find, rclone lsf and s5cmd ls where they are there.

python -m benchmarks.listing files|s3|latency [--entries 100000] [--versitygw PATH]

A lister is a process with the product's adapter and nothing else; its start is not in the time. Several take the pieces
into which ``Tree.cuts`` divides the whole, one after the other; finding the cuts is in the time.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from benchmarks.versitygw import BUCKET, KEY, server
from fanout.adapters.posix.tree import PosixTree
from fanout.adapters.s3.client import S3Client
from fanout.adapters.s3.credentials import Credentials
from fanout.adapters.s3.endpoint import Endpoint
from fanout.adapters.s3.tree import S3Tree
from fanout.domain.file_columns import FileColumns
from fanout.domain.segments import Segment, cut
from fanout.ports import Tree

MakeTree = Callable[[], Tree]
WHOLE = Segment("whole")


def posix_tree(root: Path) -> Tree:
    """A tree of files."""
    return PosixTree(root, "", "bench", "bench")


def s3_tree(url: str) -> Tree:
    """A tree of keys."""
    return S3Tree(S3Client(Endpoint("us-east-1", url), lambda: Credentials(KEY, KEY)), BUCKET, "")


def make_files(root: Path, entries: int, *, deep: bool) -> None:
    """Empty files: in one directory, or 20 in each directory two levels down."""
    for number in range(entries):
        folder = root / f"{number // 2000:04d}/{number // 20 % 100:02d}" if deep else root
        if number % 20 == 0:
            folder.mkdir(parents=True, exist_ok=True)
        os.close(os.open(folder / f"file-{number:09d}", os.O_CREAT | os.O_WRONLY, 0o644))


def _count(tree: Tree, segment: Segment) -> int:
    return sum(len(one) if isinstance(one, FileColumns) else 1 for one in tree.list_columns(segment))


def _lister(make: MakeTree, pieces: multiprocessing.Queue[Segment | None], counts: multiprocessing.Queue[int]) -> None:
    tree = make()
    counts.put(0)  # started
    found = 0
    while (piece := pieces.get()) is not None:
        found += _count(tree, piece)
    counts.put(found)


def listed(make: MakeTree, listers: int) -> tuple[int, float, int]:
    """Entries, seconds, and pieces: what so many listers find of the whole."""
    if listers == 1:
        tree = make()
        began = time.perf_counter()
        return _count(tree, WHOLE), time.perf_counter() - began, 1
    pieces: multiprocessing.Queue[Segment | None] = multiprocessing.Queue()
    counts: multiprocessing.Queue[int] = multiprocessing.Queue()
    processes = [multiprocessing.Process(target=_lister, args=(make, pieces, counts)) for _ in range(listers)]
    for process in processes:
        process.start()
    for _ in processes:
        counts.get()
    began = time.perf_counter()
    found = cut(WHOLE, make().cuts(WHOLE, 4 * listers))
    for piece in [*found, *[None] * listers]:
        pieces.put(piece)
    total = sum(counts.get() for _ in processes)
    seconds = time.perf_counter() - began
    for process in processes:
        process.join()
    return total, seconds, len(found)


def tool(command: Sequence[str]) -> tuple[int, float, int]:
    """Lines that a tool prints, and its seconds."""
    environment = os.environ | {"AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": KEY, "AWS_REGION": "us-east-1"}
    environment.pop("AWS_CA_BUNDLE", None)  # rclone refuses one, and the server speaks plain HTTP
    began = time.perf_counter()
    found = subprocess.run(command, check=True, stdout=subprocess.PIPE, env=environment).stdout.count(b"\n")
    return found, time.perf_counter() - began, 1


def report(name: str, rounds: int, run: Callable[[], tuple[int, float, int]]) -> None:
    """The best of some rounds: what else the machine does only ever takes time away."""
    entries, seconds, pieces = min((run() for _ in range(rounds)), key=lambda one: one[1])
    print(f"{name:34}{entries:>10,}{seconds:>9.2f}{entries / seconds:>12,.0f}{pieces:>8}", flush=True)


def files(given: argparse.Namespace) -> None:
    """A file system, flat and deep."""
    for deep in (False, True):
        with tempfile.TemporaryDirectory(dir=given.tmpfs) as folder:
            make_files(Path(folder), given.entries, deep=deep)
            shape = "deep" if deep else "flat"
            make = partial(posix_tree, Path(folder))
            for listers in (1, 2):
                report(f"files {shape}: {listers} listers", given.rounds, partial(listed, make, listers))
            report(f"files {shape}: find", given.rounds, partial(tool, ["find", folder, "-printf", "%s %T@ %p\\n"]))
            if shutil.which("rclone"):
                command = ["rclone", "lsf", "-R", "--format", "pst", folder]
                report(f"files {shape}: rclone lsf", given.rounds, partial(tool, command))


def s3(given: argparse.Namespace) -> None:
    """versitygw over a directory on tmpfs, flat and deep."""
    for deep in (False, True):
        with tempfile.TemporaryDirectory(dir=given.tmpfs) as folder, server(given.versitygw, Path(folder)) as url:
            client = S3Client(Endpoint("us-east-1", url), lambda: Credentials(KEY, KEY))
            client.call("CreateBucket", "PUT", BUCKET, body=b"")
            bucket = next(Path(folder).rglob(BUCKET))
            make_files(bucket, given.entries, deep=deep)
            shape = "deep" if deep else "flat"
            for listers in (1, 2):
                run = partial(listed, partial(s3_tree, url), listers)
                report(f"S3 {shape}: {listers} listers", given.rounds, run)
            if shutil.which("rclone"):
                command = ["rclone", "lsf", "-R", "--fast-list", "--files-only", "--format", "ps", f":s3:{BUCKET}"]
                command += ["--s3-provider", "Other", "--s3-env-auth", "--s3-endpoint", url]
                report(f"S3 {shape}: rclone lsf", given.rounds, partial(tool, command))
            if shutil.which(given.s5cmd):
                command = [given.s5cmd, "--endpoint-url", url, "ls", f"s3://{BUCKET}/*"]
                report(f"S3 {shape}: s5cmd ls", given.rounds, partial(tool, command))


@contextmanager
def _synthetic(entries: int, page: int, latency_ms: float) -> Iterator[str]:
    command = [sys.executable, "-m", "benchmarks.synthetic_s3", "--keys", str(entries)]
    command += ["--page", str(page), "--latency-ms", str(latency_ms)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip()
    finally:
        process.terminate()
        process.wait()


def latency(given: argparse.Namespace) -> None:
    """Many listers of one flat prefix on a server that takes its time for each page."""
    with _synthetic(given.entries, given.page, given.latency_ms) as url:
        for listers in (1, 2, 4, 8, 16, 32):
            run = partial(listed, partial(s3_tree, url), listers)
            report(f"{given.latency_ms:g} ms a page of {given.page}: {listers} listers", 1, run)


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("files", "s3", "latency"))
    parser.add_argument("--entries", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--page", type=int, default=1000)
    parser.add_argument("--latency-ms", type=float, default=20.0)
    parser.add_argument("--versitygw", default="versitygw")
    parser.add_argument("--s5cmd", default="s5cmd")
    parser.add_argument("--tmpfs", default="/dev/shm")
    given = parser.parse_args()
    print(f"{'':34}{'entries':>10}{'seconds':>9}{'entries/s':>12}{'pieces':>8}")
    {"files": files, "s3": s3, "latency": latency}[given.what](given)


if __name__ == "__main__":
    main()
