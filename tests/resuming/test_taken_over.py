"""A run that resumes another looks whether the destination still holds what that one had done."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from fanout.facts import tuning
from fanout.model.entry import SECOND_NS, Kind
from fanout.model.errors import ListingIncomplete
from fanout.resuming.look_there import LISTED_AT_LEAST, found_there
from tests.support.memory import MemoryTree
from tests.support.resumed import SMALL_SHARDS, CountingTree, contents, filled, resumed, trees


def test_what_was_deleted_at_the_destination_since_is_copied_again() -> None:
    world = filled()
    source, destination = trees(world)
    destination.broken = {"d0/f003"}
    assert world.run()["status"] == "FAILED_WITH_ITEMS"
    gone = sorted(contents(destination))[:21]
    for path in gone:
        del destination._entries[path]
    destination.broken = set()
    _, summary = resumed(world, "run-2")
    assert summary["status"] == "SUCCEEDED"
    assert sorted(destination.created) == sorted({*gone, "d0/f003"})
    assert contents(destination) == contents(source)
    assert summary["totals"]["unchanged"]["entries"] == 30 - len(destination.created)
    assert not source.listed and len(destination.listed) == 1  # directories are looked up


@pytest.mark.parametrize(
    "change",
    [
        lambda tree: tree.put("d0/f003", Kind.FILE, b"longer than it was"),
        lambda tree: tree.put("d0/f003", Kind.FILE, b""),
        lambda tree: tree._entries.pop("d0/f003"),
    ],
)
@pytest.mark.parametrize("runs", [1, 2])
def test_what_was_changed_there_since_is_copied_again(change: Callable[[MemoryTree], None], runs: int) -> None:
    world = filled(big=1)
    source, destination = trees(world)
    world.run(SMALL_SHARDS)
    if runs == 2:  # the second ledger holds outcomes alone
        world, _ = resumed(world, "run-2")
    change(destination)
    _, summary = resumed(world, "run-3")
    assert summary["status"] == "SUCCEEDED"
    assert (destination.created, contents(destination)) == (["d0/f003"], contents(source))


@pytest.mark.parametrize(("ahead", "again"), [(2 * SECOND_NS + 1, True), (2 * SECOND_NS, False)])
@pytest.mark.parametrize("runs", [1, 2])
def test_what_was_written_there_after_the_run_had_ended_is_copied_again(ahead: int, again: bool, runs: int) -> None:
    world = filled()
    source, destination = trees(world)
    world.run(SMALL_SHARDS)
    if runs == 2:
        world, _ = resumed(world, "run-2")
    ended_ns = int(world.clock.time) * SECOND_NS
    entry = destination.put("d0/f003", Kind.FILE, b"yyy")
    stored = destination._entries[entry.path]
    destination._entries[entry.path] = replace(stored, entry=replace(entry, changed_ns=ended_ns + ahead))
    _, summary = resumed(world, "run-3")
    assert (summary["status"], destination.created) == ("SUCCEEDED", ["d0/f003"] if again else [])
    assert (contents(destination) == contents(source)) is again


def rewritten(tree: MemoryTree, path: str, at_ns: int) -> None:
    """Somebody writes other bytes of the same size, at that time of the store."""
    entry = tree.put(path, Kind.FILE, b"y" * tree.contents()[path].entry.size)
    tree._entries[path] = replace(tree._entries[path], entry=replace(entry, mtime_ns=at_ns, changed_ns=at_ns))


@pytest.mark.parametrize("seconds", [2, 3], ids=["within the margin", "later"])
@pytest.mark.parametrize("there", ["efs:///copy", "s3://b-bucket/copy/"], ids=["mount", "bucket"])
@pytest.mark.parametrize("path", ["d0/f003", "big0"])
@pytest.mark.parametrize("runs", [1, 2])
def test_what_was_rewritten_there_after_a_stopped_run_is_copied_again(
    runs: int, path: str, there: str, seconds: int
) -> None:
    """A stopped run leaves no summary: its outcomes say by when it was done, and its plan when it began."""
    world = filled(big=1)
    source, destination = trees(world)
    request = {**SMALL_SHARDS, "destination": there}
    if runs == 2:
        world.run(request)
        world = world.next_run("run-2")
        request = {"resume_from": "run-1"}
    world.clock.time += 100
    world.list_all(world.plan(request))
    world.copy_all()
    world.finish_all()
    rewritten(destination, path, int(world.clock.time + seconds) * SECOND_NS)
    _, summary = resumed(world, "run-3")
    assert (summary["status"], summary["totals"]["copied"]["entries"]) == ("SUCCEEDED", int(seconds > 2))
    assert (contents(destination) == contents(source)) is (seconds > 2)


@pytest.mark.parametrize("runs", [1, 2])
def test_what_overwrite_had_left_is_copied_where_it_is_gone_since(runs: int) -> None:
    world = filled()
    source, destination = trees(world)
    kept = destination.put("d0/f003", Kind.FILE, b"another's")
    gone = destination.put("d0/f006", Kind.FILE, b"another's, too")
    world.run({**SMALL_SHARDS, "overwrite": "never"})
    if runs == 2:
        world, _ = resumed(world, "run-2")
    del destination._entries[gone.path]
    _, summary = resumed(world, "run-3")
    assert (summary["status"], destination.created) == ("SUCCEEDED", [gone.path])
    assert summary["totals"]["skipped"]["entries"] == 1
    expected = {**contents(source), kept.path: contents(destination)[kept.path]}
    assert contents(destination) == expected


def test_an_entry_that_is_at_neither_end_any_more_is_listed_again() -> None:
    world = filled()
    source, destination = trees(world)
    world.run(SMALL_SHARDS)
    world, _ = resumed(world, "run-2")
    for tree in (source, destination):
        del tree._entries["d0/f003"]
    source.put("d1/f001", Kind.FILE, b"not its size any more")
    del destination._entries["d1/f001"]
    _, summary = resumed(world, "run-3")
    assert (summary["status"], summary["totals"]["listed"]["entries"]) == ("SUCCEEDED", 29)
    assert contents(destination) == contents(source)


def test_a_big_file_that_is_gone_is_copied_again() -> None:
    world = filled(3, big=2)
    source, destination = trees(world)
    world.run(SMALL_SHARDS)
    del destination._entries["big1"]
    _, summary = resumed(world, "run-2")
    assert (summary["status"], summary["totals"]["copied"]) == (
        "SUCCEEDED",
        {"entries": 1, "bytes": 2 * tuning.BLOCK_BYTES + 1},
    )
    assert contents(destination) == contents(source)


def test_where_the_destination_cannot_be_looked_at_nothing_counts_as_unchanged(monkeypatch: pytest.MonkeyPatch) -> None:
    world = filled()
    world.run()

    def broken(*_: object) -> None:
        raise ListingIncomplete("EIO")

    with monkeypatch.context() as patch, pytest.raises(ListingIncomplete):
        patch.setattr(CountingTree, "list", broken)
        resumed(world, "run-2")


@pytest.mark.parametrize("others", [0, 10 * LISTED_AT_LEAST])
def test_a_look_lists_a_bounded_number_of_other_entries(others: int) -> None:
    tree = CountingTree(iter(range(100_000)))
    for number in range(others):
        tree.put(f"m{number:06d}", Kind.FILE)
    wanted = ["a", "d/", "d/f", "m000001", "m000001-gone", "m009000", "z"]
    for path in wanted:
        if not path.endswith("gone"):
            tree.put(path, Kind.DIRECTORY if path.endswith("/") else Kind.FILE)
    taken = 0
    listing = tree.list

    def counted(*arguments: object) -> object:
        nonlocal taken
        for entry in listing(*arguments):  # type: ignore[arg-type]
            taken += 1
            yield entry

    tree.list = counted  # type: ignore[method-assign,assignment]
    assert sorted(found_there(wanted, tree)) == sorted(path for path in wanted if not path.endswith("gone"))
    assert taken <= LISTED_AT_LEAST


@settings(deadline=None, max_examples=40)
@given(st.data())
def test_a_look_finds_what_lookups_find(data: st.DataObject) -> None:
    names = st.text("ab/.é\x01-\U0001f600", min_size=1, max_size=6)
    paths = sorted({name.strip("/").replace("//", "/") for name in data.draw(st.sets(names, max_size=12))} - {""})
    tree = MemoryTree(iter(range(100)))
    for path in paths:
        if data.draw(st.booleans()):
            tree.put(path, Kind.FILE)
    expected = {path: entry for path in paths if (entry := tree.find(path)) is not None}
    assert found_there(paths, tree) == expected


@settings(deadline=None, max_examples=30)
@given(st.data())
def test_whatever_happened_there_a_resumed_run_makes_the_ends_equal(data: st.DataObject) -> None:
    world = filled(40, big=data.draw(st.integers(0, 1)))
    source, destination = trees(world)
    destination.broken = data.draw(st.sets(st.sampled_from(sorted(contents(source))), max_size=5))
    world.run(SMALL_SHARDS)
    destination.broken = set()
    for number in range(data.draw(st.integers(1, 3))):
        there = sorted(contents(destination))
        for path in data.draw(st.sets(st.sampled_from(there), max_size=10)) if there else ():
            if data.draw(st.booleans()):
                del destination._entries[path]
            else:
                destination.put(path, Kind.FILE, contents(source)[path] + b"+")
        world, summary = resumed(world, f"run-{number + 2}")
        assert summary["status"] == "SUCCEEDED", summary
        assert contents(destination) == contents(source)
        assert summary["balanced"] and not source.listed
