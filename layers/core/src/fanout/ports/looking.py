"""Looks at a single path that are the server's, whatever an NFS client knew of it."""

from __future__ import annotations

from fanout.model.entry import Entry, Found
from fanout.ports.tree import ReadTree


def found_now(tree: ReadTree, path: str) -> Found | None:
    """As ``ReadTree.find_stored``, by an answer that was given for it. A GETATTR more on a mount."""
    _ask(tree, path)
    return tree.find_stored(path)


def find_now(tree: ReadTree, path: str) -> Entry | None:
    """The same as ``ReadTree.find``."""
    _ask(tree, path)
    return tree.find(path)


def _ask(tree: ReadTree, path: str) -> None:
    if tree.file_system is not None:
        tree.file_system.look_anew(path)
