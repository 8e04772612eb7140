"""Looks whether an end of a transfer still holds what an earlier run saw there."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from msgspec.structs import replace

from fanout.listing.lookups import LOOKUPS_IN_FLIGHT
from fanout.model.entry import Entry
from fanout.model.errors import AccessDenied, ItemError
from fanout.ports.tree import Tree
from fanout.resuming.rules import same_but_for_ctime


def pinned_anew(entries: Sequence[Entry], source: Tree) -> list[Entry]:
    """Entries that could not be read, pinned to the ctime of now if size and mtime are as they were listed.

    Who gives permission moves the ctime. An object has an ETag, which permission does not change.
    """

    def pinned(entry: Entry) -> Entry:
        try:
            found = None if entry.etag else source.find(entry.path)
        except (AccessDenied, ItemError):
            return entry  # still refused: the copy says so
        if found is None or not same_but_for_ctime(entry, found):
            return entry
        return replace(entry, changed_ns=found.changed_ns)

    with ThreadPoolExecutor(LOOKUPS_IN_FLIGHT, thread_name_prefix="pin") as pool:
        return list(pool.map(pinned, entries))
