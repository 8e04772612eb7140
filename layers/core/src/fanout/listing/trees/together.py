"""Files that are unchanged, or new, are settled many at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from fanout.listing.deciding.decisions import alternating
from fanout.listing.naming.placement import Placement
from fanout.listing.trees.merge import BothEnds, Columns
from fanout.model.columns import FileColumns
from fanout.model.entry import Entry
from fanout.model.path_rules import all_plain
from fanout.request.options import Compare, OnConflict
from fanout.request.parts.publish import INSIDE_VERSIONS
from fanout.request.plan import Plan

Lengths = Callable[[FileColumns, FileColumns], list[int]]
Pairs = Iterable[BothEnds | Columns]
PlaceOf = Callable[[Entry], Placement]


class Together:
    """Tells which files of a run are settled together.

    | files of one directory                | that the destination holds     | that it lacks                    |
    |---------------------------------------|--------------------------------|----------------------------------|
    | ``escape``, ``unescape``              | one by one                     | one by one                       |
    | a verification                        | one by one                     | one by one                       |
    | another ``compare`` than by times     | one by one                     | together                         |
    | a version, held, ``versions/``        | together                       | one by one                       |
    | whose first one has no place          | one by one                     | one by one                       |
    | filtered, at least one                | one by one                     | one by one                       |
    | all others                            | those that are unchanged       | those with a place, not in blocks |

    A mount that shows a bucket may hold what is no key there: nothing goes together.

    ``lengths`` tells how many files follow each other that are unchanged, then that are not, and so on. No more come
    together than there is ``room`` for, which is at least 1.
    """

    def __init__(self, plan: Plan, place_of: PlaceOf, room: Callable[[], int], lengths: Lengths) -> None:
        request = plan.request
        self._place_of, self._room, self._lengths = place_of, room, lengths
        self._filters = request.filters
        keeps_names = request.on_conflict in (OnConflict.FAIL, OnConflict.SKIP)
        settles = keeps_names and not request.course.compares and not plan.holds_more_than_its_bucket
        self._unchanged = settles and request.compare is Compare.SIZE_MTIME
        self._new = settles and not plan.version
        self._split_bytes = request.limits.split_bytes

    def apart(self, pairs: Pairs) -> Iterator[Columns | BothEnds]:
        """Files that are settled together in columns, and all other pairs one by one."""
        for source, destination in pairs:
            if not isinstance(source, FileColumns):
                assert not isinstance(destination, FileColumns)
                yield source, destination
                continue
            assert not isinstance(destination, Entry)
            if destination is None:
                yield from self._new_apart(source)
            else:
                yield from self._unchanged_apart(source, destination)

    def _taken(self, files: FileColumns) -> bool:
        """Whether the filters take all of them, and the first has a place."""
        taken = self._filters.take_all or self._filters.take_files(files)
        return taken and self._place_of(files.first()).reason is None

    def _unchanged_apart(self, source: FileColumns, destination: FileColumns) -> Iterator[Columns | BothEnds]:
        if not (self._unchanged and self._taken(source)):
            yield from zip(source.entries(), destination.entries(), strict=True)
            return
        start, unchanged = 0, True
        for length in self._lengths(source, destination):
            end = start + length
            while unchanged and start < end:
                some = source.part(start, min(end, start + self._room()))
                there = destination.part(start, start + len(some))
                start += len(some)
                yield some, there
            yield from zip(source.part(start, end).entries(), destination.part(start, end).entries(), strict=True)
            start, unchanged = end, not unchanged

    def _new_apart(self, files: FileColumns) -> Iterator[Columns | BothEnds]:
        together = self._new and INSIDE_VERSIONS not in files.directory and self._taken(files)
        if not together:
            yield from ((entry, None) for entry in files.entries())
            return
        start, plain = 0, True
        for length in self._new_lengths(files):
            end = start + length
            while plain and start < end:
                some = files.part(start, min(end, start + self._room()))
                start += len(some)
                yield some, None
            yield from ((entry, None) for entry in files.part(start, end).entries())
            start, plain = end, not plain

    def _new_lengths(self, files: FileColumns) -> list[int]:
        """Lengths of alternating runs: files that are copied whole to their own names, then others, and so on."""
        longest = files.names.index(max(files.names, key=len))
        are_placed = all_plain(files.names) and self._is_placed(files.part(longest, longest + 1).first())
        if are_placed and max(files.sizes) < self._split_bytes:
            return [len(files)]
        return alternating([one.size >= self._split_bytes or not self._is_placed(one) for one in files.entries()])

    def _is_placed(self, entry: Entry) -> bool:
        return self._place_of(entry).reason is None
