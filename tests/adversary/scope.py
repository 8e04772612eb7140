"""What is known of a run, and what its request is about."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any

from fanout.request.filtering.globs import compile_globs
from tests.adversary.result import Deletion, Result
from tests.adversary.script import INSIDE_S3, MOUNT_TO_S3, S3_TO_MOUNT, TWO_MOUNTS, Script
from tests.adversary.trees import Snapshot, Version
from tests.adversary.views import escaped

# Why an entry may fail although nothing is in its way but itself.
OF_ITS_OWN = frozenset(
    {
        "empty name component",
        "name component . or ..",
        "absolute name",
        "NUL in name",
        "name component over 255 bytes",
        "name reserved for the run's own files",
        "over 1,000 directories deep",
        "key over 1,024 bytes",
        "name is not UTF-8",
        "key is a file and also a directory",
        "empty object whose key is also a directory",
        "destination has another kind of entry",
        "symlink in the destination's path",
        "symlink that leads nowhere",
        "symlink that leads back to a directory above it",
        "symlink that leads out of the source",
        "symlink kept as an object cannot be followed",
        "symlink kept as an object holds no target",
        "in the manifest but not at the source",
        "row of the manifest cannot be read",
        "the file's first name was not copied",
        "directory is not empty",
        "not at the source",
        "not verified",
        "missing at the destination",
        "size or kind differs",
        "part of a published tree",
        "place lies in a published tree",
        "attribute of the source cannot be read",
        "destination cannot hold all of it",
        "source object is archived",
    }
)
# Errors that a run without a fault may end with.
REFUSED_BY_LIMITS = frozenset({"FinishRefused", "BudgetRefused"})
REFUSED = frozenset({"DeleteRefused", "InvalidRequest", "OutOfBudget"}) | REFUSED_BY_LIMITS


@dataclass(frozen=True)
class Finding:
    """Something that must not be; ``kind`` is the class of it."""

    kind: str
    text: str


@dataclass
class Record:
    """What is known of one run when it has ended.

    ``window`` and ``story`` are the source, under the names that it has at the destination, during the run and from the
    script's beginning. ``raw`` is the source at the end, ``vouched`` what the run that left the first index left
    alone, ``foreign`` what others than runs wrote there since. ``kept`` is what the run kept in ``backup_to``,
    ``denied`` what an earlier run was not allowed to read.
    """

    run: str
    options: dict[str, Any]
    before: Snapshot
    after: Snapshot
    window: list[Snapshot]
    result: Result
    staged: list[str]
    touched: set[str] = field(default_factory=set)
    manifest: frozenset[str] | None = None
    quiet: bool = False
    resumed: bool = False
    nested: bool = False
    told: set[str] = field(default_factory=set)
    story: list[Snapshot] = field(default_factory=list)
    indexed: bool = False
    raw: Snapshot = field(default_factory=dict)
    vouched: Snapshot = field(default_factory=dict)
    foreign: Snapshot = field(default_factory=dict)
    listed: tuple[int, int] = (0, 0)
    deletions: list[Deletion] = field(default_factory=list)
    writes: list[str] = field(default_factory=list)
    kept: Snapshot = field(default_factory=dict)
    denied: frozenset[str] = frozenset()

    @property
    def mode(self) -> str:
        """What was asked for."""
        return str(self.options.get("mode", "copy"))


class Scope:
    """What a request is about, found out without the product's filters but for the language of its globs."""

    def __init__(self, script: Script, record: Record) -> None:
        options = record.options
        self._direction = script.direction
        # A mount of S3 Files shows a bucket, whose keys its names become.
        self._has_keys = script.direction == MOUNT_TO_S3 or (script.s3_files and script.direction == TWO_MOUNTS)
        self.is_inside_s3 = script.direction == INSIDE_S3
        self._options = options
        self._manifest = record.manifest
        self._exclude = compile_globs(options["exclude"]) if "exclude" in options else None
        self._include = compile_globs(options["include"]) if "include" in options else None
        self._most = options.get("max_size")
        self.escapes = options.get("on_conflict") == "escape"
        self._names = {escaped(path, record.raw, script.direction): path for path in record.raw} if self.escapes else {}

    def source_of(self, path: str) -> str:
        """The name at the source of what stands under a path at the destination."""
        return self._names.get(path, path)

    @property
    def is_all(self) -> bool:
        """Whether nothing is left out."""
        return not (self._exclude or self._include or self._most or self._manifest is not None)

    def excludes(self, path: str) -> bool:
        """Whether globs leave a path out."""
        path = self.source_of(path)
        out = self._exclude is not None and self._exclude.match(path) is not None
        return out or (self._include is not None and not self._include.match(path))

    def holds(self, path: str, version: Version, tree: Snapshot) -> bool:
        """Whether an entry of the source must be at the destination after a run that says so."""
        if version.archived and self._options.get("archived") == "skip":
            return False
        if version.kind == "special" or self.excludes(path):
            return False
        if self._manifest is not None and self.source_of(path) not in self._manifest:
            return False
        if self._most and version.kind == "file" and len(version.data) > self._most:
            return False
        if version.kind == "directory" and not self.is_all:
            return False
        if version.kind == "symlink" and self._options.get("symlinks", "keep") != "keep":
            return False
        skips = self._options.get("on_conflict") == "skip"
        return not (skips and not self.can_be_held(path, version, tree))

    def can_be_held(self, path: str, version: Version, tree: Snapshot) -> bool:
        """Whether the destination has names like this one."""
        raw = os.fsencode(path)
        if self._direction == S3_TO_MOUNT:
            names = path.rstrip("/").split("/") if version.kind == "directory" else path.split("/")
            if any(name in ("", ".", "..") or len(os.fsencode(name)) > 255 or "\0" in name for name in names):
                return False
            # A directory is in the way of a file of its own name, and the other way round.
            files = len(names) + (version.kind == "directory")
            above = ["/".join(names[:count]) for count in range(1, files)]
            return not any(one in tree for one in above) and not any(other.startswith(f"{path}/") for other in tree)
        if self._has_keys:
            try:
                return len(raw.decode()) > 0 and len(raw) + 9 <= 1024
            except UnicodeDecodeError:
                return False
        return True
