"""A tree with all that finishing is for, and what of it differs at the other end."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fanout.facts import tuning

MODES = (0o755, 0o700, 0o500, 0o555, 0o750, 0o400, 0o1777)
_BORN_NS = 10**18


def divided(patch: pytest.MonkeyPatch) -> None:
    """Every tree is large: shards of a few directories each, noted after every file."""
    patch.setattr(tuning, "FINISH_ALONE_SECONDS", 0.01)
    patch.setattr(tuning, "SHARD_SECONDS_MIN", 0.004)
    patch.setattr(tuning, "FINISH_SECONDS", 0.004)
    patch.setattr(tuning, "CHECKPOINT_SECONDS", 0.0)
    patch.setattr(tuning, "SHARD_ENTRIES", 12)


def filled_tree(root: Path, directories: int = 40) -> None:
    """Directories with modes of every kind, three levels of them, each with a file of two names."""
    made = []
    for number in range(directories):
        above = root / f"d{number}"
        for path in (above, above / "e", above / "e" / "f"):
            path.mkdir(parents=True)
            made.append(path)
        (above / "e/f/file").write_text(f"content {number}")
        os.link(above / "e/f/file", above / f"e/name{number}")
    for number, path in reversed(list(enumerate(made))):
        os.utime(path, ns=(_BORN_NS, _BORN_NS + number))
    for number, path in reversed(list(enumerate(made))):
        path.chmod(MODES[number % len(MODES)] if path.name != "e" else MODES[number % 2] | 0o100)
        if not os.access(path, os.R_OK | os.X_OK) and os.geteuid():
            path.chmod(0o500)


def difference(mount: Path) -> list[str]:
    """Paths below ``in`` and ``out`` that are not alike in mode, mtime, links or content."""
    found = []
    names: dict[str, set[tuple[int, int]]] = {}
    for above, directories, files in os.walk(mount / "in"):
        for name in (*directories, *files):
            path = Path(above, name)
            there = mount / "out" / path.relative_to(mount / "in")
            seen = [(one.stat().st_mode, one.stat().st_mtime_ns, one.stat().st_nlink) for one in (path, there)]
            if seen[0] != seen[1] or (path.is_file() and path.read_bytes() != there.read_bytes()):
                found.append(f"{there}: {seen}")
            if path.is_file():
                names.setdefault(path.read_text(), set()).add((path.stat().st_ino, there.stat().st_ino))
    found += [content for content, inodes in names.items() if len(inodes) != 1]
    return found + [str(path) for path in (mount / "out").glob(".fanout*")]
