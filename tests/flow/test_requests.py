"""How often the states of a small run ask the work bucket, and how often one request waits for another.

A request waits some 15 to 30 ms for S3: what a run of one file takes is mostly this. A figure that grows is a state
that asks in series what could be asked side by side, or asks again for what it has read.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fanout.adapters.posix.tree import PosixTree
from fanout.forecast.way import IN_SERIES
from fanout.model.document import Json
from fanout.model.entry import Entry, Found, Kind
from fanout.turns.write_turn import WriteTurns
from tests.flow.counted_store import CountedStore
from tests.support.flow import ManualClock, OwnExecution, World
from tests.support.memory import MemoryTree

# Of a run of one file: all requests of the state, and those in series.
ONE_FILE = {
    "PlanTransfer": (10, 3),
    "CheckMount": (9, 6),
    "ListOneSegment": (11, 9),
    "GatherSegments": (6, 4),
    "PartitionShards": (20, 4),
    "CopyShard": (11, 6),
    "FinishTree": (29, 8),
    "SummariseTransfer": (35, 6),
}


# Of the same run where it goes the short way: 18 in series.
SHORT = {"PlanTransfer": (10, 3), "ShortWay": (33, 10), "SummariseTransfer": (35, 6)}


class Counted(World):
    """Counts the requests of each state."""

    def task(self, function: str, event: Json) -> Any:
        """Count what the step asks."""
        assert isinstance(self.store, CountedStore)
        self.store.begin(event["step"])
        return super().task(function, event)

    def rows(self, bucket: str, key: str) -> Any:
        """The items of a Map, which Step Functions reads."""
        assert isinstance(self.store, CountedStore)
        self.store.begin("the items of Maps")
        return super().rows(bucket, key)

    def summary(self) -> Json:
        """The summary, which the test reads."""
        assert isinstance(self.store, CountedStore)
        self.store.begin("the test")
        return super().summary()


def test_a_run_of_one_file_asks_no_more_than_it_did(monkeypatch: pytest.MonkeyPatch) -> None:
    store = CountedStore(monkeypatch)
    world = Counted(store=store)
    assert isinstance(world.source, MemoryTree)
    world.source.put("d/f", Kind.FILE, b"hello")
    assert world.run()["status"] == "SUCCEEDED"
    asked = {task: (store.requests[task].total(), store.in_series[task]) for task in ONE_FILE}
    grown = {task: (asked[task], ONE_FILE[task]) for task in ONE_FILE if asked[task] > ONE_FILE[task]}
    assert asked == ONE_FILE, f"grown: {grown}" if grown else "fewer requests: write the new figures here"


def test_the_same_run_by_the_short_way_is_three_functions(monkeypatch: pytest.MonkeyPatch) -> None:
    store = CountedStore(monkeypatch)
    world = Counted(store=store, short=True)
    assert isinstance(world.source, MemoryTree)
    world.source.put("d/f", Kind.FILE, b"hello")
    assert world.run()["status"] == "SUCCEEDED"
    assert len(world.entered) + len(("TransferSucceeded?", "Succeeded")) == 7
    asked = {task: (store.requests[task].total(), store.in_series[task]) for task in store.requests if task in SHORT}
    assert store.requests.keys() - SHORT.keys() == {"the test"}
    assert asked == SHORT, "other counts: write the new figures here"
    assert {name: in_series for name, (_, in_series) in SHORT.items()} == IN_SERIES, "and in the forecast"


class Asked(MemoryTree):
    """Notes the names that it is asked for one by one, each of which is a HEAD in a bucket."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []

    def find(self, path: str) -> Entry | None:
        """See ``ports.tree.Tree``."""
        self.asked.append(path)
        return super().find(path)

    def find_stored(self, path: str) -> Found | None:
        """See ``ports.tree.Tree``."""
        self.asked.append(path)
        return super().find_stored(path)


def test_a_nightly_sync_from_a_bucket_that_finds_nothing_looks_up_no_object(tmp_path: Path) -> None:
    source = Asked()
    for number in range(200):
        source.put(f"d{number % 20}/e{number % 40}/f{number}", Kind.FILE, b"hello")
    world = World(source=source, destination=PosixTree(tmp_path, "copy", "run-1", "d"))
    request = {"source": "s3://a-bucket/tree/", "destination": "efs:///copy", "mode": "sync"}
    for run_id in ("run-1", "run-2"):
        source.asked.clear()
        world = world.next_run(run_id)
        assert world.run(request)["status"] == "SUCCEEDED"
    assert world.summary()["totals"]["unchanged"]["entries"] == 200
    assert source.asked == []


DELETING = {"BeginDeletion", "DeleteShard", "RemoveDirectories"}


@pytest.mark.parametrize(
    ("request_more", "waiting"),
    [
        ({"source": "efs:///tree", "destination": "s3://a-bucket/copy/", "mode": "sync"}, {"CopyShard"}),
        ({"mode": "sync"}, set()),
        ({"mode": "move"}, {"CopyShard"}),
    ],
)
def test_asking_for_the_turn_of_a_run_is_one_request_in_series_of_a_task_that_deletes_or_writes_to_a_bucket(
    request_more: Json, waiting: set[str]
) -> None:
    asked = {}
    for with_turns in (False, True):
        with pytest.MonkeyPatch.context() as patch:
            store = CountedStore(patch)
            turns = WriteTurns(store, OwnExecution("run-1"), ManualClock()) if with_turns else None
            world = Counted(store=store, turns=turns)
            assert isinstance(world.source, MemoryTree)
            assert isinstance(world.destination, MemoryTree)
            world.source.put("d/f", Kind.FILE, b"hello")
            for name in ("d/f", "d/extra", "d/more/extra"):
                world.destination.put(name, Kind.FILE, b"older")
            guard = {"delete_guard": {"max_percent": 100}} if request_more["mode"] == "sync" else {}
            ends = {"source": "s3://a-bucket/tree/", "destination": "efs:///copy"}
            assert world.run({**ends, **guard, **request_more})["status"] == "SUCCEEDED"
            asked[with_turns] = store.in_series
    tasks = asked[True].keys() - {"PlanTransfer", "CheckMount", "SummariseTransfer"}  # they have the lists to read
    more = {task: asked[True][task] - asked[False][task] for task in tasks}
    assert {"DeleteShard", "CopyShard", "FinishTree"} <= tasks
    assert {task: count for task, count in more.items() if count > (task in DELETING | waiting)} == {}
