"""python -m tests.nfs.measure FILES [TOOL...]: in the guest, the operations a file of a copy as a function does it.

Then of the tools that are named, if the machine has them. FILES files of 4 KiB in 20 directories, from memory to the
mount of one client.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

from benchmarks.engine import copy_tree
from tests.nfs.inside.mounts import MOUNTS, counting

DIRECTORIES = 20
TOOLS = {
    "cp -r": "cp -r {source} {there}",
    "cp -a": "cp -a {source} {there}",
    "rsync": "rsync -a {source} {there}",
    "cpio": "cd {source} && mkdir {there} && find . | cpio -pdm --quiet {there}",
    "rclone": "rclone copy --transfers 32 --local-no-check-updated {source} {there}",
}


def main(files: int, tools: list[str]) -> None:
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
    for tool in tools:
        if shutil.which(tool.partition(" ")[0]) is None:
            print(f"{tool}: not on this machine")
            continue
        command = TOOLS[tool].format(source=source, there=there / tool.replace(" ", ""))
        _count(tool, files, partial(subprocess.run, command, shell=True, check=True))


def _count(tool: str, files: int, copy: Callable[[], object]) -> None:
    with counting() as counted:
        copy()
    each = ", ".join(f"{name} {number / files:.2f}" for name, number in counted.most_common() if number)
    print(f"{tool}: {counted.total() / files:.2f} a file: {each}", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
