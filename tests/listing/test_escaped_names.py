"""Escaped names through the flow, whatever the names and wherever the listing is cut."""

from __future__ import annotations

import os

from hypothesis import given, settings
from hypothesis import strategies as st

from fanout.model.entry import Kind
from fanout.model.path_rules import reason_against_file_path
from fanout.summary.summarise_transfer import summarise_transfer
from tests.support.flow import ManualClock, World
from tests.support.memory import MemoryTree

TO_FILES = {"source": "s3://a-bucket/in/", "destination": "efs:///copy"}
TO_KEYS = {"source": "efs:///copy", "destination": "s3://a-bucket/in/"}

keys = st.sets(st.text(alphabet="ab/.^\0é", min_size=1, max_size=6), max_size=15)
file_names = st.sets(
    st.binary(min_size=1, max_size=5).map(os.fsdecode).filter(lambda name: reason_against_file_path(name) is None),
    max_size=12,
)


def tree_of(names: set[str], *, directories: bool) -> MemoryTree:
    tree = MemoryTree()
    for number, name in enumerate(sorted(names)):
        empty = directories and number % 2 == 0
        is_directory = name.endswith("/") and empty
        tree.put(name, Kind.DIRECTORY if is_directory else Kind.FILE, b"" if empty else name.encode("utf-8", "replace"))
    return tree


def contents(tree: object) -> dict[str, bytes]:
    assert isinstance(tree, MemoryTree)
    return {path: stored.data for path, stored in tree.contents().items()}


def run(world: World, request: dict[str, str]) -> None:
    summary = world.run(request)
    assert summary["status"] == "SUCCEEDED"
    assert summary["totals"]["copied"] == summary["totals"]["listed"]


@settings(deadline=None, max_examples=25)
@given(keys)
def test_keys_go_there_and_back(names: set[str]) -> None:
    source = tree_of(names, directories=True)
    there = World(source=source)
    run(there, {**TO_FILES, "on_conflict": "escape"})
    assert all(reason_against_file_path(path) is None for path in contents(there.destination))
    # A file system makes the directory of a file `^` too, but this store has only what was written.
    back = World(source=there.destination, run_id="run-2")
    run(back, {**TO_KEYS, "on_conflict": "unescape"})
    assert contents(back.destination) == contents(source)


@settings(deadline=None, max_examples=25)
@given(file_names)
def test_file_names_go_there_and_back(names: set[str]) -> None:
    source = tree_of({name for name in names if not name.endswith("/")}, directories=False)
    there = World(source=source)
    run(there, {**TO_KEYS, "on_conflict": "escape"})
    for key in contents(there.destination):
        key.encode("utf-8")
    back = World(source=there.destination, run_id="run-2")
    summary = back.run({**TO_FILES, "on_conflict": "unescape"})
    assert summary["balanced"]
    rejected = {row["path"] for row in back.ledger.read_rows("failures.jsonl")}
    # A store in memory may hold `a` beside `a/b`, which no file system does.
    assert len(contents(back.destination)) == len(contents(source)) - len(rejected)
    assert contents(back.destination).items() <= contents(source).items()


def test_a_listing_that_is_cut_escapes_as_a_whole_one_does() -> None:
    names = {f"d{number % 5}" for number in range(5)}
    names |= {f"d{number % 5}/x{number}" for number in range(400)} | {f"d{number}//y" for number in range(5)}
    whole = World(source=tree_of(names, directories=False))
    whole.run({**TO_FILES, "on_conflict": "escape"})
    cut = World(source=whole.source, clock=ManualClock(step=5.0), remaining_seconds=10.0)
    assert cut.list_all(cut.plan({**TO_FILES, "on_conflict": "escape"}))["round"] > 2
    cut.clock.step = 0.0
    cut.copy_all()
    cut.finish_all()
    assert summarise_transfer(None, cut.context())["status"] == "SUCCEEDED"
    assert contents(cut.destination) == contents(whole.destination)
    assert sum("^/" in path for path in contents(cut.destination)) == len(names) - 5


def test_another_entry_under_the_keys_own_path_is_left_alone() -> None:
    world = World(source=tree_of({"a^b"}, directories=False))
    assert isinstance(world.destination, MemoryTree)
    world.destination.put("a^b", Kind.FILE, b"somebody's")
    run(world, {**TO_FILES, "on_conflict": "escape"})
    assert contents(world.destination) == {"a^b": b"somebody's", "a^5Eb": b"a^b"}
