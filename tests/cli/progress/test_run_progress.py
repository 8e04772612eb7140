"""From looks to what people are told: phases, the time left with the phases to come, and JSON."""

from __future__ import annotations

import json

import pytest

from fanout.model.books import Count
from fanout.request.parse import parse_request
from fanout.turns.waiting import Waiting
from fanout_cli.progress.run_progress import ListingProgress, RunLook, course_of, progress_of
from fanout_cli.progress.work import ShardProgress, ShardsAtWork
from tests.cli.progress.runs import RATES, note, shard

ENDS = {"source": "s3://a-bucket/tree/", "destination": "efs:///copy"}
WAITING = Waiting("slow1", "efs://data/slow", "sync", 1_000.0, 2, 1_090.0)


def half_done() -> ShardProgress:
    """One of two shards is done after 10 s, and nothing is at work."""
    work = ShardsAtWork([shard("a", 100, 1_000), shard("b", 100, 1_000)], RATES)
    work.take(10.0, [note("a", 0.0, 10.0, 100, 1_000, cursor=100)])
    return work.progress(10.0)


@pytest.mark.parametrize(
    ("request_fields", "course"),
    [
        ({}, "plan list copy finish summarise"),
        ({"verify": "copied"}, "plan list copy finish verify summarise"),
        ({"verify": "all"}, "plan list copy finish verify summarise"),
        ({"mode": "sync", "verify": "content"}, "plan list copy finish delete verify summarise"),
        ({"mode": "verify"}, "plan list verify summarise"),
        ({"mode": "plan"}, "plan list summarise"),
    ],
)
def test_the_phases_follow_from_the_request(request_fields: dict[str, str], course: str) -> None:
    assert " ".join(course_of(parse_request({**ENDS, **request_fields}, ("data",), 10))) == course


def test_a_run_is_told_phase_by_phase() -> None:
    began: dict[str, float] = {}
    told = []
    for number, name in enumerate(("", "plan", "list", "partition", "copy", "finish", "summarise")):
        if name:
            began[name] = 100.0 + number
        told.append(
            " ".join(f"{phase.name}:{phase.state}" for phase in progress_of(RunLook(1.0, began=dict(began))).phases)
        )
    assert told == [
        "plan:now list:next copy:next finish:next summarise:next",
        "plan:now list:next copy:next finish:next summarise:next",
        "plan:done list:now copy:next finish:next summarise:next",
        "plan:done list:now copy:next finish:next summarise:next",
        "plan:done list:done copy:now finish:next summarise:next",
        "plan:done list:done copy:done finish:now summarise:next",
        "plan:done list:done copy:done finish:done summarise:now",
    ]


def test_the_time_left_holds_the_phases_to_come() -> None:
    began = {"plan": 0.0, "list": 5.0, "copy": 10.0}
    look = RunLook(10.0, began=began, shards=half_done())
    alone = progress_of(look).eta_seconds
    assert alone == pytest.approx(10.0)
    predicted = {"plan": 5.0, "list": 5.0, "copy": 99.0, "finish": 4.0, "summarise": 3.0}
    look = RunLook(10.0, began=began, shards=half_done(), predicted=predicted)
    assert progress_of(look).eta_seconds == pytest.approx(10.0 + 7.0)


def test_the_phases_to_come_are_corrected_by_how_the_predictions_before_held() -> None:
    predicted = {"plan": 2.0, "list": 3.0, "copy": 20.0, "finish": 4.0, "verify": 30.0, "summarise": 1.0}
    course = ("plan", "list", "copy", "finish", "verify", "summarise")
    began = {"plan": 0.0, "list": 5.0, "copy": 10.0}  # twice as long as was predicted
    look = RunLook(10.0, course, began, predicted, shards=half_done())
    assert progress_of(look).eta_seconds == pytest.approx(10.0 + 2 * (4.0 + 1.0) + 30.0)
    began = {**began, "finish": 20.0, "verify": 25.0}  # the copy took half as long
    look = RunLook(30.0, course, began, predicted, shards=half_done())
    assert progress_of(look).eta_seconds == pytest.approx(10.0 + 2 * 1.0)


def test_no_time_left_is_told_while_it_lists_or_finishes() -> None:
    predicted = {"finish": 4.0, "summarise": 3.0}
    for began in ({"plan": 0.0, "list": 1.0}, {"plan": 0.0, "list": 1.0, "copy": 2.0, "finish": 3.0}):
        assert progress_of(RunLook(10.0, began=began, predicted=predicted, shards=half_done())).eta_seconds is None


def test_the_maps_count_of_functions_at_work_comes_before_that_of_the_notes() -> None:
    began = {"plan": 0.0, "list": 1.0, "copy": 2.0}
    assert progress_of(RunLook(10.0, began=began, shards=half_done(), running=7)).workers == 7
    assert progress_of(RunLook(10.0, began=began, shards=half_done())).workers == half_done().tasks


def test_a_run_that_waits_says_so_and_one_that_has_its_turn_no_longer() -> None:
    assert progress_of(RunLook(1.0, waiting=WAITING)).waiting == WAITING
    assert progress_of(RunLook(1.0, waiting=WAITING, began={"plan": 0.0, "list": 1.0})).waiting is None


def test_failures_of_the_listing_and_of_the_copy_stand_together() -> None:
    work = ShardsAtWork([shard("a", 100)], RATES)
    work.take(10.0, [note("a", 0.0, 10.0, 50, failures={"CHECKSUM": 2})])
    listed = ListingProgress(Count(110, 0), 1, 1, {"rejected by the listing": 10})
    look = RunLook(10.0, began={"plan": 0.0, "list": 1.0, "copy": 2.0}, listed=listed, shards=work.progress(10.0))
    assert progress_of(look).failures == {"rejected by the listing": 10, "CHECKSUM": 2}


def test_a_json_line_holds_all_of_it() -> None:
    began = {"plan": 0.0, "list": 1.0, "copy": 2.0}
    listed = ListingProgress(Count(200, 2_000), 3, 3, {})
    document = progress_of(RunLook(10.0, began=began, listed=listed, shards=half_done(), running=2)).document()
    assert json.loads(json.dumps(document)) == {
        "kind": "progress",
        "phases": {"plan": "done", "list": "done", "copy": "now", "finish": "next", "summarise": "next"},
        "phase": "copy",
        "listed": {"entries": 200, "bytes": 2_000},
        "segments": 3,
        "total_segments": 3,
        "done": {"entries": 100, "bytes": 1_000},
        "total": {"entries": 200, "bytes": 2_000},
        "shards": 0,
        "total_shards": 2,
        "share": 0.5,
        "entries_per_second": 10.0,
        "bytes_per_second": 100.0,
        "eta_seconds": 10.0,
        "workers": 2,
        "failures": {},
        "waiting": None,
        "staged": {"entries": 0, "bytes": 0},
        "paused_until": "",
    }
    waits = progress_of(RunLook(1.0, waiting=WAITING)).document()
    assert waits["waiting"]["holder"] == "slow1"
    assert (waits["share"], waits["eta_seconds"]) == (None, None)
