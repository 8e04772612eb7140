"""Digests of a tree that do not depend on the order in which its entries are met.

The digest of an entry is the SHA-256 of its path, kind, size and checksum. The digest of a directory is the sum of
its entries' digests modulo 2**256. So functions add up their parts in any order, and two trees can be compared
directory by directory.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator

from msgspec import Struct

from fanout.model.entry import Entry

_MODULUS = 1 << 256


def entry_digest(entry: Entry, checksum: str) -> int:
    """The digest of an entry whose bytes have this checksum (empty for a directory)."""
    text = "\0".join((entry.path, entry.kind.value, str(entry.size), checksum))
    return int.from_bytes(hashlib.sha256(text.encode("utf-8", "surrogateescape")).digest(), "big")


def directory_of(path: str) -> str:
    """The directory that holds an entry; empty for the root."""
    return path.removesuffix("/").rpartition("/")[0]


class DirectoryDigest(Struct, frozen=True):
    """Sums of one directory's entries at both ends."""

    directory: str
    source: int
    destination: int
    entries: int

    @property
    def differs(self) -> bool:
        """Whether the ends hold different entries here."""
        return self.source != self.destination


class DirectoryDigests:
    """Adds up entries of both ends by directory. Memory grows with the directories that it is given."""

    def __init__(self) -> None:
        self._sums: dict[str, tuple[int, int, int]] = {}

    def add(self, path: str, source: int, destination: int) -> None:
        """Add an entry; 0 for an end that lacks it."""
        self.merge(DirectoryDigest(directory_of(path), source, destination, 1))

    def merge(self, other: DirectoryDigest) -> None:
        """Add what another function saw of a directory."""
        source, destination, entries = self._sums.get(other.directory, (0, 0, 0))
        self._sums[other.directory] = (
            (source + other.source) % _MODULUS,
            (destination + other.destination) % _MODULUS,
            entries + other.entries,
        )

    def directories(self) -> Iterator[DirectoryDigest]:
        """The digest of each directory, in the order of their names."""
        for directory in sorted(self._sums):
            yield DirectoryDigest(directory, *self._sums[directory])


def whole(directories: Iterable[DirectoryDigest]) -> DirectoryDigest:
    """The digest of all directories together."""
    source = destination = entries = 0
    for one in directories:
        source, destination = (source + one.source) % _MODULUS, (destination + one.destination) % _MODULUS
        entries += one.entries
    return DirectoryDigest("", source, destination, entries)


def digest_row(digest: DirectoryDigest) -> list[object]:
    """A directory's digest, as the ledger holds it."""
    return [digest.directory, f"{digest.source:064x}", f"{digest.destination:064x}", digest.entries]


def digest_from_row(row: list[str | int]) -> DirectoryDigest:
    directory, source, destination, entries = row
    return DirectoryDigest(str(directory), int(str(source), 16), int(str(destination), 16), int(entries))
