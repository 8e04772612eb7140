"""Stores whose clocks differ: what was rewritten is copied, what was not is left alone."""

from __future__ import annotations

import itertools

import pytest

from fanout.listing.deciding.clock_lead import CLOCKS, wider_ns
from fanout.listing.deciding.clocks import wider_by
from fanout.model.document import Json
from fanout.model.entry import Attributes, Kind
from fanout.model.errors import Transient
from tests.support.flow import World
from tests.support.memory import MemoryTree
from tests.support.memory_store import MemoryStore
from tests.support.versions import Versions

FROM_S3: Json = {"source": "s3://a-bucket/tree/", "destination": "efs:///copy"}
TO_S3: Json = {"source": "efs:///tree", "destination": "s3://a-bucket/copy/"}
INSIDE_S3: Json = {"source": "s3://a-bucket/tree/", "destination": "s3://a-bucket/copy/"}
DIRECTIONS = pytest.mark.parametrize("request_", [FROM_S3, TO_S3], ids=["S3 to mount", "mount to S3"])
SECOND = 10**9
TICK_NS = SECOND // 100
LONG_AGO = 1_000_000


def world_of(ahead_seconds: int) -> tuple[World, Versions, Versions]:
    """Trees of which the destination's clock is ahead; a file was written long before the clocks are read."""
    changes = itertools.count(1)
    source = Versions(changes, tick_ns=TICK_NS)
    destination = Versions(changes, tick_ns=TICK_NS, ahead_ns=ahead_seconds * SECOND)
    source.put("a", Kind.FILE, b"old", Attributes(mtime_ns=5))
    source.put("b", Kind.FILE, b"same", Attributes(mtime_ns=5))
    for _ in itertools.islice(changes, LONG_AGO):
        pass
    return World(changes, source, destination, MemoryStore()), source, destination


@DIRECTIONS
@pytest.mark.parametrize("ahead_seconds", [-3_600, -5, -2, 0, 2, 5, 3_600])
def test_a_file_that_was_rewritten_within_the_difference_is_copied(request_: Json, ahead_seconds: int) -> None:
    """Without an index, which tells that the source differs."""
    world, source, destination = world_of(ahead_seconds)
    assert world.run(request_)["totals"]["copied"]["entries"] == 2
    world.store.remove(list(world.store.list("runs/indexes/")))
    source.put("a", Kind.FILE, b"new", Attributes(mtime_ns=6))
    following = world.next_run("run-2")
    summary = following.run(request_)
    assert summary["status"] == "SUCCEEDED"
    assert destination.contents()["a"].data == b"new"
    assert summary["totals"]["copied"]["entries"] == 1


@DIRECTIONS
@pytest.mark.parametrize("ahead_seconds", [-3_600, -5, -2, 0, 2, 5, 3_600])
def test_what_was_not_rewritten_stays_unchanged(request_: Json, ahead_seconds: int) -> None:
    world, _, _ = world_of(ahead_seconds)
    world.run(request_)
    summary = world.next_run("run-2").run(request_)
    assert (summary["totals"]["copied"]["entries"], summary["totals"]["unchanged"]["entries"]) == (0, 2)


@pytest.mark.parametrize("request_", [TO_S3, INSIDE_S3], ids=["mount to S3", "inside S3"])
@pytest.mark.parametrize("ahead_seconds", [-3_600, 0, 2, 5, 3_600])
def test_what_a_bucket_ahead_of_the_runs_dates_after_their_end_is_not_copied_by_each_of_them(
    request_: Json, ahead_seconds: int
) -> None:
    world, _, destination = world_of(ahead_seconds)
    world.clock.time = LONG_AGO * TICK_NS / SECOND
    world.run(request_)
    if ahead_seconds > 1:
        assert min(stored.entry.changed_ns for stored in destination.contents().values()) > world.clock.time * SECOND
    summary = world.next_run("run-2").run(request_)
    assert summary["totals"]["unchanged"]["entries"] == 2


@pytest.mark.parametrize(
    ("ahead_seconds", "said"), [(-3_600, "behind that of S3"), (0, ""), (1, ""), (5, "ahead of"), (3_600, "ahead of")]
)
def test_a_difference_of_over_a_second_is_said_and_reckoned_with(ahead_seconds: int, said: str) -> None:
    world, _, _ = world_of(ahead_seconds)
    summary = world.run(FROM_S3)
    notes = [note for note in summary["notes"] if "clock" in note]
    assert bool(notes) is bool(said) and all(said in note for note in notes)
    ahead = world.ledger.read(CLOCKS).of_source
    assert ahead.least_ns <= ahead_seconds * SECOND <= ahead.most_ns
    plan = world.ledger.read_plan()
    assert wider_by(plan, world.ledger) == wider_ns(ahead)
    assert (wider_ns(ahead) > 0) is (ahead_seconds > 0)


@pytest.mark.parametrize(
    "request_",
    [TO_S3, {**FROM_S3, "mode": "plan"}, {**FROM_S3, "compare": "always"}, {**FROM_S3, "mode": "verify"}],
    ids=["mount to S3", "plan", "always", "verify"],
)
def test_no_clock_is_asked_where_that_would_write_or_nothing_is_compared(
    request_: Json, monkeypatch: pytest.MonkeyPatch
) -> None:
    def asked(_tree: MemoryTree) -> tuple[int, int]:
        raise AssertionError("a source is never written, and a plan writes nothing")

    monkeypatch.setattr(MemoryTree, "clock_ns", asked)
    world, _, _ = world_of(0)
    world.run(request_)
    assert not list(world.store.list("runs/run-1/clocks.json"))


def silent(_tree: MemoryTree) -> tuple[int, int]:
    raise Transient("S3 answered with '' for a time")


def test_a_clock_that_cannot_be_read_is_said_and_ends_no_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MemoryTree, "clock_ns", silent)
    world, _, _ = world_of(0)
    summary = world.run(FROM_S3)
    assert summary["status"] == "SUCCEEDED"
    assert [note for note in summary["notes"] if "clocks" in note and "could not be measured" in note]


def test_nothing_is_unchanged_by_its_time_where_a_clock_cannot_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    world, source, destination = world_of(5)
    world.run(FROM_S3)
    world.store.remove(list(world.store.list("runs/indexes/")))
    source.put("a", Kind.FILE, b"new", Attributes(mtime_ns=5))
    destination.put("a", Kind.FILE, b"old", Attributes(mtime_ns=5))
    following = world.next_run("run-2")
    with monkeypatch.context() as patch:
        patch.setattr(Versions, "clock_ns", silent)
        assert following.run(FROM_S3)["totals"]["copied"]["entries"] == 2
    assert destination.contents()["a"].data == b"new"


def test_a_clock_is_asked_again_where_it_did_not_answer_once(monkeypatch: pytest.MonkeyPatch) -> None:
    world, _, _ = world_of(0)
    plain, asked = MemoryTree.clock_ns, itertools.count()
    monkeypatch.setattr(MemoryTree, "clock_ns", lambda tree: plain(tree) if next(asked) > 1 else silent(tree))
    assert not [note for note in world.run(FROM_S3)["notes"] if "clocks" in note]
