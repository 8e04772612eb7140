"""Look-ups under other names: entries are settled in their order, and what waits is bounded."""

from __future__ import annotations

import threading

import pytest

from fanout.domain.entries import Entry, Kind
from fanout.domain.errors import Transient
from fanout.domain.naming import Place
from fanout.domain.outcomes import Reason
from fanout.steps import lookups
from fanout.steps.lookups import LookupQueue


def entry(path: str) -> Entry:
    return Entry(path, Kind.FILE)


def test_entries_are_settled_in_their_order_with_what_is_found() -> None:
    settled: list[tuple[str, Entry | None]] = []
    released = threading.Event()

    def find(path: str) -> Entry | None:
        released.wait(10)
        return entry(path) if path == "there" else None

    with LookupQueue(find, lambda source, found, _place: settled.append((source.path, found))) as queue:
        queue.add(entry("a"), entry("a"), Place("a"))
        queue.add(entry("b"), entry("b"), Place("there"))
        queue.add(entry("c"), None, Place("nowhere"))
        queue.add(entry("d"), None, Place("x", Reason.NAME_TOO_LONG))
        assert settled == [("a", entry("a"))]
        released.set()
    assert settled == [("a", entry("a")), ("b", entry("there")), ("c", None), ("d", None)]


def test_what_waits_is_bounded() -> None:
    settled: list[str] = []
    with LookupQueue(lambda _path: None, lambda source, *_: settled.append(source.path)) as queue:
        for number in range(lookups.WAITING + 10):
            queue.add(entry(f"a{number}"), None, Place(f"b{number}"))
        assert len(settled) == 10


def test_a_look_up_that_fails_ends_the_listing_and_settles_nothing_more() -> None:
    def find(path: str) -> Entry | None:
        raise Transient("no answer")

    settled: list[str] = []
    with (
        pytest.raises(Transient, match="no answer"),
        LookupQueue(find, lambda source, *_: settled.append(source.path)) as queue,
    ):
        queue.add(entry("a"), None, Place("b"))
        queue.add(entry("c"), None, Place("c"))
    assert settled == []
