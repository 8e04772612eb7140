"""Questions about pairs: what is at another name than the source's, and whether a pair is proved unchanged.

The listings of both ends are merged by path. An escaped name sorts elsewhere than its key, so
the merge cannot pair it; it is looked up by itself. A pair that times alone call unchanged is looked at. Such
questions overlap, and everything is settled in the order in which it was listed; what waits is bounded.

So is each entry to copy whose listing says that it may be held (``shards.held``).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from types import TracebackType

from msgspec import Struct
from msgspec.structs import replace

from fanout.listing.deciding.decisions import Decision
from fanout.listing.naming.placement import Find, Placement
from fanout.model.entry import Entry
from fanout.model.errors import AccessDenied, ItemError, Transient
from fanout.ports.looking import find_now
from fanout.ports.tree import ReadTree

LOOKUPS_IN_FLIGHT = 32
# Limits on work that waits for an earlier question: pairs and other work, and the files in it.
WAITING = 1_024
WAITING_FILES = 50_000


class Pair(Struct, frozen=True):
    """An entry of the source, what is at its place, and what is to be done; ``None`` where that is no question.

    ``heads`` are the requests to S3 that its decision took.
    """

    source: Entry
    destination: Entry | None
    place: Placement
    decision: Decision | None = None
    heads: int = 0


Question = Callable[[], Pair]
Lookup = Callable[[], None]


def found_for_listing(tree: ReadTree) -> Find:
    """``find`` of a source for a listing: where a directory of the path changed, the listing begins anew."""

    def find(path: str) -> Entry | None:
        try:
            return find_now(tree, path)
        except ItemError as error:
            raise Transient(f"{path}: {error.message}") from error

    return find


def found_at_destination(tree: ReadTree) -> Find:
    """``find`` of a destination: nothing where it cannot be looked at, and the copy says what is in its way."""

    def find(path: str) -> Entry | None:
        try:
            return find_now(tree, path)
        except (ItemError, AccessDenied):
            return None

    return find


class LookupQueue:
    """Hands each pair to ``settle`` as ``ask`` answers it; all of them when it is left without an error.

    ``ask`` returns the answer or, where it takes requests, a question that any thread may put.
    """

    def __init__(self, ask: Callable[[Pair], Pair | Question], settle: Callable[[Pair], None]) -> None:
        self._ask, self._settle = ask, settle
        # Starts a thread only for a question that waits.
        self._pool = ThreadPoolExecutor(LOOKUPS_IN_FLIGHT, thread_name_prefix="look-up")
        self._waiting: deque[tuple[Pair | Future[Pair] | Lookup, int]] = deque()
        self._files = 0

    def __enter__(self) -> LookupQueue:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if error is None:
            self._settle_down_to(0, 0)
        self._pool.shutdown(cancel_futures=True)

    def add(self, source: Entry, destination: Entry | None, place: Placement) -> None:
        """Take the next pair; ``destination`` is what is at the source's own path."""
        answer = self._ask(Pair(source, destination, place))
        if isinstance(answer, Pair):
            if not self._waiting:
                self._settle(answer)
                return
            self._wait(answer, 1)
        else:
            self._wait(self._pool.submit(answer), 1)

    def run(self, work: Lookup, files: int = 1) -> None:
        """Call ``work`` in order, after the pairs before it; ``files`` counts what it holds in memory."""
        if self._waiting:
            self._wait(work, files)
        else:
            work()

    def _wait(self, one: Pair | Future[Pair] | Lookup, files: int) -> None:
        self._waiting.append((one, files))
        self._files += files
        self._settle_down_to(WAITING, WAITING_FILES)

    def _settle_down_to(self, count: int, files: int) -> None:
        while len(self._waiting) > count or self._files > files:
            one, held = self._waiting.popleft()
            self._files -= held
            if isinstance(one, Pair):
                self._settle(one)
            elif isinstance(one, Future):
                self._settle(one.result())
            else:
                one()


_COPIED = (Decision.COPY, Decision.COMPARE)


def with_looks(
    ask: Callable[[Pair], Pair | Question], look: Callable[[Entry], Entry]
) -> Callable[[Pair], Pair | Question]:
    """``ask`` of a listing whose entries to copy are looked at, where they may be held."""

    def looked_at(answer: Pair) -> Pair:
        if answer.source.held and answer.decision in _COPIED:
            return replace(answer, source=look(answer.source))
        return answer

    def asked(pair: Pair) -> Pair | Question:
        answer = ask(pair)
        if not isinstance(answer, Pair):
            return lambda: looked_at(answer())
        return partial(looked_at, answer) if answer.source.held and answer.decision in _COPIED else answer

    return asked
