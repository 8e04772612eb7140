"""What a calibration allows at best, from its own parameters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

MIB = 1 << 20

# The least operations that write a file: made, one WRITE, closed.
BARE = ("create", "write", "close")
# The least that keep what ours promises: the times are the source's, and the file appears whole under its name.
WHOLE = ("create", "write", "setattr", "close", "rename")


@dataclass(frozen=True)
class Bound:
    """The least seconds that a copy can take, and what sets them."""

    seconds: float
    by: str


def bound(
    profile: dict[str, Any], files: Iterable[tuple[str, int]], workers: int, operations: tuple[str, ...] = WHOLE
) -> Bound:
    """The longest of: bytes over the caps, operations over the slots, creations that queue in one directory."""
    sizes: list[int] = []
    directories: Counter[str] = Counter()
    for path, size in files:
        sizes.append(size)
        directories[path.rpartition("/")[0]] += 1
    latency = profile["milliseconds"]
    fixed = sum(latency.get(name, 0.0) for name in operations) * len(sizes) / 1000
    by_size = profile.get("write_milliseconds_per_mib", 0.0) * sum(sizes) / MIB / 1000
    found = [
        Bound(sum(sizes) / MIB / _rate(profile, workers, len(sizes)), "bytes"),
        Bound((fixed + by_size) / (profile["slots"] * workers), "operations in flight"),
        Bound(max(directories.values()) * latency.get("create", 0.0) / 1000, "creations in one directory"),
    ]
    return max(found, key=lambda one: one.seconds)


def _rate(profile: dict[str, Any], workers: int, files: int) -> float:
    """MiB/s at most: of the clients together, of the file system, of the only file."""
    rates = [profile.get("client_mib_per_second", 0) * workers, profile.get("total_mib_per_second", 0)]
    if files == 1:
        rates.append(profile.get("file_mib_per_second", 0))
    return min((rate for rate in rates if rate), default=float("inf"))
