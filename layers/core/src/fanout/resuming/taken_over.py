"""Takes over what an earlier run had done: unchanged if the destination still holds it, else copied again."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct
from msgspec.structs import replace

from fanout.listing.deciding.segment_entries import SegmentEntries
from fanout.listing.lookups import LOOKUPS_IN_FLIGHT, found_for_listing
from fanout.listing.naming.placement import naming_of
from fanout.model.entry import MARGIN_NS, NOTHING_THERE, SECOND_NS, Entry, Kind
from fanout.model.errors import AccessDenied, ItemError
from fanout.model.outcome import Reason
from fanout.model.shard import Name
from fanout.ports.tree import ReadTree
from fanout.request.parts.given_attributes import Mtime
from fanout.request.plan import Plan
from fanout.resuming.look_there import LOOKED_AT_ONCE, FindThere, pinned_anew
from fanout.resuming.rules import is_still_there
from fanout.work.parallel import side_by_side


class DoneEntry(Struct, frozen=True):
    """An entry that the earlier run had done, and the reason and message that it counts with now.

    ``pinned`` if the entry is the one that was listed, with its times; an outcome alone has path, kind and size.
    ``differs`` if the earlier run's verification found it different: it is copied again, whatever is there.
    ``proven`` unless this run is to verify it.
    ``by`` is when the destination held it, in seconds since 1970; 0 where the earlier run did not say.
    """

    entry: Entry
    reason: Reason
    message: str
    pinned: bool
    linked: bool = False
    differs: bool = False
    by: float = 0.0
    proven: bool = True


class ChangesSince(Struct, frozen=True):
    """Tells what changed at the destination after the earlier run was done with it.

    ``ended_ns`` is when that run ended, ``None`` for a stopped one. ``ahead_ns`` says how far the destination's clock
    is ahead of the runs'.
    """

    ended_ns: int | None
    ahead_ns: Callable[[], int]

    def changed(self, found: Entry, by: float) -> bool:
        """Whether an entry certainly changed after ``by``, or else after the run. Raises ``Throttled``, ``Transient``.

        A bucket cuts its times to the second, and the summary that of the run's end.
        """
        by_ns = int(by * SECOND_NS) if by else self.ended_ns
        if by_ns is None or found.kind is Kind.DIRECTORY:
            return False
        late_ns = found.changed_ns - by_ns - SECOND_NS - MARGIN_NS
        return late_ns > 0 and late_ns > self.ahead_ns()


class TakenOver:
    """Looks at many entries at once, and settles or copies each.

    ``look`` finds what the destination holds; ``copy`` takes an entry and whether it is linked; ``list_again`` the path
    of an entry that a listing has to decide.
    """

    def __init__(
        self,
        plan: Plan,
        entries: SegmentEntries,
        source: ReadTree,
        look: FindThere,
        since: ChangesSince,
        copy: Callable[[Entry, bool], None],
        list_again: Callable[[str], None],
    ) -> None:
        request = plan.request
        self._entries, self._writer, self._copy, self._list_again = entries, entries.writer, copy, list_again
        self._source, self._look = source, look
        # Between file systems the mtime tells of changes.
        self._since = since if request.source.is_keyed or request.destination.is_keyed else None
        self._conditions = request.destination.is_keyed
        self._keeps_times = request.attributes.mtime is not Mtime.NOW
        self._find = found_for_listing(self._source)
        self._place_of = naming_of(plan, self._find)
        self._held: list[DoneEntry] = []

    def add(self, done: DoneEntry) -> None:
        """Take an entry; it is settled or copied by the time that ``close`` returns."""
        self._held.append(done)
        if len(self._held) >= LOOKED_AT_ONCE:
            self.close()

    def settle(self, done: DoneEntry) -> None:
        """Settle an entry whose copy is there, or have it verified."""
        self._writer.listed.add(done.entry.size)
        if done.proven:
            self._writer.settle(done.entry, done.reason, done.message)
        else:
            self._entries.verify(replace(done.entry, held=""))

    def close(self) -> None:
        """Look at all that is held."""
        held, self._held = [self._placed(one) for one in self._held], []
        lost: list[tuple[DoneEntry, Entry | None]] = []
        unpinned: list[DoneEntry] = []
        there = self._look(one.entry.placed.path for one in held)
        for one in held:
            found = there.get(one.entry.placed.path)
            if found is None or not self._is_there(one, found):
                lost.append((one, found))
            elif one.pinned or one.proven:
                self.settle(one)
            else:
                unpinned.append(one)
        self._copy_again(lost)
        for one, source in self._sources(unpinned):
            if source is None:
                self._list_again(one.entry.path)
            else:
                self.settle(replace(one, entry=replace(source, target=one.entry.target)))

    def _is_there(self, done: DoneEntry, found: Entry) -> bool:
        if done.reason is Reason.KEPT:  # ``overwrite`` left it, whatever it is
            return True
        is_there = not done.differs and is_still_there(done.entry, found, with_times=done.pinned and self._keeps_times)
        return is_there and not (self._since and self._since.changed(found, done.by))

    def still_there(self, entries: list[Entry]) -> list[bool]:
        """Whether the destination still holds each."""
        there = self._look(entry.placed.path for entry in entries)
        found = [there.get(entry.placed.path) for entry in entries]
        keeps = self._keeps_times
        return [is_still_there(entry, one, with_times=keeps) for entry, one in zip(entries, found, strict=True)]

    def _placed(self, done: DoneEntry) -> DoneEntry:
        """The entry with its path at the destination, which an outcome does not hold."""
        if done.pinned:
            return done
        place = self._place_of(done.entry, ())
        return done if place.path == done.entry.path else replace(done, entry=replace(done.entry, target=place.path))

    def _copy_again(self, lost: list[tuple[DoneEntry, Entry | None]]) -> None:
        pinned = [(one, found) for one, found in lost if one.pinned]
        # Verification may not have been allowed to read the source, and who allows it moves the ctime.
        differing = iter(pinned_anew([one.entry for one, _ in pinned if one.differs], self._source))
        for one, found in pinned:
            entry = next(differing) if one.differs else one.entry
            self._copy(self._replacing(entry, found), one.linked)
        unpinned = [(one, found) for one, found in lost if not one.pinned]
        sources = self._sources([one for one, _ in unpinned])
        for (one, found), (_, source) in zip(unpinned, sources, strict=True):
            self._copy_from(source, one.entry, found)

    def _sources(self, unpinned: list[DoneEntry]) -> list[tuple[DoneEntry, Entry | None]]:
        if not unpinned:
            return []
        found = side_by_side(self._at_source, [one.entry for one in unpinned], LOOKUPS_IN_FLIGHT)
        return list(zip(unpinned, found, strict=True))

    def _at_source(self, entry: Entry) -> Entry | None:
        """The entry as the source holds it now; ``None`` where a listing has to look."""
        try:
            found = self._find(entry.path)
        except (AccessDenied, ItemError):
            return None
        same = found is not None and (found.kind, found.size, found.problem) == (entry.kind, entry.size, None)
        return found if same else None

    def _copy_from(self, source: Entry | None, entry: Entry, found: Entry | None) -> None:
        if source is None or entry.target:
            self._list_again(entry.path)
        elif source.is_linkable:
            self._writer.listed.add(source.size)
            self._entries.name(Name(source, unchanged=False, inode_there=""))
        else:
            self._copy(self._replacing(source, found), False)

    def _replacing(self, entry: Entry, found: Entry | None) -> Entry:
        """In a bucket it replaces what the look saw; a directory on a mount is the one that it saw."""
        if not self._conditions:
            there = found if found is not None and found.kind is entry.kind is Kind.DIRECTORY else None
            return replace(entry, replaces="" if there is None else there.inode)
        return replace(entry, replaces=NOTHING_THERE if found is None else found.etag)
