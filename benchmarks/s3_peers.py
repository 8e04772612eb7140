"""The peers of the S3 benchmark: how each copies a tree to or from S3. scripts/setup-bench-s3.sh installs them."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

TOOLS = Path(".fanout/bench/s3peers")
S5CMD = str(next(iter(TOOLS.glob("lib/python*/site-packages/s5cmd/bin/s5cmd")), TOOLS / "bin/s5cmd"))
RCLONE, _AWS = str(TOOLS / "bin/rclone"), str(TOOLS / "bin/aws")
# Preallocation is off: NFS 4.1, which EFS speaks, has none, and on tmpfs it takes pages before the host of a virtual
# machine has taken them back.
_RCLONE_FLAGS = [
    *("-q", "--config", "/dev/null"),
    *("--s3-no-check-bucket", "--use-server-modtime", "--s3-disable-checksum", "--fast-list"),
    *("--s3-upload-concurrency", "8", "--s3-chunk-size", "8M", "--multi-thread-streams", "8", "--local-no-preallocate"),
]


@dataclass(frozen=True)
class Peer:
    """A tool; ``share`` says which part of many small objects it copies, because it takes that long."""

    name: str
    program: str
    command: Callable[[str, str, str], list[str]]  # source, destination, the server's URL
    version: tuple[str, ...]
    share: int = 1

    @property
    def is_installed(self) -> bool:
        """Whether the program is there."""
        return shutil.which(self.program) is not None

    def version_line(self) -> str:
        """The first line that it says of itself."""
        found = subprocess.run([self.program, *self.version], capture_output=True, text=True, check=False)
        return found.stdout.partition("\n")[0].strip() or "unknown"


def _s5cmd(workers: int, word: str = "cp") -> Callable[[str, str, str], list[str]]:
    def command(source: str, destination: str, url: str) -> list[str]:
        everything = f"{source}*" if source.startswith("s3://") else source
        head = [S5CMD, "--log", "error", "--endpoint-url", url, "--numworkers", str(workers)]
        return [*head, word, "--concurrency", "16", "--part-size", "8", everything, destination]

    return command


def _rclone(transfers: int, *words: str) -> Callable[[str, str, str], list[str]]:
    def command(source: str, destination: str, url: str) -> list[str]:
        remote = f":s3,provider=Other,env_auth=true,force_path_style=true,region=us-east-1,endpoint='{url}':"
        ends = [end.replace("s3://", remote, 1) for end in (source, destination)]
        return [RCLONE, *words, *_RCLONE_FLAGS, "--transfers", str(transfers), "--checkers", str(transfers), *ends]

    return command


def _aws(source: str, destination: str, url: str) -> list[str]:
    return [_AWS, "--endpoint-url", url, "s3", "cp", "--recursive", "--only-show-errors", source, destination]


PEERS = [
    Peer("s5cmd-32", S5CMD, _s5cmd(32), ("version",)),
    Peer("s5cmd-256", S5CMD, _s5cmd(256), ("version",)),
    Peer("rclone-32", RCLONE, _rclone(32, "copy", "--no-check-dest"), ("version",)),
    Peer("rclone-128", RCLONE, _rclone(128, "copy", "--no-check-dest"), ("version",)),
    Peer("aws s3 cp", _AWS, _aws, ("--version",), share=10),
]
# What a tool is told for a tree that it may find as it should be.
SYNCING = [
    Peer("s5cmd-256", S5CMD, _s5cmd(256, "sync"), ("version",)),
    Peer("rclone-128", RCLONE, _rclone(128, "sync"), ("version",)),
]
