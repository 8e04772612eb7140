"""Ages of what every adapter lists: of a file since its mtime, of an object since its Last-Modified."""

from __future__ import annotations

import time

from msgspec.structs import replace

from fanout.model.outcome import Reason
from fanout.ports.tree import Tree
from fanout.request.filtering.filters import Filters
from tests.contract.tree_use import FILE_ATTRIBUTES, entries, write

HOUR_NS = 3600 * 10**9
LONG_AGO_NS = 1_500_000_000 * 10**9


def test_an_age_counts_from_the_mtime_of_a_file_and_from_the_writing_of_an_object(tree: Tree) -> None:
    write(tree, "d/f", b"x", replace(FILE_ATTRIBUTES, mtime_ns=LONG_AGO_NS))
    entry = entries(tree)["d/f"]
    if entry.etag and tree.file_system is None:
        assert abs(entry.mtime_ns - entry.changed_ns) < 10**9
        assert abs(time.time_ns() - entry.mtime_ns) < HOUR_NS
    else:
        assert entry.mtime_ns == LONG_AGO_NS
    older, newer = Filters(older_than_ns=HOUR_NS), Filters(newer_than_ns=HOUR_NS)
    for moment, is_old in ((entry.mtime_ns + HOUR_NS - 1, False), (entry.mtime_ns + HOUR_NS + 1, True)):
        assert older.at(moment).reason(entry) is (None if is_old else Reason.TIME_FILTERED)
        assert newer.at(moment).reason(entry) is (Reason.TIME_FILTERED if is_old else None)
