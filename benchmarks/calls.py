"""The operations that an NFS client asks for a program's calls, which the real client and the simulation are held to.

``tests/nfs/inside/test_calls.py`` counts Linux's client, ``tests/benchmarks/test_simulated_calls.py`` the simulation.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from fanout.adapters.posix.attributes import open_staged, send_written
from fanout.adapters.posix.paths.directories import DIRECTORY_FLAGS

_TIMES = (1_600_000_000_000_000_000,) * 2
_WRITTEN = {"open": 1, "write": 1, "setattr": 1, "close": 1}
# Of each call its operations, in the order in which the calls are made.
ASKED = {
    "make a directory": {"mkdir": 1},
    "open it": {"access": 1, "getattr": 1},
    "open it again": {"getattr": 1},
    "write a file": _WRITTEN,
    "link it": {"access": 1, "link": 1},
    "unlink it": {"remove": 1},
    "write a file that is sent before its times are set": _WRITTEN,
    "link that": {"link": 1},
    "rename it": {"rename": 1},
    "write a file whose mode is changed": _WRITTEN | {"setattr": 2},
    "link that one": {"access": 1, "link": 1},
    "look for a name that is not there": {"lookup": 1},
    "look at a directory that was only made": {"mkdir": 1},
    "remove it": {"remove": 1},
}
# Names that the simulation has, and those of /proc/self/mountstats.
_NAMES = {"CREATE": "mkdir", "OPEN_NOATTR": "open", "create": "open", "unlink": "remove", "rmdir": "remove"}


def operation(name: str) -> str:
    """The table's name for an operation of the client or of the simulation."""
    return _NAMES.get(name, name.lower())


def asked(root: Path, counters: Callable[[], Counter[str]]) -> dict[str, dict[str, int]]:
    """What the calls ask, below a directory of a mount; ``counters`` says what the client asked so far."""
    found: dict[str, dict[str, int]] = {}
    above = os.open(root, DIRECTORY_FLAGS)
    steps = _steps(above)
    for name, call in steps.items():
        before = counters()
        call()
        counted: Counter[str] = Counter()
        for one, number in (counters() - before).items():
            counted[operation(one)] += number
        found[name] = dict(counted)
    os.close(above)
    return found


def _steps(above: int) -> dict[str, Callable[[], object]]:
    """The calls by name; ``above`` is open already."""
    opened: list[int] = []

    def enter() -> None:
        opened.append(os.open("d", DIRECTORY_FLAGS, dir_fd=above))

    def write(name: str, *, sent: bool = False, mode: int | None = None) -> None:
        file, _ = open_staged(opened[0], name, 0o600)
        os.pwrite(file, bytes(4096), 0)
        if sent:
            send_written(file)
        if mode is not None:
            os.fchmod(file, mode)
        os.utime(file, ns=_TIMES)
        os.close(file)

    def link(name: str) -> None:
        os.link(name, f"{name}-linked", src_dir_fd=opened[0], dst_dir_fd=opened[0], follow_symlinks=False)

    def rename() -> None:
        os.rename("sent", "renamed", src_dir_fd=opened[0], dst_dir_fd=opened[0])

    calls = (
        lambda: os.mkdir("d", dir_fd=above),
        enter,
        lambda: os.close(os.open("d", DIRECTORY_FLAGS, dir_fd=above)),
        lambda: write("file"),
        lambda: link("file"),
        lambda: os.unlink("file", dir_fd=opened[0]),
        lambda: write("sent", sent=True),
        lambda: link("sent"),
        rename,
        lambda: write("moded", sent=True, mode=0o640),
        lambda: link("moded"),
        lambda: os.access("none", os.F_OK, dir_fd=opened[0], follow_symlinks=False),
        lambda: os.mkdir("made", dir_fd=opened[0]),
        lambda: os.rmdir("made", dir_fd=opened[0]),
    )
    return dict(zip(ASKED, calls, strict=True))
