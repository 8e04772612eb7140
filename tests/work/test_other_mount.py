"""What is not known of the other mount is refused, never made up."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from fanout.ledger.ledger import Ledger
from fanout.listing.list_destination import listed_there
from fanout.model.entry import Attributes, Entry, Kind
from fanout.model.errors import InvalidRequest, LedgerBroken
from fanout.model.segment import Segment
from fanout.model.shard import Rates
from fanout.request.parse import parse_request
from fanout.request.plan import Plan
from fanout.work.context import Context
from fanout.work.other_mount import begins_big_files, pinned_source
from tests.support.memory_store import MemoryStore
from tests.support.two_mounts import REQUEST, Sides

ENTRY = Entry("f", Kind.FILE, 3)
ATTRIBUTES = Attributes(0o100644, 1, 2, 3, 4)
MOUNTS = ("data", "archive")
PLAN = Plan("run-1", parse_request(REQUEST, MOUNTS, 100), Rates(0.01, 1e6))
MOVE = replace(PLAN, move_began=1.0)


@pytest.fixture
def neither() -> Context:
    """An attempt of a function that sees no mount."""
    return Sides().neither_seen()


@pytest.mark.parametrize(
    ("use", "end"),
    [
        (lambda context: context.source(PLAN), "efs://data/in"),
        (lambda context: context.destination(PLAN), "efs://archive/out"),
        (lambda context: context.deleted_from(PLAN), "efs://archive/out"),
        (lambda context: context.deleted_from(MOVE), "efs://data/in"),
        (lambda context: pinned_source(PLAN, context).open(ENTRY).read(0, 3), "efs://data/in"),
    ],
)
def test_only_a_function_that_sees_it_can_touch_it(neither: Context, use: Callable[[Context], Any], end: str) -> None:
    with pytest.raises(InvalidRequest, match=f"does not see {end}"):
        use(neither)


def test_whoever_may_not_see_an_end_gets_none(neither: Context) -> None:
    assert neither.seen_source(PLAN) is None
    assert neither.seen_destination(PLAN) is None
    assert neither.source_files(PLAN) is None
    assert neither.destination_files(PLAN) is None


def test_a_function_that_sees_an_end_works_on_itself() -> None:
    world = Sides()
    context = world.context()
    for tree in (context.deleted_from(MOVE), context.source(MOVE), pinned_source(MOVE, context)):
        assert id(tree) == id(world.source)
    for written in (context.deleted_from(PLAN), context.destination(PLAN), begins_big_files(PLAN, context)):
        assert id(written) == id(world.destination)


def test_a_listing_that_is_not_there_is_never_an_empty_one() -> None:
    with pytest.raises(LedgerBroken, match="is missing"):
        list(listed_there(Segment("0001-000000"), Ledger(MemoryStore(), "run-1")))


def test_the_attributes_of_a_big_file_are_those_it_was_begun_with(neither: Context) -> None:
    begins = begins_big_files(PLAN, neither)
    tokens = {begins.begin_blocks(ENTRY, ATTRIBUTES) for _ in range(3)}
    assert len(tokens) == 3
    assert pinned_source(PLAN, neither).open(ENTRY).attributes == ATTRIBUTES


def test_only_what_is_staged_can_be_removed() -> None:
    store = MemoryStore()
    ledger = Ledger(store, "run-1")
    for key in ("staged/run-1/a/1", "staged/run-1/b/1", "staged/run-10/a/1", "runs/run-1/plan.json"):
        store.put(key, b"")
    with pytest.raises(LedgerBroken, match="a run's ledger stays"):
        ledger.remove("")
    ledger.staged().remove("a/")
    assert list(store.list("staged/")) == ["staged/run-1/b/1", "staged/run-10/a/1"]
    ledger.staged().remove("")
    assert list(store.list("")) == ["runs/run-1/plan.json", "staged/run-10/a/1"]
