"""``limits.finish_by``: the plan that a run takes to end in time, what is refused, and with which other fields."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from fanout.forecast.choosing.finish import Finish, Moments, decide_finish
from fanout.model.document import Json, utc
from fanout.model.entry import Kind
from fanout.model.errors import BudgetRefused, DestinationBusy, FinishRefused, InvalidRequest
from fanout.model.location import Location
from fanout.partition.partition_shards import partition_shards
from fanout.ports.turns import Turn, Writer
from fanout.request.plan import Plan
from fanout.summary.summarise_transfer import summarise_transfer
from tests.support.flow import REQUEST, World
from tests.support.memory import MemoryTree
from tests.support.publishing import REQUEST as PUBLISH
from tests.support.publishing import PublishingWorld
from tests.support.two_mounts import TwoMounts

FILES = 400
SLOW: dict[str, Any] = {"files_per_second": 1}  # 400 s of copying
NOON = 1_000_000.0 - 1_000_000.0 % 86_400 + 43_200


def filled(short: bool = False) -> World:
    world = World(short=short)
    assert isinstance(world.source, MemoryTree)
    for number in range(FILES):
        world.source.put(f"d{number % 4}/f{number}", Kind.FILE, b"x" * 50)
    return world


def request(finish_by: str, fields: Json | None = None, **limits: Any) -> Json:
    return {**REQUEST, **(fields or {}), "limits": {"finish_by": finish_by, **limits}}


def partitioned(world: World, document: Json) -> Json:
    world.list_all(world.plan(document))
    answer: Json = partition_shards(world.context())
    return answer


def finish_of(world: World) -> Json:
    found: Json = world.ledger.read_json("forecast.json")["finish"]
    return found


def refused(world: World, document: Json) -> str:
    """The message of a run that is refused before anything is copied."""
    with pytest.raises(FinishRefused) as error:
        partitioned(world, document)
    assert isinstance(world.destination, MemoryTree) and not world.destination.contents()
    caught = {"Error": "FinishRefused", "Cause": str(error.value)}
    ended = summarise_transfer(caught, world.context())
    assert (ended["status"], ended["error"]) == ("FAILED", "FinishRefused")
    return str(error.value)


def nearest_of(message: str) -> str:
    found = re.search(r"the nearest that a plan reaches is limits\.finish_by='([^']+)'$", message)
    assert found is not None, message
    return found[1]


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"verify": "all"},
        {"verify": "content"},
        {"mode": "sync"},
        {"mode": "move"},
        {"mode": "verify"},
        {"compare": "checksum"},
        {"report_entries": "all"},
    ],
    ids=str,
)
@pytest.mark.parametrize("short", [False, True])
def test_a_run_that_ends_in_time_says_its_plan_and_what_became_of_it(fields: Json, short: bool) -> None:
    world = filled(short)
    if fields.get("mode") == "verify":
        world.run()
        world.run_id = "run-2"
    summary = world.run(request("4h", fields))
    assert summary["status"] == "SUCCEEDED", summary["error"]
    finish = summary["forecast"]["finish"]
    assert finish["functions"] >= 1 and finish["nearest"] == "" and finish["plans"]
    assert finish["at"] == utc(world.ledger.read_plan().began + 4 * 3600)
    assert finish["reached"] is True and finish["ended_at"] == summary["ended"]
    assert re.match(r"ended at \S+, 4h before \S+; \S+ was predicted; \w+ took \d+ s (more|less)", finish["outcome"])
    assert f"limits.finish_by: {finish['outcome']}" in summary["notes"]
    page = world.ledger.read_bytes("report.html").decode()
    assert f"Reached: the run {finish['outcome']}" in page and 'id="curve"' in page
    assert any(note.startswith("limits.finish_by '4h' is ") and finish["why"] in note for note in summary["notes"])


def test_a_version_is_published_in_time(tmp_path: Path) -> None:
    world = PublishingWorld(run_id="v1", mount=tmp_path)
    assert isinstance(world.source, MemoryTree)
    world.source.put("a", Kind.FILE, b"x")
    summary = world.publish({**PUBLISH, "limits": {"finish_by": "4h"}})
    assert summary["status"] == "SUCCEEDED", summary["error"]
    assert summary["forecast"]["finish"]["reached"] is True
    assert "publish" in summary["forecast"]["predicted_seconds"]


def test_the_cheapest_plan_that_ends_is_taken_and_starts_with_its_functions() -> None:
    # Ten functions at a rate of one file a second only wait; fewer cost less.
    world = filled()
    assert partitioned(world, request("4h", **SLOW, shard_seconds=0.1))["max_concurrency"] == 1
    plain = filled()
    assert partitioned(plain, {**REQUEST, "limits": {**SLOW, "shard_seconds": 0.1}})["max_concurrency"] > 1
    dollars = [one.ledger.read_json("forecast.json")["dollars"]["total"] for one in (world, plain)]
    assert dollars[0] < dollars[1]


def test_what_the_request_allows_is_never_passed() -> None:
    world = filled()
    answer = partitioned(world, request("10m", max_concurrency=2, shard_seconds=0.1))
    assert answer["max_concurrency"] <= 2 and finish_of(world)["functions"] <= 2
    assert all(one["shard_seconds"] == 0.1 for one in finish_of(world)["plans"])


@pytest.mark.parametrize("fields", [{}, {"mode": "move"}, {"verify": "all"}], ids=str)
def test_a_run_between_two_mounts_ends_in_time_by_a_plan_of_both_or_is_refused(tmp_path: Path, fields: Json) -> None:
    late = TwoMounts(tmp_path, run_id="late")
    for number in range(FILES):
        (late.source_root / f"f{number}").write_bytes(b"x" * 50)
    with pytest.raises(FinishRefused, match="the rate of the request binds it"):
        late.run({**fields, "limits": {"finish_by": "2m", **SLOW}})
    assert list(late.root.parent.rglob("f*")) == [] and late.staged() == []
    again = TwoMounts(tmp_path, run_id="again", store=late.store)
    summary = again.run({**fields, "limits": {"finish_by": "4h", **SLOW}})
    assert summary["status"] == "SUCCEEDED" and len(list(again.root.iterdir())) == FILES
    finish = summary["forecast"]["finish"]
    assert finish["reached"] is True and finish["plans"] and finish["functions"] == 1


@pytest.mark.parametrize(("reserved", "unreserved", "most"), [(3, 1000, 3), (0, 5, 3), (0, 2, 1), (0, 1000, 10)])
def test_no_plan_has_more_functions_than_the_account_lets_run(
    reserved: int, unreserved: int, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Lets:
        def unreserved_concurrency(self) -> int:
            return unreserved

    tried: list[int] = []

    def decide(moments: Moments, most: int, *others: Any) -> Finish:
        tried.append(most)
        return decide_finish(moments, most, *others)

    monkeypatch.setattr("fanout.forecast.choosing.finish.decide_finish", decide)
    world = filled()
    world.account, world.reserved_concurrency = Lets(), reserved
    answer = partitioned(world, request("4h", shard_seconds=0.1))
    assert tried == [most] and answer["max_concurrency"] <= most
    assert {one["functions"] for one in finish_of(world)["plans"]} <= set(range(1, most + 1))


@pytest.mark.parametrize("finish_by", ["2m", "12:02 UTC", utc(NOON + 120)])
def test_a_run_that_no_plan_ends_in_time_is_refused_and_the_nearest_is_reached(finish_by: str) -> None:
    world = filled()
    world.clock.time = NOON
    message = refused(world, request(finish_by, **SLOW))
    assert message.startswith(f"limits.finish_by: '{finish_by}' is not reached: no plan ends by 1970-01-")
    assert "the rate of the request binds it; nothing was copied or deleted" in message
    world.run_id = "run-2"
    summary = world.run({"resume_from": "run-1", "limits": {"finish_by": nearest_of(message)}})
    assert summary["status"] == "SUCCEEDED" and summary["forecast"]["finish"]["functions"]


def test_a_run_just_before_the_nearest_is_refused_too() -> None:
    world = filled()
    message = refused(world, request("2m", **SLOW))
    hours, minutes = re.fullmatch(r"(?:(\d+)h)?(?:(\d+)m)?", nearest_of(message)).groups()  # type: ignore[union-attr]
    again = filled()
    refused(again, request(f"{int((int(hours or 0) * 60 + int(minutes or 0)) * 0.85)}m", **SLOW))


def test_a_plan_notes_what_would_be_refused() -> None:
    summary = filled().run(request("2m", {"mode": "plan"}, **SLOW))
    assert summary["status"] == "SUCCEEDED"
    (note,) = [one for one in summary["notes"] if "finish_by" in one]
    assert note.startswith("a copy or a sync would be refused: limits.finish_by: '2m' is not reached")
    assert summary["forecast"]["finish"]["reached"] is None


def test_dollars_and_time_both_bind() -> None:
    world = filled()
    with pytest.raises(BudgetRefused):
        partitioned(world, request("4h", {"prices": {"s3_get": 1.0}}, max_dollars=1.0))
    assert finish_of(world)["functions"]
    cheap = filled()
    with pytest.raises(FinishRefused):
        partitioned(cheap, request("2m", max_dollars=1000.0, **SLOW))


def test_a_time_that_stops_the_run_earlier_binds() -> None:
    message = refused(filled(), request("4h", max_seconds=120, **SLOW))
    assert "no plan ends by" in message


def test_closed_hours_count() -> None:
    world = filled()
    world.clock.time = NOON
    partitioned(world, request("30h", window="11:00-13:00 UTC", **SLOW))
    closing = filled()
    closing.clock.time = NOON + 3500  # the window closes in 100 s, and opens after 22 hours
    assert "no plan ends by" in refused(closing, request("4h", window="11:00-13:00 UTC", **SLOW))


def test_a_moment_that_has_passed_at_a_retry_is_refused_with_what_to_set() -> None:
    world = filled()
    world.clock.time = NOON
    partitioned(world, request(utc(NOON + 3600)))
    world.run_id, world.clock.time = "run-2", NOON + 7200
    with pytest.raises(InvalidRequest, match=r"limits\.finish_by: '.*' had passed when the run began, at .*--set"):
        world.plan({"resume_from": "run-1"})
    assert world.run({"resume_from": "run-1", "limits": {"finish_by": "4h"}})["status"] == "SUCCEEDED"


@pytest.mark.parametrize("finish_by", ["13:00 UTC", "1h"])
def test_each_run_of_a_schedule_and_each_retry_has_a_moment_of_its_own(finish_by: str) -> None:
    world = filled()
    for day in range(3):
        world.run_id, world.clock.time = f"run-{day}", NOON + day * 86_400
        partitioned(world, request(finish_by))
        assert finish_of(world)["at"] == utc(NOON + day * 86_400 + 3600)


def test_a_run_that_waited_for_its_turn_counts_from_when_it_asked() -> None:
    class Turns:
        busy = True

        def look_ahead(self, _ends: object, _pool: object) -> None:
            pass

        def take(self, _plan: Plan, _execution: str, *_input: object) -> Writer | None:
            if self.busy:
                raise DestinationBusy("efs:///copy", "run-0", "sync")
            return None

        def ask(self, _plan: Plan, _end: Location) -> None:
            pass

        def turn(self, _plan: Plan, _end: Location) -> Turn:
            return Turn()

    world = filled()
    world.turns, world.clock.time = Turns(), NOON  # type: ignore[assignment]
    with pytest.raises(DestinationBusy):
        world.plan(request("13:00 UTC"))
    Turns.busy, world.clock.time = False, NOON + 7200
    # Its moment is that of this day, which has passed, and not that of the next one.
    with pytest.raises(FinishRefused) as error:
        partitioned(world, request("13:00 UTC"))
    assert nearest_of(str(error.value)) >= "14:00"


def test_a_second_attempt_keeps_the_plan_of_the_first() -> None:
    world = filled()
    partitioned(world, request("10m", **SLOW, shard_seconds=0.1))
    first = world.ledger.read_json("pacing/finish.json"), world.ledger.read_json("shards.json")
    world.clock.time += 60  # by now another plan might be chosen
    partition_shards(world.context())
    assert (world.ledger.read_json("pacing/finish.json"), world.ledger.read_json("shards.json")) == first


def test_a_run_without_it_has_neither_choice_nor_document() -> None:
    world = filled()
    summary = world.run()
    assert summary["forecast"]["finish"] is None and not world.ledger.has("pacing/finish.json")
