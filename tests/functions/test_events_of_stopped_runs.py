"""Hand-made events of a run that was stopped: once another run has had its turn at an end, no step changes that end.

| the events are sent            | and each step                                                        |
|--------------------------------|----------------------------------------------------------------------|
| with no later run              | leaves every file at one of the ends                                 |
| while a later run is at work   | changes neither end; one of ``belongs.TURNS`` raises ``Superseded``  |
| after it has ended             | the same                                                             |

The later run writes at the destination, or at the source of a move.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from fanout.flow.belongs import PARTS, RUNS, TURNS
from fanout.flow.steps import STEPS, functions_of
from fanout.ledger.run_places import run_prefix, verification_prefix
from fanout.model.document import Json
from fanout.model.errors import FanoutError, Superseded
from fanout.model.location import Location
from fanout.request.plan import Plan
from fanout.turns.write_turn import WriteTurns
from tests.functions.hand_made import seen
from tests.functions.run_at_work import BUCKET, MOUNT, OTHER, RUN, files, flow, ledger, sent
from tests.functions.test_handlers import OFFERED
from tests.support.handler_flow import HandlerFlow

__all__ = ["flow"]

TARGET, NEW = "s3://data-bucket/out/", "s3://data-bucket/new/"
GUARD: Json = {"delete_guard": {"max_percent": 100}}
# Of the others that name a part it is shards.json.
_LISTS = {
    **dict.fromkeys(("ListSegment", "ListOneSegment", "ListDestination"), "segments/round-0001.json"),
    **dict.fromkeys(("LookAtSource", "DeleteShard"), "deletions.json"),
}
PREFIXES = run_prefix(RUN), verification_prefix(RUN)
# PaceCopy looks for minutes at the Map that it paces.
ALL = [step for step in RUNS if step != "PaceCopy"]


class Stopped(Exception):
    """Somebody stops the execution."""


def stop_before(flow: HandlerFlow, state: str, request: Json) -> None:
    """A run that is stopped when it is to enter a state."""

    def stop() -> None:
        raise Stopped

    flow.before[state] = stop
    with pytest.raises(Stopped):
        flow.run(RUN, request)


def events(steps: Iterable[str]) -> Iterator[tuple[str, Json]]:
    """Each of these steps, on both ledgers, with each part of its own that these hold."""
    functions = functions_of(ledger().read_plan(), ("data", "archive"), OFFERED)
    for step, prefix in product(steps, PREFIXES):
        for part in parts(step, prefix):
            event = sent(step, prefix, **({"segment": part, "shard": part} if part else {}))
            event["run"]["functions"] = functions
            event["state"] = {"run": event["run"], "shards": event["state"]["shards"]}
            yield step, event


def parts(step: str, prefix: str) -> list[Json]:
    """The parts of a step that a ledger holds; nothing for one that it does not hold, or that names none."""
    key = _LISTS.get(step, "shards.json" if step in PARTS else "")
    with suppress(FanoutError):
        return [row.get("shard", row) for row in ledger(prefix).read_json(key)] if key else [{}]
    return []


def at_ends(s3: Any, mounts: Path) -> Json:
    """What lies at the ends."""
    return {name: found for name, found in seen(s3, mounts).items() if not name.startswith("work-bucket/")}


class Sender:
    """Sends all events, none of which changes an end; ``superseded`` are the steps that the run may not do any more."""

    def __init__(self, flow: HandlerFlow, s3: Any, mounts: Path) -> None:
        self.flow, self.s3, self.mounts, self.superseded = flow, s3, mounts, set[str]()
        self.sent = set[str]()

    def __call__(self, steps: Iterable[str] = TURNS) -> None:
        """Send them, of these steps."""
        for step, event in events(steps):
            before = at_ends(self.s3, self.mounts)
            self.sent.add(step)
            said = ""
            try:
                self.flow.step(step, event)
            except Superseded:
                self.superseded.add(step)
            except FanoutError as error:
                said = str(error)
                if "comes after FinishTree" in said:
                    self.superseded.add(step)
            assert at_ends(self.s3, self.mounts) == before, (step, event["run"]["prefix"], said)


@pytest.fixture
def send(flow: HandlerFlow, s3: Any, tmp_path: Path) -> Sender:
    """Another content of a file and an extra at each destination, and an object for the later run."""
    (tmp_path / "data/out").mkdir()
    for name in ("a", "extra"):
        (tmp_path / "data/out" / name).write_bytes(b"older")
        s3.put_object(Bucket="data-bucket", Key=f"out/{name}", Body=b"older")
    s3.put_object(Bucket="data-bucket", Key="new/z", Body=b"new")
    return Sender(flow, s3, tmp_path)


def has_files(s3: Any, mounts: Path, end: str) -> set[str]:
    """The names at an end."""
    if end.startswith("s3://"):
        prefix = end.removeprefix("s3://data-bucket/")
        rows = s3.list_objects_v2(Bucket="data-bucket", Prefix=prefix).get("Contents", ())
        return {row["Key"].removeprefix(prefix) for row in rows}
    return files(mounts / end.removeprefix("efs://"))


STOPPED = [
    (OTHER, MOUNT, "move", "BeginDeletion"),
    (OTHER, MOUNT, "move", "DeleteShard"),
    (OTHER, MOUNT, "move", "UnpackShard"),
    (BUCKET, MOUNT, "move", "DeleteShard"),
    (OTHER, TARGET, "move", "DeleteShard"),
    (OTHER, TARGET, "sync", "CopyShard"),
    (OTHER, TARGET, "sync", "DeleteShard"),
    (BUCKET, MOUNT, "sync", "DeleteShard"),
    (BUCKET, TARGET, "copy", "CopyShard"),
]


def request_of(source: str, destination: str, mode: str) -> Json:
    """The request of the run that is stopped."""
    return {"source": source, "destination": destination, "mode": mode} | (GUARD if mode == "sync" else {})


@pytest.mark.parametrize(("source", "destination", "mode", "state"), STOPPED)
def test_a_later_run_at_the_destination_ends_what_a_stopped_one_may(
    send: Sender, s3: Any, tmp_path: Path, source: str, destination: str, mode: str, state: str
) -> None:
    stop_before(send.flow, state, request_of(source, destination, mode))
    first = send.flow.run("first", {"source": NEW, "destination": destination})
    send.flow.before["FinishTree"] = send
    later = send.flow.run("later", {"source": NEW, "destination": destination, "mode": "sync", **GUARD})
    assert first["status"] == later["status"] == "SUCCEEDED"
    assert has_files(s3, tmp_path, destination) == {"z"}
    at_work, send.superseded = send.superseded, set()
    send(ALL if state == "BeginDeletion" else TURNS)
    assert has_files(s3, tmp_path, destination) == {"z"}
    assert has_files(s3, tmp_path, source) == set("abc")
    plans = [ledger(prefix).read_plan() for prefix in PREFIXES if ledger(prefix).has("plan.json")]
    asking = {step for step, asks in TURNS.items() if asks(plans[0].request.destination)} & send.sent
    own = {step for step in asking if any(map(RUNS[step], plans))}
    assert mode == "copy" or "RemoveDirectories" in own
    assert own - send.superseded == own - at_work == {"FinishShard"} & own


@pytest.mark.parametrize("source", [OTHER, BUCKET])
def test_a_later_run_at_the_source_ends_what_a_stopped_move_may(
    send: Sender, s3: Any, tmp_path: Path, source: str
) -> None:
    stop_before(send.flow, "DeleteShard", request_of(source, MOUNT, "move"))
    later = send.flow.run("later", {"source": NEW, "destination": source})
    assert later["status"] == "SUCCEEDED"
    send()
    assert has_files(s3, tmp_path, source) == set("abcz")
    assert {"BeginDeletion", "DeleteShard", "RemoveDirectories"} <= send.superseded


@pytest.mark.parametrize(("source", "destination", "mode", "state"), STOPPED[:2])
def test_without_a_later_run_every_file_is_at_one_of_the_ends(
    send: Sender, s3: Any, tmp_path: Path, source: str, destination: str, mode: str, state: str
) -> None:
    stop_before(send.flow, state, request_of(source, destination, mode))
    for step, event in events(ALL):
        with suppress(FanoutError):
            send.flow.step(step, event)
        there = has_files(s3, tmp_path, source) | has_files(s3, tmp_path, destination)
        assert set("abc") <= there, step


def test_a_task_that_deletes_asks_again_before_it_does(
    flow: HandlerFlow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The later run comes in the middle of the task, which does not see the destination of a move."""
    stop_before(flow, "DeleteShard", request_of(OTHER, MOUNT, "move"))
    asked, ask = list[Location](), WriteTurns.ask

    def ask_twice(turns: WriteTurns, plan: Plan, end: Location) -> None:
        asked.append(end)
        if len(asked) > len(plan.request.written_ends):
            raise Superseded(plan.run_id)
        ask(turns, plan, end)

    monkeypatch.setattr(WriteTurns, "ask", ask_twice)
    ((step, event),) = events(["DeleteShard"])
    with pytest.raises(Superseded):
        flow.step(step, event)
    assert len(asked) == 3
    assert files(tmp_path / "archive/in") == set("abc")


def test_each_step_that_asks_is_one_of_a_planned_run() -> None:
    assert TURNS.keys() <= RUNS.keys() <= STEPS.keys()
