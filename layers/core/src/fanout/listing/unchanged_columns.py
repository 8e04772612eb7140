"""Files that are unchanged, settled many at a time; everything else of a listing by itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from fanout.listing.march import Pair
from fanout.listing.naming.placement import Place
from fanout.model.columns import FileColumns
from fanout.model.entry import Entry
from fanout.request.options import Compare, OnConflict
from fanout.request.request import Request

Lengths = Callable[[FileColumns, FileColumns], list[int]]
Pairs = Iterable[Pair | tuple[FileColumns, FileColumns]]
PlaceOf = Callable[[Entry], Place]


def settles_together(request: Request) -> bool:
    """Whether columns alone decide files that both ends hold: no other name, no checksum."""
    keeps_names = request.on_conflict in (OnConflict.FAIL, OnConflict.SKIP)
    compares = request.compare is Compare.SIZE_MTIME and not request.course.compares
    return keeps_names and compares


def apart(
    pairs: Pairs, request: Request, place_of: PlaceOf, room: Callable[[], int], lengths: Lengths, *, each: bool = False
) -> Iterator[tuple[FileColumns, FileColumns] | Pair]:
    """Unchanged files of both ends in columns, and all other pairs one by one.

    Files of one directory, under names that the destination holds, have a place if the first of them has; with ``each``
    one by one, where a mount may hold what is no key in the bucket behind it.
    ``lengths`` tells how many follow each other that are unchanged, then that are not, and so on. No more come
    together than there is ``room`` for, which is at least 1.
    """
    together, take_all = settles_together(request) and not each, request.filters.take_all
    for source, destination in pairs:
        if not isinstance(source, FileColumns) or not isinstance(destination, FileColumns):
            assert not isinstance(source, FileColumns) and not isinstance(destination, FileColumns)
            yield source, destination
            continue
        taken = together and (take_all or request.filters.take_files(source))
        if not taken or place_of(source.first()).reason is not None:
            yield from zip(source.entries(), destination.entries(), strict=True)
            continue
        start, unchanged = 0, True
        for length in lengths(source, destination):
            end = start + length
            while unchanged and start < end:
                some = source.part(start, min(end, start + room()))
                there = destination.part(start, start + len(some))
                start += len(some)
                yield some, there
            yield from zip(source.part(start, end).entries(), destination.part(start, end).entries(), strict=True)
            start, unchanged = end, not unchanged
