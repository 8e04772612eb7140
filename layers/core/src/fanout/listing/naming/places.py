"""The places of the entries that a segment lists."""

from __future__ import annotations

from fanout.listing.naming.placement import (
    FilesAbovePath,
    FilesElsewhere,
    Find,
    Naming,
    Placement,
    may_be_both,
    naming_of,
)
from fanout.model.entry import Entry
from fanout.model.path_rules import FilesAbove
from fanout.model.segment import Segment
from fanout.request.plan import Plan


class Places:
    """Finds the place of each entry by its name and by the files ``above`` it.

    Whoever lists adds to these each file that has a place, where a key ``may_be_both`` a file and a directory.
    """

    def __init__(self, plan: Plan, segment: Segment, find: Find) -> None:
        filters = plan.request.filters

        def find_taken(path: str) -> Entry | None:
            entry = find(path)
            return entry if entry is None or filters.reason(entry) is None else None

        self.of: Naming = naming_of(plan, find)
        self.above = FilesAbove(segment.files_above)
        self.may_be_both = may_be_both(plan.request)
        self._elsewhere = FilesElsewhere(segment.unlisted if self.may_be_both else "", find_taken, self.of)

    def of_next(self, entry: Entry) -> Placement:
        """The place of the entry that is listed next."""
        return self.of(entry, self.files_above(entry.path))

    def files_above(self, path: str) -> FilesAbovePath:
        """The files that are parent directories of a path. Call in the order of the listing."""
        return self._elsewhere.parents(path, self.above.parents(path)) if self.may_be_both else ()
