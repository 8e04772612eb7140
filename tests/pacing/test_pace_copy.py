"""PaceCopy: looks, decides, moves and notes; ends with the Map; and fails nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import pairwise
from math import inf

import pytest

from fanout.efs.capacity import baseline, most_credits
from fanout.facts.aws import HISTORY_EVENTS
from fanout.ledger import keys
from fanout.model.document import Json
from fanout.model.entry import Kind
from fanout.model.errors import AccessDenied, FanoutError, Throttled
from fanout.model.file_system import CREDITS, IO_LIMIT, METERED, Described, Reading, ThroughputMode
from fanout.pacing.pace_copy import LABEL, MAP_SECONDS, decisions, end_pacing, pace_copy
from fanout.pacing.rows import PACING_PLAN
from fanout.pacing.rule import DECIDE_SECONDS, rest_seconds
from fanout.partition.partition_shards import partition_shards
from fanout.ports.pacing import MapRun
from fanout.shards.tasks.attempts import note_throttling
from fanout.summary.summarise_transfer import summarise_transfer
from fanout.work.rates.run_limits import LIMITS, RunLimits
from tests.support.flow import ManualClock, World
from tests.support.memory import MemoryTree
from tests.support.memory_meter import MemoryMeter

ARN = "run-1"  # the execution of a world's run, whose plan names it
SIZE = 100 * 10**9


@dataclass
class Maps:
    """A Map of ten items, of which one is through each minute from ``begins`` on; what was asked, and when."""

    clock: ManualClock
    begins: float = 5.0
    status: str = "RUNNING"
    refuses: FanoutError | None = None
    refuses_to_move: FanoutError | None = None
    concurrency: int = 4
    asked: list[float] = field(default_factory=list)
    moved: list[int] = field(default_factory=list)
    during: Callable[[float], None] = lambda _seconds: None

    def __post_init__(self) -> None:
        self.began = self.clock.time

    def find(self, execution_arn: str, label: str) -> MapRun | None:
        assert (execution_arn, label) == (ARN, LABEL)
        seconds = self.clock.time - self.began
        self.asked.append(seconds)
        self.during(seconds)
        if self.refuses is not None:
            raise self.refuses
        if seconds < self.begins:
            return None
        done = min(10, int((seconds - self.begins) // 60))
        status = "SUCCEEDED" if done == 10 else self.status
        return MapRun(f"{ARN}/map", status, self.concurrency, 10, max(0, 10 - done - 4), min(4, 10 - done))

    def move(self, map_run_arn: str, max_concurrency: int) -> None:
        if self.refuses_to_move is not None:
            raise self.refuses_to_move
        self.moved.append(max_concurrency)
        self.concurrency = max_concurrency


def started(meter: MemoryMeter | None = None, **limits: float | str) -> tuple[World, Maps, Json]:
    """A run that begins to copy; its file system is measured if there is a meter."""
    world = World(clock=ManualClock())
    if meter is not None:
        world.meter, world.file_system_ids = meter, {"data": "fs-1"}
    assert isinstance(world.source, MemoryTree)
    for number in range(400):
        world.source.put(f"f{number:03d}", Kind.FILE, bytes(100_000))
    request = {"source": "s3://a-bucket/x/", "destination": "efs:///copy", "limits": {"shard_seconds": 0.1, **limits}}
    world.list_all(world.plan(request))
    shards = partition_shards(world.context())
    return world, Maps(world.clock, concurrency=shards["max_concurrency"]), shards


def bursting(clock_time: float, share: float) -> MemoryMeter:
    """A file system of 100 GB with so many of its credits, as CloudWatch tells it three minutes late."""
    described = Described(ThroughputMode.BURSTING, "generalPurpose", False, SIZE, 0, 0, 0.0)
    at = clock_time - 180
    readings = {
        CREDITS: [Reading(at, share * most_credits(SIZE))],
        IO_LIMIT: [Reading(at, 5.0)],
        METERED: [Reading(at, 0.0)],
    }
    return MemoryMeter({"fs-1": described}, {"fs-1": readings})


def test_it_is_told_of_the_end_and_asks_nobody_in_a_short_run() -> None:
    world, maps, shards = started()
    assert shards["paced"] and shards["count"] > 1
    began = world.clock.time
    end_pacing(world.context())
    assert pace_copy(ARN, world.context(), maps) == {"done": True}
    assert (maps.asked, maps.moved, world.clock.time - began) == ([], [], 0.0)


@pytest.mark.parametrize("ends", [0.01, 0.99, 14.9, 31.0, 59.9, 60.1, 239.0, 833.0])
def test_a_run_is_at_most_fifteen_seconds_longer_whenever_its_map_ends(
    ends: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it takes to ask is not in it: that is measured, in docs/develop/benchmarks/rates.md."""
    world, maps, _ = started()
    began, sleep = world.clock.time, world.clock.sleep
    looks = [began]

    def sleeping(seconds: float) -> None:
        left = began + ends - world.clock.time
        if 0 <= left < seconds:
            world.clock.time += left
            end_pacing(world.context())
            seconds -= left
        sleep(seconds)
        looks.append(world.clock.time)

    monkeypatch.setattr(world.clock, "sleep", sleeping)
    world.remaining_seconds = 900
    monkeypatch.setattr(Maps, "find", lambda *_: None)
    assert pace_copy(ARN, world.context(), maps) == {"done": True}
    assert 0 <= world.clock.time - (began + ends) <= (1.0 if ends < 60 else 3.0)
    assert max(second - first for first, second in pairwise(looks)) <= 15.0


