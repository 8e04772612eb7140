"""Applies the filters to every entry of the source, then finds its place at the destination."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from fanout.listing.naming.placement import Placement
from fanout.model.columns import FileColumns, first_path
from fanout.model.entry import Entry, Kind
from fanout.model.outcome import Reason
from fanout.request.filtering.filters import Filters, HeldDirectories
from fanout.request.filtering.matched import MatchedGlobs

Add = Callable[[Entry, Entry | None, Placement], None]


class Intake:
    """Hands entries on to ``add``; those that are filtered as skipped, directories that are not included when
    something in them is taken. Entries come in path order; in any other order such a directory may be skipped.
    """

    def __init__(self, filters: Filters, add: Add) -> None:
        self._filters, self._add = filters, add
        self._take_all = filters.take_all
        self._held = HeldDirectories()
        self.matched = MatchedGlobs(filters)

    def add(self, source: Entry, destination: Entry | None, place_of: Callable[[], Placement]) -> Placement:
        """Take an entry of the source; returns its place, which has a reason if it cannot be had."""
        if self._take_all:
            place = place_of()
            self._add(source, destination, place)
            return place
        self._held.leave(source.path)
        reason = self._reason(source)
        if reason is Reason.NOT_INCLUDED and source.kind is Kind.DIRECTORY:
            self._held.hold(source.path, partial(self._settle_held, source, destination, place_of))
            return _skipped(source, reason)
        if reason is None:
            self._held.take()
        place = place_of() if reason is None else _skipped(source, reason)
        self._add(source, destination, place)
        return place

    def take_files(self, files: FileColumns) -> None:
        """Files of one directory are taken: so are the directories that hold them."""
        if not self._take_all:
            self._held.leave(first_path(files))
            self._held.take()
            if self.matched.seeks("include"):
                self.matched.look("include", files.paths)

    def protects(self, extra: Entry) -> bool:
        """Whether an entry that only the destination holds is none of the request's business, and must stay.

        Everything that would not be taken if it were at the source: by its path, size and mtime there.
        A directory that is not protected may hold what is.
        """
        return not self._take_all and self._reason(extra) is not None

    def _reason(self, entry: Entry) -> Reason | None:
        reason = self._filters.reason(entry)
        if reason is Reason.EXCLUDED:
            self.matched.look("exclude", (entry.path,))
        elif reason is not Reason.NOT_INCLUDED:
            self.matched.look("include", (entry.path,))
        return reason

    def _settle_held(
        self, source: Entry, destination: Entry | None, place_of: Callable[[], Placement], taken: bool
    ) -> None:
        place = place_of() if taken else _skipped(source, Reason.NOT_INCLUDED)
        self._add(source, destination, place)

    def close(self, goes_on: Callable[[str], bool]) -> None:
        """Settle the directories that are still held, after the last entry of the segment or where it is cut.

        A directory that another segment ``goes_on`` in is taken, because the entries taken there are unknown here.
        """
        self._held.close(goes_on)


def _skipped(source: Entry, reason: Reason) -> Placement:
    return Placement(source.path, reason)
