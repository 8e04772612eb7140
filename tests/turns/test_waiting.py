"""A run that waits for its turn says whom it waits for, since when, and when it asks again."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from fanout.model.document import Json
from fanout.model.entry import Kind
from fanout.model.errors import DestinationBusy, Transient
from fanout.turns.waiting import RETRY_SECONDS, RETRY_SECONDS_MAX, WAITING, longest_pause
from fanout.turns.write_turn import WriteTurns
from tests.support.flow import REQUEST, World
from tests.support.memory import MemoryTree
from tests.support.memory_store import MemoryStore

RETRIES = Path(__file__).parents[2] / "statemachine/retries.yaml"
TO_BUCKET = {"source": "efs:///tree", "destination": "s3://bucket/out/"}


class GoOn:
    """Executions of which all go on until they are told to end."""

    ended = False

    def running(self, execution: str) -> bool:
        """See ``ports.tree.Executions``."""
        return not self.ended


def waiting_world(first: Json) -> tuple[World, GoOn]:
    """The run ``slow1``, which goes on, and a second one over the same trees."""
    store, executions = MemoryStore(), GoOn()
    made = World(store=store, run_id="slow1")
    assert isinstance(made.source, MemoryTree)
    made.source.put("file", Kind.FILE, b"content")
    made.turns = WriteTurns(store, executions, made.clock)
    made.plan(first)
    return made.next_run("run-2"), executions


@pytest.mark.parametrize(
    ("first", "second", "held"),
    [
        ({**REQUEST, "destination": "efs:///slow"}, {**REQUEST, "destination": "efs:///slow/in"}, "efs://data/slow"),
        ({**REQUEST, "destination": "efs:///"}, {**REQUEST, "destination": "efs:///slow"}, "efs://data/"),
        ({**TO_BUCKET, "mode": "sync"}, {**TO_BUCKET, "source": "efs:///other"}, "s3://bucket/out/"),
    ],
)
def test_it_names_the_run_it_waits_for_and_what_that_one_writes(first: Json, second: Json, held: str) -> None:
    world, _ = waiting_world(first)
    with pytest.raises(DestinationBusy):
        world.plan(second)
    found = world.ledger.read(WAITING)
    assert (found.holder, found.destination, found.mode) == ("slow1", held, first.get("mode", "copy"))


def test_each_try_says_when_it_asks_again_and_the_begin_of_the_waiting_stays() -> None:
    world, executions = waiting_world(REQUEST)
    began = world.clock.time
    latest = []
    for _ in range(6):
        with pytest.raises(DestinationBusy):
            world.plan({**REQUEST, "mode": "sync"})
        found = world.ledger.read(WAITING)
        assert found.since == began
        latest.append(found.next_try - world.clock.time)
        world.clock.sleep(latest[-1])
    assert latest == [30.0, 60.0, 120.0, 240.0, 300.0, 300.0]
    assert found.tries == 6
    executions.ended = True
    assert "run" in world.plan({**REQUEST, "mode": "sync"})


def test_the_pauses_are_those_of_the_state_machine() -> None:
    [busy] = yaml.safe_load(RETRIES.read_text())["Schemes"]["busy"]
    assert (busy["IntervalSeconds"], busy["MaxDelaySeconds"]) == (RETRY_SECONDS, RETRY_SECONDS_MAX)
    assert longest_pause(busy["MaxAttempts"]) == RETRY_SECONDS_MAX


def test_a_run_that_can_not_say_that_it_waits_waits_all_the_same() -> None:
    world, _ = waiting_world(REQUEST)

    class Down(MemoryStore):
        def put(self, key: str, data: bytes) -> None:
            raise Transient("no answer")

    world.store = Down()  # the list of those who write is kept elsewhere
    with pytest.raises(DestinationBusy, match="slow1"):
        world.plan({**REQUEST, "mode": "sync"})
