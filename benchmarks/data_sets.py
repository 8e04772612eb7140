"""The data sets: made from a seed on tmpfs, at full size or scaled down."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

MIB = 1 << 20


@dataclass(frozen=True)
class DataSet:
    """Files by path and size. ``full`` and ``short`` are the numbers of files (of MiB, for the big one)."""

    name: str
    what: str
    full: int
    short: int

    def files(self, count: int) -> Iterator[tuple[str, int]]:
        """The files of the set at that scale."""
        return _SHAPES[self.name](count)


def _megabytes(count: int) -> Iterator[tuple[str, int]]:
    return ((f"d{number % 50:02d}/file{number:05d}", 1_000_000) for number in range(count))


def _ten_megabytes(count: int) -> Iterator[tuple[str, int]]:
    return ((f"d{number % 50:02d}/file{number:05d}", 10_000_000) for number in range(count))


def _nested(count: int) -> Iterator[tuple[str, int]]:
    return ((f"a{n % 8}/b{n // 8 % 8}/c{n // 64 % 4}/file{n:05d}", 4096) for n in range(count))


def _big(mebibytes: int) -> Iterator[tuple[str, int]]:
    yield "big.bin", mebibytes * MIB


def _skewed(count: int) -> Iterator[tuple[str, int]]:
    """Like /usr: most files small, most bytes in few; a few directories hold most files."""
    draw = random.Random(7)
    for number in range(count):
        size = min(int(draw.lognormvariate(8.6, 2.2)), 60 * MIB)
        directory = int(draw.paretovariate(0.7)) % 240
        yield f"usr/{directory % 12:02d}/{directory:03d}/file{number:05d}", size


def _one_directory(count: int) -> Iterator[tuple[str, int]]:
    return ((f"all/file{number:05d}", 4096) for number in range(count))


def _many_directories(count: int) -> Iterator[tuple[str, int]]:
    return ((f"d{number % 32:02d}/file{number:05d}", 4096) for number in range(count))


_SHAPES = {
    "megabyte": _megabytes,
    "ten-megabytes": _ten_megabytes,
    "small": _nested,
    "big": _big,
    "skewed": _skewed,
    "one-directory": _one_directory,
    "32-directories": _many_directories,
}

DATA_SETS = [
    DataSet("megabyte", "files of 1 MB over 50 directories", 5_000, 500),
    DataSet("ten-megabytes", "files of 10 MB over 50 directories", 500, 50),
    DataSet("small", "files of 4 KiB over 256 directories, three deep", 20_000, 3_000),
    DataSet("big", "MiB in one file", 4_096, 1_024),
    DataSet("skewed", "files like /usr: few hold most bytes", 5_300, 1_500),
    DataSet("one-directory", "files of 4 KiB in one directory", 10_000, 1_500),
    DataSet("32-directories", "files of 4 KiB over 32 directories", 10_000, 1_500),
]


def make(data_set: DataSet, count: int, root: Path) -> tuple[int, int]:
    """Write the set below ``root``; returns its number of files and of bytes."""
    filler = random.Random(1).randbytes(8 * MIB)
    files, total = 0, 0
    for path, size in data_set.files(count):
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("wb") as out:
            left, start = size, files * 4_097 % (4 * MIB)
            while left:
                left -= out.write(filler[start : start + min(left, 4 * MIB)])
        files, total = files + 1, total + size
    return files, total
