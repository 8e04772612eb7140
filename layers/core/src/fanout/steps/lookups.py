"""What stands at the destination under another name than the source's.

The listings of both ends are merged by path. An escaped name sorts elsewhere than its key, so
the merge can not pair it; it is looked up by itself. Look-ups overlap, and entries are settled
in the order in which they were listed; what waits is bounded.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType

from fanout.domain.entries import Entry, Kind
from fanout.domain.naming import Place

LOOKUPS_IN_FLIGHT = 32
# Entries that wait for a look-up before them.
WAITING = 1_024

Find = Callable[[str], Entry | None]
Settle = Callable[[Entry, Entry | None, Place], None]


class LookupQueue:
    """Hands each entry to ``settle`` with what stands at its place; all of them when it is left without an error."""

    def __init__(self, find: Find, settle: Settle) -> None:
        self._find, self._settle = find, settle
        # Starts a thread only for a look-up that waits.
        self._pool = ThreadPoolExecutor(LOOKUPS_IN_FLIGHT, thread_name_prefix="look-up")
        self._waiting: deque[tuple[Entry, Entry | Future[Entry | None] | None, Place]] = deque()

    def __enter__(self) -> LookupQueue:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if error is None:
            self._settle_down_to(0)
        self._pool.shutdown(cancel_futures=True)

    def add(self, source: Entry, destination: Entry | None, place: Place) -> None:
        """Take the next entry; ``destination`` is what stands under the source's own path."""
        if place.reason is None and place.path != source.path and source.kind is not Kind.SPECIAL:
            self._waiting.append((source, self._pool.submit(self._find, place.path), place))
        elif self._waiting:
            self._waiting.append((source, destination, place))
        else:
            self._settle(source, destination, place)
        self._settle_down_to(WAITING)

    def _settle_down_to(self, count: int) -> None:
        while len(self._waiting) > count:
            source, found, place = self._waiting.popleft()
            self._settle(source, found.result() if isinstance(found, Future) else found, place)
