"""Finds what of a tree S3 Files would not show, refuse, change or make dearer. Pure: entries are given.

Source of the rules: Amazon S3 User Guide, "Unsupported features, limits, and quotas" and "Understanding how
synchronization works" of S3 Files, read in November 2026. Source of the prices: us-east-1, November 2026.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping
from enum import Enum, StrEnum
from typing import Any, NamedTuple

from fanout.facts import aws
from fanout.facts.units import GIB, KIB
from fanout.model.entry import Kind
from fanout.model.path_rules import FilesAbove

# Dollars a GiB and month: EFS Standard, S3 Standard, and what S3 Files holds of a file in its fast storage.
EFS_GIB_MONTH, S3_GIB_MONTH, FAST_GIB_MONTH = 0.30, 0.023, 0.30
# Smaller files are taken into the fast storage when they, or their directory, are first read.
FAST_BELOW_BYTES = 128 * KIB
# Chosen: a rename of a directory with so many entries below it is worth a line.
MANY_BELOW = 10_000
# Chosen: directories of the first two levels are counted, and this many of them at most.
LEVELS, DIRECTORIES_COUNTED, DIRECTORIES_TOLD = 2, 100_000, 5


class Effect(StrEnum):
    """How a finding shows."""

    INVISIBLE = "invisible"
    REJECTED = "rejected"
    CHANGED = "changed"
    COSTLIER = "costlier"


class AuditFinding(Enum):
    """A finding: its effect, what it is, and what to do about it."""

    EMPTY_NAME = (Effect.INVISIBLE, "keys with an empty part: // or a / at the beginning", "rename them")
    DOT_NAME = (Effect.INVISIBLE, "keys with a part that is . or ..", "rename them")
    NUL = (Effect.INVISIBLE, "keys with a NUL", "rename them")
    LONG_NAME = (Effect.INVISIBLE, "keys with a part of over 255 bytes", "shorten the names")
    ARCHIVED = (Effect.INVISIBLE, "objects in an archive: they cannot be read", "restore them, or leave them out")
    ARCHIVED_TIER = (
        Effect.INVISIBLE,
        "objects in an archive tier of Intelligent-Tiering: they cannot be read",
        "restore them, or leave them out",
    )
    LONG_KEY = (
        Effect.REJECTED,
        "paths of over 1,024 bytes with the prefix",
        "shorten them, or the prefix",
    )
    NOT_UTF8 = (Effect.REJECTED, "names that are not UTF-8", "rename them")
    SPECIAL = (Effect.REJECTED, "sockets, devices and pipes", "nothing, if a program makes them anew")
    LONG_TARGET = (Effect.REJECTED, "symlinks with a target of over 4,080 bytes", "shorten the targets")
    FILE_AND_DIRECTORY = (
        Effect.CHANGED,
        "objects whose key is a directory of others too (a and a/b)",
        "rename them; a file system cannot hold both",
    )
    HARD_LINK = (
        Effect.CHANGED,
        "further names of files with several: S3 Files has no hard links, so each becomes a file of its own",
        "make symlinks of them, or reckon with their bytes",
    )
    USER_METADATA = (
        Effect.CHANGED,
        "objects with metadata of their own, which a change through the file system loses",
        "keep it elsewhere",
    )
    NO_POSIX = (
        Effect.CHANGED,
        "objects without POSIX metadata: root's, with mode 0644",
        "give them attributes by a transfer, or by chown",
    )
    SMALL = (
        Effect.COSTLIER,
        f"files under {FAST_BELOW_BYTES // KIB} KiB, which the fast storage holds while they are used",
        "set a smaller import size, or pack them",
    )
    RENAME = (
        Effect.COSTLIER,
        f"directories with {MANY_BELOW:,} entries and more below: a rename copies and deletes each object",
        "do not rename them",
    )

    def __init__(self, effect: Effect, words: str, remedy: str) -> None:
        self.effect, self.words, self.remedy = effect, words, remedy


# Only the objects that were asked one by one can show these.
SAMPLED = frozenset({AuditFinding.USER_METADATA, AuditFinding.NO_POSIX, AuditFinding.ARCHIVED_TIER})
# What a listing is asked for besides what it always says.
LISTED_TOO = ("RestoreStatus",)
# Storage classes whose objects are to be restored before they can be read.
_ARCHIVES = ("GLACIER", "DEEP_ARCHIVE")
# Metadata that describes a POSIX file; all other keys of x-amz-meta-* are somebody's own.
_POSIX_KEYS = frozenset({"file-owner", "file-group", "file-permissions", "file-mtime", "file-atime", "user-agent"})


class Audited(NamedTuple):
    """An entry of the audited tree. ``is_further_name`` tells that another name of the same file was seen before."""

    path: str
    kind: Kind = Kind.FILE
    size: int = 0
    is_archived: bool = False
    is_further_name: bool = False


def of_listed(path: str, listed: Mapping[str, Any]) -> Audited:
    """An object as a listing shows it."""
    is_marker = path.endswith("/") and not listed["Size"]
    restored = listed.get("RestoreStatus", {})
    is_readable = bool(restored) and not restored.get("IsRestoreInProgress", False)
    is_archived = listed.get("StorageClass") in _ARCHIVES and not is_readable
    return Audited(path, Kind.DIRECTORY if is_marker else Kind.FILE, listed["Size"], is_archived)


def of_head(found: Mapping[str, Any]) -> Iterator[AuditFinding]:
    """The findings of an object that was asked for its metadata."""
    if found["Metadata"].keys() - _POSIX_KEYS:
        yield AuditFinding.USER_METADATA
    if "file-permissions" not in found["Metadata"]:
        yield AuditFinding.NO_POSIX
    if found.get("ArchiveStatus"):  # of Intelligent-Tiering; no listing tells it
        yield AuditFinding.ARCHIVED_TIER


class FindingTally:
    """How often something was found: entries, their bytes, and the first examples."""

    def __init__(self, examples: int) -> None:
        self._most = examples
        self.entries, self.bytes = 0, 0
        self.examples: list[str] = []

    def add(self, path: str, size: int) -> None:
        """Count one."""
        self.entries, self.bytes = self.entries + 1, self.bytes + size
        if len(self.examples) < self._most:
            self.examples.append(path)


class Audit:
    """Takes the entries of a tree, in the order of their paths where they are keys; memory does not grow with them.

    ``prefix_bytes`` is the length of the prefix under which they are to lie.
    """

    def __init__(self, *, is_keyed: bool, prefix_bytes: int = 0, examples: int = 5) -> None:
        self._is_keyed, self._prefix_bytes, self._examples = is_keyed, prefix_bytes, examples
        self._found: dict[AuditFinding, FindingTally] = {}
        self._above = FilesAbove()
        self._below: dict[str, int] = {}
        self.entries, self.bytes, self._small_bytes, self.sampled = 0, 0, 0, 0

    def add(self, seen: Audited) -> None:
        """Look at an entry."""
        self.entries, self.bytes = self.entries + 1, self.bytes + seen.size
        for finding in _of_key(seen, self._above) if self._is_keyed else _of_file(seen, self._prefix_bytes):
            self.count(finding, seen.path, seen.size)
        if seen.kind is Kind.FILE and seen.size < FAST_BELOW_BYTES:
            self._small_bytes += seen.size
            self.count(AuditFinding.SMALL, seen.path, seen.size)
        self._count_directories(seen.path)

    def count(self, finding: AuditFinding, path: str, size: int) -> None:
        """Count a finding of another kind of look."""
        self._found.setdefault(finding, FindingTally(self._examples)).add(path, size)

    def _count_directories(self, path: str) -> None:
        end = -1
        for _ in range(LEVELS):
            end = path.find("/", end + 1)
            if end < 0 or end == len(path) - 1:
                return
            directory = path[: end + 1]
            if directory in self._below or len(self._below) < DIRECTORIES_COUNTED:
                self._below[directory] = self._below.get(directory, 0) + 1

    def document(self) -> dict[str, Any]:
        """All of it as JSON values: sizes in bytes, prices in dollars a month."""
        gib = self.bytes / GIB
        return {
            "entries": self.entries,
            "bytes": self.bytes,
            "findings": [_row(finding, tally) for finding, tally in self._in_order()],
            "sampled_objects": self.sampled,
            "dollars_a_month": {
                "efs_standard": round(gib * EFS_GIB_MONTH, 2),
                "s3_standard": round(gib * S3_GIB_MONTH, 2),
                "s3_files_all_small_in_use": round(gib * S3_GIB_MONTH + self._small_bytes / GIB * FAST_GIB_MONTH, 2),
            },
        }

    def _in_order(self) -> Iterator[tuple[AuditFinding, FindingTally]]:
        many = [(below, directory) for directory, below in self._below.items() if below >= MANY_BELOW]
        found = dict(self._found)
        if many:
            found[AuditFinding.RENAME] = tally = FindingTally(DIRECTORIES_TOLD)
            tally.entries = len(many)
            tally.examples = [
                f"{directory} ({below:,} entries)" for below, directory in heapq.nlargest(DIRECTORIES_TOLD, many)
            ]
        return ((finding, found[finding]) for finding in AuditFinding if finding in found)


def _row(finding: AuditFinding, tally: FindingTally) -> dict[str, Any]:
    return {
        "finding": finding.name.lower(),
        "effect": finding.effect.value,
        "of_sample": finding in SAMPLED,
        "words": finding.words,
        "remedy": finding.remedy,
        "entries": tally.entries,
        "bytes": tally.bytes,
        "examples": tally.examples,
    }


def _of_key(seen: Audited, above: FilesAbove) -> Iterator[AuditFinding]:
    """The findings of an object; ``above`` are the objects seen before it."""
    parts = seen.path.removesuffix("/").split("/")
    if "" in parts:
        yield AuditFinding.EMPTY_NAME
    if "." in parts or ".." in parts:
        yield AuditFinding.DOT_NAME
    if "\0" in seen.path:
        yield AuditFinding.NUL
    if any(len(part.encode(errors="surrogateescape")) > aws.NAME_BYTES for part in parts):
        yield AuditFinding.LONG_NAME
    if seen.is_archived:
        yield AuditFinding.ARCHIVED
    if above.parents(seen.path):
        yield AuditFinding.FILE_AND_DIRECTORY
    if not seen.path.endswith("/"):
        above.add(seen.path)


def _of_file(seen: Audited, prefix_bytes: int) -> Iterator[AuditFinding]:
    """The findings of an entry of a file system."""
    try:
        length = len(seen.path.encode())
    except UnicodeEncodeError:
        yield AuditFinding.NOT_UTF8
    else:
        if length + prefix_bytes > aws.KEY_BYTES:
            yield AuditFinding.LONG_KEY
    if seen.kind is Kind.SPECIAL:
        yield AuditFinding.SPECIAL
    if seen.kind is Kind.SYMLINK and seen.size > aws.SYMLINK_TARGET_BYTES:
        yield AuditFinding.LONG_TARGET
    if seen.is_further_name:
        yield AuditFinding.HARD_LINK
