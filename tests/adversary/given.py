"""The source under the attributes that a request gives (docs/understand/attributes.md)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests.adversary.trees import Snapshot, Version

# The owner that no entry has: chown(2) leaves the owner where it is given this one.
NOBODY = 2**32 - 1


def dressed(tree: Snapshot, given: dict[str, Any]) -> Snapshot:
    """The tree with the attributes that a request gives."""
    return {path: _dressed(version, given) for path, version in tree.items()}


def _dressed(version: Version, given: dict[str, Any]) -> Version:
    override = given.get("override", False)

    def one(name: str, known: int | None) -> int | None:
        known = None if known == NOBODY else known
        return given[name] if name in given and (override or known is None) else known

    uid, gid = one("uid", version.uid), one("gid", version.gid)
    owned = (uid, gid) == tuple(None if known == NOBODY else known for known in (version.uid, version.gid))
    mode, mtime_ns = version.mode, version.mtime_ns
    bits = given.get("directory_mode" if version.kind == "directory" else "file_mode")
    if version.kind != "symlink":
        if bits and (override or mode is None):
            mode = int(bits, 8)
        elif mode is not None and version.kind == "file" and not owned:
            mode &= ~0o6000
    if "mtime" in given and (override or mtime_ns is None):
        mtime_ns = None if given["mtime"] == "now" else version.changed_ns
    return replace(version, uid=uid, gid=gid, mode=mode, mtime_ns=mtime_ns)


def bound(tree: Snapshot, given: dict[str, Any]) -> Snapshot:
    """What a stack without parameters of its own lets the files of a mount have of objects."""
    return {path: _bound(version, bool(given.get("set_ids"))) for path, version in tree.items()}


def _bound(version: Version, set_ids: bool) -> Version:
    mode = version.mode
    if version.kind != "file" or mode is None or not mode & 0o6000:
        return version
    roots = (mode & 0o4000 and version.uid == 0) or (mode & 0o2000 and version.gid == 0)
    return version if set_ids and not roots else replace(version, mode=mode & ~0o6000)


def without_set_ids(tree: Snapshot) -> Snapshot:
    """What a stack whose ``SetIds`` is never lets files and directories of a mount have."""
    return {
        path: version if version.mode is None else replace(version, mode=version.mode & ~0o6000)
        for path, version in tree.items()
    }


def of_implied(options: dict[str, Any]) -> int:
    """The mode of a directory that only keys imply."""
    return int(options.get("attributes", {}).get("directory_mode", "0755"), 8)
