"""Lists a bucket in the pieces that the last run's index tells of, several of them at the same time.

Each page of a LIST names the next one, so a listing in one go waits for one answer after the other. Where a page may
begin is known beforehand of a tree that is much like it was.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, islice

from fanout.facts import tuning
from fanout.model.columns import Listed
from fanout.model.entry import Entry
from fanout.model.location import Location
from fanout.model.segment import Prunes, Segment, cut
from fanout.ports.tree import ReadTree
from fanout.work.threads import pool_of_iterator


def list_end(
    tree: ReadTree, location: Location, segment: Segment, marks: Sequence[str], prunes: Prunes
) -> Iterator[Listed]:
    """The entries of an end, in pieces between the marks if it is keyed: a file system's listing reads ahead itself."""
    if not location.is_keyed:
        return tree.list_columns(segment, prunes)
    inside = (mark for mark in marks if not prunes(mark))  # a piece that begins in a pruned directory leaves it out
    return listed_in_pieces(lambda piece: tree.list_columns(piece, prunes), cut(segment, inside))


def of_source(listed: Iterator[Listed], source: ReadTree, location: Location) -> Iterator[Listed]:
    """The source's entries. Where a mount lists none, its root is looked at: a directory that is gone is not empty.

    Raises the errors of ``ReadTree.check``.
    """
    first = next(listed, None)
    if first is not None:
        return chain((first,), listed)
    if not location.is_keyed:
        source.check(writing=False)
    return iter(())


def listed_in_pieces(listing: Callable[[Segment], Iterator[Listed]], pieces: Sequence[Segment]) -> Iterator[Listed]:
    """The entries of pieces that follow each other; ``tuning.PIECES_AHEAD`` of them are begun ahead, in threads.

    Each holds ``tuning.PIECE_HELD`` entries until its turn; where one has more, the rest is listed in its turn.
    """
    if len(pieces) == 1:
        yield from listing(pieces[0])
        return
    rest = iter(pieces)
    with pool_of_iterator(tuning.PIECES_AHEAD, "piece") as pool:
        ahead = deque(pool.submit(_begun, listing(piece)) for piece in islice(rest, tuning.PIECES_AHEAD))
        while ahead:
            begun, others = ahead.popleft().result()
            ahead.extend(pool.submit(_begun, listing(piece)) for piece in islice(rest, 1))
            yield from begun
            yield from others


def _begun(listed: Iterator[Listed]) -> tuple[list[Listed], Iterator[Listed]]:
    """The first entries of a listing, and the listing of those after them."""
    begun: list[Listed] = []
    entries = 0
    for one in listed:
        begun.append(one)
        entries += 1 if isinstance(one, Entry) else len(one)
        if entries >= tuning.PIECE_HELD:
            break
    return begun, listed
