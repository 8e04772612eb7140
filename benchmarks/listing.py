"""Listing: entries a second of one function and of several, beside find, rclone lsf and s5cmd ls where they are there.

python -m benchmarks.listing files|s3|latency [--entries 100000] [--listers 1 2 4 8 16] [--server s3lab|versitygw]

A lister is a process with the product's adapter and nothing else; its start is not in the time. Several take the pieces
into which ``Tree.cuts`` divides the whole, one after the other; finding the cuts is in the time. Of another tool its
start is in the time. Each row is written to ``results/listing.json``, where the one of the same name was.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from benchmarks import s3_lab, versitygw
from benchmarks.listers import Found, listed, tool
from benchmarks.s3_peers import RCLONE, S5CMD
from fanout.adapters.aws.credentials import Credentials
from fanout.adapters.aws.endpoint import Endpoint
from fanout.adapters.posix.tree import PosixTree
from fanout.adapters.s3.client.client import S3Client
from fanout.adapters.s3.tree import S3Tree
from fanout.ports.tree import Tree

RESULTS = Path(__file__).parent / "results" / "listing.json"
S3_PAGE = 1000


class Table:
    """Rows that are printed as they come, and kept."""

    def __init__(self, rounds: int, about: dict[str, object]) -> None:
        self._rounds, self._about = rounds, about
        self._base = 0.0
        print(
            f"{'':36}{'entries':>9}{'seconds':>9}{'entries/s':>11}{'CPU s':>8}{'us each':>9}{'pieces':>7}{'times':>9}"
        )

    def row(self, name: str, run: Callable[[], Found], *, is_first: bool = False) -> None:
        """The best of some rounds: what else the machine does only ever takes time away."""
        found = min((run() for _ in range(self._rounds)), key=lambda one: one.seconds)
        rate = found.entries / found.seconds
        self._base = rate if is_first else self._base
        times = round(rate / self._base, 2) if self._base else None
        of_entry = found.cpu_seconds / max(1, found.entries) * 1e6
        print(
            f"{name:36}{found.entries:>9,}{found.seconds:>9.2f}{rate:>11,.0f}{found.cpu_seconds:>8.2f}{of_entry:>9.1f}"
            f"{found.pieces:>7}{times or '':>9}",
            flush=True,
        )
        kept = {"name": name, "entries_per_second": round(rate), "speed_up": times}
        measured = {name: round(value, 3) for name, value in found._asdict().items()}
        _keep(kept | measured | {"rounds": self._rounds} | self._about)


def _keep(row: dict[str, object]) -> None:
    """Write a row where the one of the same name was."""
    before = json.loads(RESULTS.read_text())["rows"] if RESULTS.exists() else []
    rows = [one for one in before if one["name"] != row["name"]] + [row]
    rows.sort(key=lambda one: str(one["name"]))
    RESULTS.write_text(json.dumps({"schema_version": 1, "rows": rows}, indent=1) + "\n")


def posix_tree(root: Path) -> Tree:
    """A tree of files."""
    return PosixTree(root, "", "bench", "bench")


def s3_tree(url: str, bucket: str) -> Tree:
    """A tree of keys."""
    key = versitygw.KEY
    return S3Tree(S3Client(Endpoint("us-east-1", url), lambda: Credentials(key, key)), bucket, "")


def make_files(root: Path, entries: int, *, deep: bool) -> None:
    """Empty files: in one directory, or 20 in each directory two levels down."""
    for number in range(entries):
        folder = root / f"{number // 2000:04d}/{number // 20 % 100:02d}" if deep else root
        if number % 20 == 0:
            folder.mkdir(parents=True, exist_ok=True)
        os.close(os.open(folder / f"file-{number:09d}", os.O_CREAT | os.O_WRONLY, 0o644))


def files(given: argparse.Namespace, table: Table) -> None:
    """A file system, flat and deep."""
    for shape in given.shapes:
        with tempfile.TemporaryDirectory(dir=given.tmpfs) as folder:
            make_files(Path(folder), given.entries, deep=shape == "deep")
            make = partial(posix_tree, Path(folder))
            for listers in given.listers:
                table.row(f"files {shape}: {listers} listers", partial(listed, make, listers), is_first=listers == 1)
            table.row(f"files {shape}: find", partial(tool, ["find", folder, "-printf", "%s %T@ %p\\n"]))
            if rclone := _there(RCLONE, "rclone"):
                command = [rclone, "lsf", "-R", "--files-only", "--format", "pst", folder]
                table.row(f"files {shape}: rclone lsf", partial(tool, command))


@contextmanager
def _filled(given: argparse.Namespace, shape: str) -> Iterator[tuple[str, str]]:
    """A server with the keys of one shape; yields its URL and the bucket."""
    with tempfile.TemporaryDirectory(dir=given.tmpfs) as folder:
        if given.server == "s3lab":
            with s3_lab.running() as lab:
                make_files(Path(folder), given.entries, deep=shape == "deep")
                lab.load(Path(folder), "")
                yield lab.url, s3_lab.DATA_BUCKET
            return
        with versitygw.server(given.versitygw, Path(folder)) as url:
            key = versitygw.KEY
            client = S3Client(Endpoint("us-east-1", url), lambda: Credentials(key, key))
            client.request("CreateBucket", "PUT", versitygw.BUCKET, body=b"").result()
            make_files(next(Path(folder).rglob(versitygw.BUCKET)), given.entries, deep=shape == "deep")
            yield url, versitygw.BUCKET


def s3(given: argparse.Namespace, table: Table) -> None:
    """A bucket on this machine, flat and deep."""
    for shape in given.shapes:
        with _filled(given, shape) as (url, bucket):
            title = f"{given.server} {shape}"
            for listers in given.listers:
                run = partial(listed, partial(s3_tree, url, bucket), listers)
                table.row(f"{title}: {listers} listers", run, is_first=listers == 1)
            if s5cmd := _there(S5CMD, "s5cmd"):
                command = [s5cmd, "--endpoint-url", url, "ls", f"s3://{bucket}/*"]
                table.row(f"{title}: s5cmd ls", partial(tool, command))
            if rclone := _there(RCLONE, "rclone"):
                # The time that S3 lists; rclone's own would be a HEAD for each object.
                command = [
                    rclone,
                    "lsf",
                    "-R",
                    "--fast-list",
                    "--files-only",
                    "--format",
                    "pst",
                    "--use-server-modtime",
                ]
                remote = f":s3,provider=Other,env_auth=true,force_path_style=true,region=us-east-1,endpoint='{url}'"
                command.append(f"{remote}:{bucket}")
                table.row(f"{title}: rclone lsf", partial(tool, command))


def _there(program: str, name: str) -> str | None:
    """The program where it was installed for the benchmarks, or the machine's own."""
    return shutil.which(program) or shutil.which(name)


