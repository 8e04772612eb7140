"""The peers: how each copies the tree at ``src`` into ``dst``, and which version it is."""

from __future__ import annotations

import shlex
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

JOBS = 16


@dataclass(frozen=True)
class Peer:
    """A tool as a shell command; ``needs`` are the programs that it takes."""

    name: str
    needs: tuple[str, ...]
    command: Callable[[str, str, str], str]  # source, destination, scratch directory
    version: str

    @property
    def missing(self) -> list[str]:
        """The programs that are not installed."""
        return [program for program in self.needs if shutil.which(program) is None]


def _directories(src: str, dst: str) -> str:
    """Made before: jobs that make the same directory at the same time fail."""
    return f"cd {src} && find . -type d -print0 | (cd {dst} && xargs -0 mkdir -p)"


def _gnu_parallel(src: str, dst: str, _: str) -> str:
    copy = f"find . -type f -print0 | parallel -0 --will-cite -j {JOBS} cp {{}} {dst}/{{}}"
    return f"{_directories(src, dst)} && {copy}"


def _fpart_cpio(src: str, dst: str, scratch: str) -> str:
    parts = f"fpart -n {JOBS} -o {scratch}/part . >/dev/null 2>&1"
    copy = f"ls {scratch}/part.* | parallel --will-cite -j {JOBS} 'cpio -pm --quiet {dst} < {{}}'"
    return f"{_directories(src, dst)} && {parts} && {copy}"


def _fpsync(src: str, dst: str, scratch: str) -> str:
    count = f"$(( ($(find {src} -type f | wc -l) + {JOBS - 1}) / {JOBS} ))"
    return f"fpsync -n {JOBS} -f {count} -t {scratch}/fpsync -d {scratch} {src}/ {dst}/ >/dev/null 2>&1"


PEERS = [
    Peer("cp", ("cp",), lambda src, dst, _: f"cp -r {src}/. {dst}/", "cp --version"),
    Peer("rsync", ("rsync",), lambda src, dst, _: f"rsync -r {src}/ {dst}/", "rsync --version"),
    Peer("fpsync", ("fpsync", "rsync"), _fpsync, "fpart -V"),
    Peer("cp+parallel", ("parallel", "cp"), _gnu_parallel, "parallel --version"),
    Peer("fpart+cpio+parallel", ("fpart", "cpio", "parallel"), _fpart_cpio, "cpio --version"),
    Peer(
        "rclone-16",
        ("rclone",),
        lambda src, dst, _: f"rclone copy -q --config /dev/null --transfers {JOBS} {src} {dst}",
        "rclone version",
    ),
    Peer(
        "rclone-64",
        ("rclone",),
        lambda src, dst, _: f"rclone copy -q --config /dev/null --transfers 64 --checkers 64 {src} {dst}",
        "rclone version",
    ),
    Peer(
        "mcp-16",
        ("mcp",),
        lambda src, dst, _: f"mcp -r --threads={JOBS} {src}/. {dst}/",
        "mcp --version",
    ),
]


def version_of(command: str) -> str:
    """The first line that a tool says of itself, or that it is not installed."""
    program = shlex.split(command)[0]
    if shutil.which(program) is None:
        return "not installed"
    found = subprocess.run(shlex.split(command), capture_output=True, text=True, check=False)
    lines = (found.stdout or found.stderr).splitlines()
    return lines[0].strip() if lines else "unknown"


def shell_command(peer: Peer, source: Path, destination: Path, scratch: Path) -> list[str]:
    """The command line that runs a peer."""
    return ["bash", "-c", peer.command(str(source), str(destination), str(scratch))]
