"""No two runs of one transfer at the same time: through the steps, with executions that go on or do not."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace

import pytest

from fanout.finishing.finish_tree import finish_tree
from fanout.model.document import Json
from fanout.model.entry import Kind
from fanout.model.errors import DestinationBusy, InvalidRequest
from fanout.planning.plan_transfer import plan_transfer
from fanout.summary.summarise_transfer import summarise_transfer
from fanout.turns.write_turn import OLDEST_ASKED, WriteTurns, writers_from_bytes
from tests.summary.test_summary_schema import VALIDATOR
from tests.support.flow import REQUEST, World
from tests.support.memory import MemoryTree
from tests.support.memory_store import MemoryStore

KEY = "locks/mounts/data.json"
SYNC = {**REQUEST, "mode": "sync"}


@dataclass
class Known:
    """The executions that go on, and those that were asked about."""

    going: set[str] = field(default_factory=set)
    asked: list[str] = field(default_factory=list)

    def running(self, execution: str) -> bool:
        self.asked.append(execution)
        return execution in self.going


def world() -> tuple[World, Known]:
    """A source of one file, and run-1 over it, which goes on."""
    known = Known({"run-1"})
    made = World()
    assert isinstance(made.source, MemoryTree)
    made.source.put("file", Kind.FILE, b"content")
    made.turns = WriteTurns(made.store, known, made.clock)  # type: ignore[arg-type]
    return made, known


def listed(one: World) -> list[str]:
    assert isinstance(one.store, MemoryStore)
    return [writer.run_id for writer in writers_from_bytes(one.store.read_version(KEY).data)]


def test_the_second_run_is_skipped_with_a_reason_and_a_summary_and_the_first_goes_on() -> None:
    first, _ = world()
    state = first.plan()
    second = first.next_run("run-2")
    answer = second.plan()
    assert answer["status"] == "SKIPPED" and answer["holder"] == "run-1"
    assert "run-1, which began at 1970-01-12T13:46:40Z" in answer["reason"]
    summary = second.ledger.read_json("summary.json")
    VALIDATOR.validate(summary)
    assert (summary["status"], summary["error"]) == ("SKIPPED", None)
    assert summary["skipped"] == {"reason": answer["reason"], "holder": "run-1"}
    page = second.ledger.read_bytes("report.html").decode()
    assert "Skipped" in page and answer["reason"] in page
    assert second.ledger.read_bytes("failures.jsonl") == b""
    assert not second.ledger.has("plan.json")
    first.list_all(state)
    first.copy_all()
    first.finish_all()
    assert first.end()["status"] == "SUCCEEDED"
    assert listed(first) == []


def test_when_the_first_has_ended_the_next_one_runs() -> None:
    first, known = world()
    assert first.run()["status"] == "SUCCEEDED"
    assert first.next_run("run-2").run()["status"] == "SUCCEEDED"
    assert known.asked == []  # each took itself out, so nobody had to be asked about


def test_a_run_that_broke_off_takes_itself_out_too() -> None:
    first, _ = world()
    first.plan()
    assert listed(first) == ["run-1"]
    finish_tree(first.context())
    summarise_transfer({"Error": "Throttled", "Cause": "slow down"}, first.context())
    assert listed(first) == []


def test_a_run_that_was_stopped_or_broke_down_blocks_nobody() -> None:
    first, known = world()
    first.plan()
    known.going.clear()
    second = first.next_run("run-2")
    assert "run" in second.plan()
    assert (listed(second), known.asked) == (["run-2"], ["run-1"])


def test_a_plan_that_is_delivered_twice_keeps_its_turn() -> None:
    first, known = world()
    one, again = (plan_transfer(REQUEST, first.context(), ("data",), 10, "work", execution="run-1") for _ in range(2))
    assert one == again and "run" in one
    assert (listed(first), known.asked) == (["run-1"], [])


def test_a_plan_that_was_skipped_and_is_delivered_again_may_find_its_turn_come() -> None:
    first, known = world()
    first.plan()
    second = first.next_run("run-2")
    assert second.plan()["holder"] == "run-1"
    known.going = {"run-2"}
    second.list_all(second.plan())
    second.copy_all()
    second.finish_all()
    summary = second.end()
    assert (summary["status"], summary["skipped"]) == ("SUCCEEDED", None)


def test_the_name_of_a_run_that_was_skipped_can_be_used_again_but_not_that_of_one_that_ran() -> None:
    first, _ = world()
    first.run()
    with pytest.raises(InvalidRequest, match="holds the ledger of an earlier run"):
        first.plan()


@pytest.mark.parametrize("mode", ["plan", "verify"])
def test_what_writes_nothing_neither_takes_a_turn_nor_waits_for_one(mode: str) -> None:
    first, known = world()
    first.plan()
    other = first.next_run("run-2")
    assert "run" in other.plan({**REQUEST, "mode": mode})
    assert (listed(first), known.asked) == (["run-1"], [])
    summarise_transfer({"Error": "Throttled", "Cause": ""}, other.context())
    assert listed(first) == ["run-1"]


@pytest.mark.parametrize(
    "request_of_second",
    [SYNC, {**REQUEST, "source": "s3://b-bucket/tree/"}, {**REQUEST, "destination": "efs:///copy/inside"}],
)
def test_another_transfer_to_the_same_tree_waits_and_leaves_nothing_behind(request_of_second: Json) -> None:
    first, known = world()
    first.plan()
    second = first.next_run("run-2")
    with pytest.raises(DestinationBusy, match="run-1"):
        second.plan(request_of_second)
    assert list(second.ledger.keys("")) == ["waiting.json"]
    assert listed(first) == ["run-1"]
    known.going.clear()
    assert "run" in second.plan(request_of_second)


def test_a_run_that_resumes_one_that_goes_on_is_skipped() -> None:
    first, _ = world()
    first.plan()
    assert first.next_run("run-2").plan({"resume_from": "run-1"})["holder"] == "run-1"


def test_what_a_crash_left_goes_in_time_and_few_are_asked_about() -> None:
    first, known = world()
    for number in range(20):
        known.going.add(f"lost-{number}")
        first.next_run(f"lost-{number}").plan({**REQUEST, "destination": f"efs:///other{number}"})
        first.clock.time += 1
    known.asked.clear()
    known.going = {"run-1", *(f"lost-{number}" for number in range(2, 20))}
    first.plan()
    assert known.asked == [f"lost-{number}" for number in range(OLDEST_ASKED)]
    assert listed(first) == [*(f"lost-{number}" for number in range(2, 20)), "run-1"]


class LosesAnswers(MemoryStore):
    """Writes, and then says that the version was another: the answer to the first attempt was lost."""

    lost = False

    def write_version(self, key: str, data: bytes, version: str) -> None:
        super().write_version(key, data, version)
        if not self.lost:
            self.lost = True
            super().write_version(key, data, version)


def test_a_write_whose_answer_was_lost_is_found_done() -> None:
    known = Known({"run-1"})
    store = LosesAnswers()
    one = replace(World(store=store), turns=None)
    one.turns = WriteTurns(store, known, one.clock)
    assert "run" in one.plan()
    assert listed(one) == ["run-1"] and store.lost


def test_the_list_is_json_that_names_run_and_execution() -> None:
    first, _ = world()
    first.plan()
    assert isinstance(first.store, MemoryStore)
    document = json.loads(first.store.read_version(KEY).data)
    [row] = document["writers"]
    assert (row["run_id"], row["execution"], row["place"], row["mode"]) == ("run-1", "run-1", "copy/", "copy")