@pytest.mark.parametrize("status", ["FAILED", "ABORTED", "TIMED_OUT", "SUCCEEDED"])
def test_it_ends_with_the_map_however_that_ends(status: str) -> None:
    world, maps, _ = started()
    maps.status = status
    assert pace_copy(ARN, world.context(), maps) == {"done": True}
    assert world.clock.time - maps.began <= 20


def test_it_asks_for_the_map_twice_a_minute_and_goes_on_in_another_task() -> None:
    world, maps, _ = started()
    world.remaining_seconds = 300
    assert pace_copy(ARN, world.context(), maps) == {"done": False, "until": ""}
    assert world.clock.time - maps.began <= 300 - 20
    assert all(second - first >= MAP_SECONDS * 0.5 for first, second in pairwise(maps.asked))
    assert len(maps.asked) <= 3 + 300 / MAP_SECONDS * 2
    rows = len(decisions(world.ledger))
    assert rows == pytest.approx(270 / DECIDE_SECONDS, abs=1)
    while not pace_copy(ARN, world.context(), maps)["done"]:
        pass
    times = [row.at for row in decisions(world.ledger)]
    assert times == sorted(times) and len(times) > rows
    assert all(second - first >= DECIDE_SECONDS for first, second in pairwise(times))


def test_it_grows_while_there_is_room_and_shrinks_where_functions_are_throttled() -> None:
    world, maps, _ = started(max_concurrency=10)
    maps.concurrency = 4

    def during(seconds: float) -> None:
        if seconds > 400:
            note_throttling(world.context())

    maps.during = during
    pace_copy(ARN, world.context(), maps)
    assert maps.moved[0] > 4
    assert any(second < first for first, second in pairwise(maps.moved))
    rows = decisions(world.ledger)
    assert {row.throttled > 0 for row in rows} == {True, False}
    assert any("throttled" in row.reason for row in rows)


def test_credits_below_the_reserve_are_not_spent_from_the_first_second_on() -> None:
    world, maps, shards = started(bursting(1_000_000.0, share=0.1))
    assert shards["max_concurrency"] == 1
    rate = world.ledger.read_json("pacing/rate.json")
    assert rate["bytes_per_second"] == pytest.approx(baseline(SIZE), rel=0.05) and rate["entry_bytes"] > 4096
    pace_copy(ARN, world.context(), maps)
    assert max(maps.moved, default=1) == 1
    assert all((row.bytes_per_second or inf) <= baseline(SIZE) * 1.1 for row in decisions(world.ledger))
    assert "above the reserve" in decisions(world.ledger)[0].reason


@pytest.mark.parametrize("silent", ["metrics", "all"])
def test_what_can_not_be_measured_is_noted_once_and_errs_towards_the_file_system(silent: str) -> None:
    meter = bursting(1_000_000.0, share=0.9)
    world, maps, _ = started(meter)
    fast = world.ledger.read_json("pacing/rate.json")["bytes_per_second"]
    meter.refuses = Throttled("GetMetricData: slow down") if silent == "all" else None
    meter.metrics = {}
    pace_copy(ARN, world.context(), maps)
    rows = decisions(world.ledger)
    assert all(row.bytes_per_second == pytest.approx(baseline(SIZE), rel=0.1) for row in rows)
    assert fast > 5 * (rows[-1].bytes_per_second or fast)
    found = world.ledger.find(keys.note_key("pace"))
    assert (found is None) == (silent == "metrics")
    if found is not None:
        assert len(found.notes) == 1 and "data could not be measured (Throttled" in found.notes[0]


