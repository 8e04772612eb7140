"""What is not known of the other mount is refused, never made up."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from fanout.ledger.ledger import Ledger
from fanout.listing.list_destination import listed_there
from fanout.model.entry import Attributes, Entry, Kind
from fanout.model.errors import InvalidRequest, LedgerBroken
from fanout.model.segment import Segment
from fanout.staging.unseen_tree import UnseenTree
from tests.support.memory_store import MemoryStore

ENTRY = Entry("f", Kind.FILE, 3)
ATTRIBUTES = Attributes(0o100644, 1, 2, 3, 4)


@pytest.fixture
def tree() -> UnseenTree:
    return UnseenTree(Ledger(MemoryStore(), "run-1"), "n", "efs://archive/out")


@pytest.mark.parametrize(
    "use",
    [
        lambda tree: list(tree.list(Segment(""))),
        lambda tree: list(tree.list_columns(Segment(""))),
        lambda tree: tree.find("f"),
        lambda tree: tree.find_stored("f"),
        lambda tree: tree.create(ENTRY, ATTRIBUTES),
        lambda tree: tree.open_blocks(ENTRY, "token"),
        lambda tree: tree.make_directory(ENTRY, ATTRIBUTES),
        lambda tree: tree.make_symlink(ENTRY, b"x", ATTRIBUTES),
        lambda tree: tree.open(ENTRY).read(0, 3),
    ],
)
def test_only_a_function_that_sees_it_can_touch_it(tree: UnseenTree, use: Callable[[UnseenTree], Any]) -> None:
    with pytest.raises(InvalidRequest, match="does not see"):
        use(tree)


def test_a_listing_that_is_not_there_is_never_an_empty_one() -> None:
    with pytest.raises(LedgerBroken, match="is missing"):
        list(listed_there(Segment("0001-000000"), Ledger(MemoryStore(), "run-1")))


def test_the_attributes_of_a_big_file_are_those_it_was_begun_with(tree: UnseenTree) -> None:
    tokens = {tree.begin_blocks(ENTRY, ATTRIBUTES) for _ in range(3)}
    assert len(tokens) == 3
    assert tree.open(ENTRY).attributes == ATTRIBUTES


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
