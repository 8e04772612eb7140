"""Renames of others that are under way."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from fanout.adapters.posix.tree import PosixTree


@contextmanager
def others_rename(tree: PosixTree) -> Iterator[None]:
    """Another file of the tree is being renamed, for as long as the ``with``."""
    lock = tree._staging._renaming
    assert lock.begin()
    try:
        yield
    finally:
        lock.end()