@contextmanager
def _synthetic(given: argparse.Namespace) -> Iterator[tuple[str, int]]:
    command = [sys.executable, "-m", "benchmarks.synthetic_s3", "--keys", str(given.entries)]
    command += ["--page", str(given.page), "--latency-ms", str(given.latency_ms)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip(), process.pid
    finally:
        process.terminate()
        process.wait()


def latency(given: argparse.Namespace, table: Table) -> None:
    """Many listers of one flat prefix on a server that takes its time for each page."""
    with _synthetic(given) as (url, server):
        for listers in given.listers:
            before = _cpu_seconds(server)
            name = f"{given.latency_ms:g} ms, {given.entries:,} keys by {given.page}: {listers} listers"
            table.row(name, partial(listed, partial(s3_tree, url, versitygw.BUCKET), listers), is_first=listers == 1)
            print(f"{'':36}of the server: {_cpu_seconds(server) - before:.2f} CPU s", flush=True)


def _cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    """Measure, print a table, and keep its rows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("files", "s3", "latency"))
    parser.add_argument("--entries", type=int, default=100_000)
    parser.add_argument(
        "--listers", type=int, nargs="*", default=[1, 2], help="one is what the others are held against"
    )
    parser.add_argument("--shapes", nargs="*", default=["flat", "deep"])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--page", type=int, default=S3_PAGE)
    parser.add_argument("--latency-ms", type=float, default=20.0)
    parser.add_argument("--server", choices=("s3lab", "versitygw"), default="s3lab")
    parser.add_argument("--versitygw", default="versitygw")
    parser.add_argument("--tmpfs", default="/dev/shm")
    given = parser.parse_args()
    command = f"python -m benchmarks.listing {' '.join(sys.argv[1:])}"
    about = {"command": command, "load_before": round(os.getloadavg()[0], 1)}
    {"files": files, "s3": s3, "latency": latency}[given.what](given, Table(given.rounds, about))


if __name__ == "__main__":
    main()
