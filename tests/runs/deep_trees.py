"""Trees of many levels, also of paths that are longer than the kernel takes (PATH_MAX)."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
TIME_NS = 10**18


@contextmanager
def down(root: Path, names: list[str], *, make: bool = False) -> Iterator[list[int]]:
    """The descriptor of a directory far below ``root``, the only one in the list."""
    here = os.open(root, FLAGS)
    try:
        for name in names:
            if make:
                os.mkdir(name, dir_fd=here)
            below = os.open(name, FLAGS, dir_fd=here)
            os.close(here)
            here = below
        yield [here]
    finally:
        os.close(here)


def write(directory: int, name: str, text: str) -> None:
    """A file in an open directory."""
    with os.fdopen(os.open(name, os.O_WRONLY | os.O_CREAT, 0o644, dir_fd=directory), "w") as file:
        file.write(text)


def chain(levels: int, length: int) -> list[str]:
    """Names for so many levels, each of so many letters."""
    return [f"{number:04d}".ljust(length, "d") for number in range(levels)]


def made(root: Path, names: list[str], *files: str) -> Path:
    """A directory with one directory in the other, and files in the last one."""
    root.mkdir(parents=True, exist_ok=True)
    with down(root, names, make=True) as [here]:
        for name in files:
            write(here, name, f"content of {name}")
    return root


def held(root: Path) -> dict[str, tuple[int, int]]:
    """Mode and mtime of everything below a directory, by path; 0 for the mtime of what is no directory."""
    found: dict[str, tuple[int, int]] = {}
    for base, directories, files, here in os.fwalk(root):
        below = base.removeprefix(str(root)).lstrip("/")
        for name in [*directories, *files]:
            seen = os.stat(name, dir_fd=here, follow_symlinks=False)
            found[f"{below}/{name}".lstrip("/")] = (seen.st_mode, seen.st_mtime_ns)
    return found
