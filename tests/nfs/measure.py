"""python -m tests.nfs.measure FILES: in the guest, the operations a file of a copy as a function does it, and of cp.

FILES files of 4 KiB in 20 directories, from memory to the mount of one client.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

from benchmarks.engine import copy_tree
from tests.nfs.inside.mounts import MOUNTS, counting

DIRECTORIES = 20


def main(files: int) -> None:
    """Print a row for each tool."""
    work = Path(tempfile.mkdtemp(dir=MOUNTS))
    source, scratch = work / "source", work / "scratch"
    for number in range(files):
        path = source / f"d{number % DIRECTORIES}/f{number}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(os.urandom(4096))
    scratch.mkdir()
    there = Path(tempfile.mkdtemp(dir=MOUNTS / "a"))
    (there / "fanout").mkdir()
    _count("fanout", files, lambda: copy_tree(source, [there / "fanout"], scratch))
    for option in ("-r", "-a"):
        command = ["cp", option, source, there / f"cp{option}"]
        _count(f"cp {option}", files, partial(subprocess.run, command, check=True))


def _count(tool: str, files: int, copy: Callable[[], object]) -> None:
    with counting() as counted:
        copy()
    each = ", ".join(f"{name} {number / files:.2f}" for name, number in counted.most_common() if number)
    print(f"{tool}: {counted.total() / files:.2f} a file: {each}", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]))
