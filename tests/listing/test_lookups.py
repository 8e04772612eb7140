"""Look-ups under other names: entries are settled in their order, and what waits is bounded."""

from __future__ import annotations

import threading

import pytest

from fanout.listing import lookups
from fanout.listing.deciding.decisions import Decision
from fanout.listing.lookups import LookupQueue, Pair, Question
from fanout.listing.naming.placement import Placement
from fanout.model.entry import Entry, Kind
from fanout.model.errors import Transient


def entry(path: str) -> Entry:
    return Entry(path, Kind.FILE)


def answered(pair: Pair) -> Pair:
    return Pair(pair.source, pair.destination, pair.place, Decision.COPY)


def test_all_is_settled_in_its_order_with_what_is_found() -> None:
    settled: list[str] = []
    released = threading.Event()

    def ask(pair: Pair) -> Pair | Question:
        def question() -> Pair:
            released.wait(10)
            return answered(pair)

        return question if pair.source.path == "b" else pair

    def settle(pair: Pair) -> None:
        settled.append(pair.source.path + ("!" if pair.decision else ""))

    with LookupQueue(ask, settle) as queue:
        queue.add(entry("a"), None, Placement("a"))
        queue.run(lambda: settled.append("at once"))
        queue.add(entry("b"), None, Placement("b"))
        queue.add(entry("c"), None, Placement("c"))
        queue.run(lambda: settled.append("in its turn"))
        assert settled == ["a", "at once"]
        released.set()
    assert settled == ["a", "at once", "b!", "c", "in its turn"]


def test_what_waits_is_bounded() -> None:
    settled: list[str] = []
    with LookupQueue(lambda pair: lambda: answered(pair), lambda pair: settled.append(pair.source.path)) as queue:
        for number in range(lookups.WAITING + 10):
            queue.add(entry(f"a{number}"), None, Placement(f"a{number}"))
        assert len(settled) == 10


def test_files_that_wait_are_bounded() -> None:
    settled: list[str] = []
    with LookupQueue(lambda pair: lambda: answered(pair), lambda pair: settled.append(pair.source.path)) as queue:
        queue.add(entry("a"), None, Placement("a"))
        queue.run(lambda: settled.append("files"), lookups.WAITING_FILES - 1)
        assert settled == []
        queue.run(lambda: settled.append("more"), 1)
        assert settled == ["a"]
    assert settled == ["a", "files", "more"]


def test_a_question_that_fails_ends_the_listing_and_settles_nothing_more() -> None:
    def question() -> Pair:
        raise Transient("no answer")

    settled: list[str] = []
    with (
        pytest.raises(Transient, match="no answer"),
        LookupQueue(lambda _pair: question, lambda pair: settled.append(pair.source.path)) as queue,
    ):
        queue.add(entry("a"), None, Placement("a"))
        queue.run(lambda: settled.append("c"))
    assert settled == []
