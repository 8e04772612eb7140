"""A tree of the source under the names, and with the contents, that a request gives it at the destination."""

from __future__ import annotations

import os
from collections import defaultdict
from typing import Any

from fanout.listing.naming.escaping import escape_key, escape_path
from tests.adversary.given import bound, dressed
from tests.adversary.script import S3_TO_MOUNT
from tests.adversary.trees import Snapshot

# As many symlinks as the kernel follows for one path.
_HOPS = 40


def view(tree: Snapshot, direction: str, options: dict[str, Any], *, bounds: bool = True) -> Snapshot:
    """What the destination should show of the tree, before filters; without ``bounds`` what the request asks for."""
    if options.get("symlinks") == "follow" and direction != S3_TO_MOUNT:  # a bucket has none to follow
        tree = followed(tree)
    if "attributes" in options:
        tree = dressed(tree, options["attributes"])
    if bounds and direction == S3_TO_MOUNT:
        tree = bound(tree, options.get("attributes", {}))
    if options.get("on_conflict") == "escape":
        return {escaped(path, tree, direction): version for path, version in tree.items()}
    return tree


def escaped(path: str, tree: Snapshot, direction: str) -> str:
    """The name that ``on_conflict: escape`` gives an entry (docs/reference/names.md)."""
    if direction != S3_TO_MOUNT:
        return escape_path(path)
    above = [path[:at] for at in range(len(path)) if path[at] == "/" and path[:at] in tree]
    return escape_key(path, is_directory=tree[path].kind == "directory", files_above=above)


def followed(tree: Snapshot) -> Snapshot:
    """The tree with what symlinks lead to in their place; those that may not be followed are left out."""
    names: dict[str, list[str]] = defaultdict(list)
    for path in tree:
        names[path.rstrip("/").rpartition("/")[0]].append(path)
    found: Snapshot = {}
    left: list[tuple[str, str, tuple[str, ...]]] = [("", "", ("",))]
    while left:
        directory, shown, above = left.pop()
        for path in names[directory]:
            name = path.rstrip("/").rpartition("/")[2]
            real = _target(tree, directory, os.fsdecode(tree[path].data)) if tree[path].kind == "symlink" else path
            if not real:
                continue
            plain = real.rstrip("/")
            if tree[real].kind != "directory":
                found[shown + name] = tree[real]
            elif plain not in above:
                found[f"{shown}{name}/"] = tree[real]
                left.append((plain, f"{shown}{name}/", (*above, plain)))
    return found


def _target(tree: Snapshot, directory: str, target: str) -> str:
    """The path that a symlink of a directory leads to; empty for nothing, for the root, and for what is outside."""
    at = directory.split("/") if directory else []
    left, hops = target.split("/")[::-1], 0
    if target.startswith("/"):
        return ""
    while left:
        name = left.pop()
        if name in ("", "."):
            continue
        if name == "..":
            if not at:
                return ""
            at.pop()
            continue
        here = "/".join((*at, name))
        version = tree.get(here)
        if f"{here}/" in tree:
            at.append(name)
        elif version is None:
            return ""
        elif version.kind == "symlink":
            hops += 1
            text = os.fsdecode(version.data)
            if hops > _HOPS or text.startswith("/"):
                return ""
            left += text.split("/")[::-1]
        elif left:
            return ""
        else:
            at.append(name)
    path = "/".join(at)
    return f"{path}/" if f"{path}/" in tree else path