def test_a_map_that_can_not_be_asked_or_moved_is_a_note_and_no_failure() -> None:
    world, maps, _ = started()
    maps.refuses = AccessDenied("states:ListMapRuns", ARN, "allow it in the role of PaceCopy")
    world.remaining_seconds = 200
    assert pace_copy(ARN, world.context(), maps) == {"done": False, "until": ""}
    maps.refuses, maps.refuses_to_move = None, AccessDenied("states:UpdateMapRun", ARN, "allow it")
    world.remaining_seconds = 900
    pace_copy(ARN, world.context(), maps)
    notes = world.ledger.read(keys.note_key("pace")).notes
    assert any("the Map could not be moved (AccessDenied" in note for note in notes)


def test_a_rate_that_is_changed_while_it_runs_moves_the_map() -> None:
    world, maps, _ = started(max_concurrency=10)
    world.ledger.write(LIMITS, RunLimits(bytes_per_second=4.0 * 2**20))
    maps.concurrency = 8
    pace_copy(ARN, world.context(), maps)
    assert maps.moved[0] == 1


def test_the_summary_tells_what_the_state_machine_could_not_pace() -> None:
    world, _, _ = started()
    world.copy_all()
    world.finish_all()
    pace = {"pacing": {"note": "AccessDenied: no"}, "copying": {}}
    assert summarise_transfer(None, world.context(), pace)["status"] == "SUCCEEDED"
    notes = world.ledger.read_json("summary.json")["notes"]
    assert notes == ["the copying was not paced to its end: AccessDenied: no"]


def test_the_page_shows_what_was_decided() -> None:
    world, maps, _ = started(bursting(1_000_000.0, share=0.5))
    pace_copy(ARN, world.context(), maps)
    world.copy_all()
    world.finish_all()
    world.end()
    page = world.ledger.read_bytes("report.html").decode()
    for title in ("Pacing", "Functions at once", "Burst credits: data", "PercentIOLimit: data", "Rate of all"):
        assert title in page


def test_a_single_shard_is_not_paced() -> None:
    world = World()
    assert isinstance(world.source, MemoryTree)
    world.source.put("f", Kind.FILE, b"x")
    world.list_all(world.plan())
    assert partition_shards(replace(world).context())["paced"] is False


@pytest.mark.parametrize(
    ("finish_by", "reason"), [("9m", "behind limits.finish_by"), ("4h", "ahead of limits.finish_by")]
)
def test_a_copy_that_is_behind_its_time_speeds_up_and_one_ahead_slows_down(finish_by: str, reason: str) -> None:
    world, maps, _ = started(max_concurrency=10, finish_by=finish_by)  # a Map of ten minutes, by its items
    planned, maps.concurrency = world.ledger.read(PACING_PLAN).functions, 4
    pace_copy(ARN, world.context(), maps)
    first, last = maps.moved[0], maps.moved[-1]
    assert (4 < first <= last <= 10) if finish_by == "9m" else (4 > first >= last >= planned)
    assert any(one.reason.startswith(reason) for one in decisions(world.ledger))


def test_a_copy_of_a_year_is_paced_within_the_history_of_an_execution() -> None:
    """Each task leaves seven events in it, and a wait two; a full history ends a run without a summary."""
    elapsed, events = 0.0, 0
    while elapsed < 365 * 86_400:
        elapsed += 870
        rest = rest_seconds(elapsed)
        assert rest <= elapsed / 400
        elapsed += rest
        events += 9 if rest else 7
    assert events < HISTORY_EVENTS - 3_000


def test_a_copy_of_weeks_says_when_it_is_paced_again() -> None:
    world, maps, _ = started()
    world.remaining_seconds = 300
    world.clock.time += 30 * 86_400
    maps.began = world.clock.time
    answer = pace_copy(ARN, world.context(), maps)
    assert answer["done"] is False
    rest = datetime.fromisoformat(answer["until"]).timestamp() - world.clock.time
    assert rest == pytest.approx(30 * 86_400 / 500, rel=0.01)
