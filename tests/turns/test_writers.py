"""Which runs may write at the same time: the table of ``fanout.turns.write_turn``."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanout.efs.seconds import DEFAULT_RATES
from fanout.ports.turns import Fence, Writer
from fanout.request.parse import parse_request
from fanout.request.plan import Plan
from fanout.turns.meeting import Meeting, meeting
from fanout.turns.write_turn import list_key, writer_of, writers_bytes, writers_from_bytes

APART, SAME, WAITS = Meeting.APART, Meeting.SAME, Meeting.WAITS
BASE = {"source": "s3://a-bucket/in/", "destination": "efs:///x/y"}
NAMED = {"manifest": "s3://a-bucket/list.csv"}
PUBLISHED = {"publish": {"link": "current"}}
BACK = {**PUBLISHED, "mode": "rollback", "source": "efs:///x/y/versions/v1"}


def plan(run_id: str, **fields: Any) -> Plan:
    return Plan(run_id, parse_request({**BASE, **fields}, ("data", "more"), 10), DEFAULT_RATES)


def writer(run_id: str, versions: str = "", **fields: Any) -> Writer:
    made = plan(run_id, **fields)
    return writer_of(made, made.request.destination, f"arn:{run_id}", 1.0, versions)


@pytest.mark.parametrize(
    ("mine", "other", "expected"),
    [
        ({}, {}, SAME),
        ({"destination": "efs://data/x/y/"}, {"destination": "efs:///x/y"}, SAME),
        ({"limits": {"max_concurrency": 3}}, {"limits": {"max_concurrency": 4}}, SAME),
        ({"mode": "sync"}, {"mode": "sync"}, SAME),
        (NAMED, NAMED, SAME),
        # Another transfer to the same tree, or to one inside or above it.
        ({"source": "s3://b-bucket/in/"}, {}, WAITS),
        ({"destination": "efs:///x"}, {}, WAITS),
        ({"destination": "efs:///"}, {}, WAITS),
        ({"destination": "efs:///x/y/z"}, {}, WAITS),
        ({"mode": "sync"}, {}, WAITS),
        ({"exclude": ["*.tmp"]}, {}, WAITS),
        ({"verify": "all"}, {}, WAITS),
        # What a manifest names is copied beside other copies, but never beside a sync.
        (NAMED, {}, APART),
        (NAMED, {"manifest": "s3://a-bucket/other.csv"}, APART),
        ({**NAMED, "versions": "an ETag"}, {**NAMED, "versions": "an ETag"}, SAME),
        ({**NAMED, "versions": "an ETag"}, {**NAMED, "versions": "of another list"}, APART),
        (NAMED, {"mode": "sync"}, WAITS),
        # Of one published tree, one run at a time switches the link: a rollback waits for a run that publishes.
        (PUBLISHED, PUBLISHED, SAME),
        (PUBLISHED, {}, WAITS),
        (PUBLISHED, {**PUBLISHED, "source": "s3://b-bucket/in/"}, WAITS),
        (PUBLISHED, BACK, WAITS),
        (BACK, BACK, SAME),
        (BACK, {**BACK, "source": "efs:///x/y/versions/v2"}, WAITS),
        # Trees that share no entry.
        ({"destination": "efs:///x/yz"}, {}, APART),
        ({"destination": "efs:///w"}, {"mode": "sync"}, APART),
    ],
)
def test_the_table(mine: dict[str, Any], other: dict[str, Any], expected: Meeting) -> None:
    assert meeting(writer("mine", **mine), writer("other", **other)) is expected
    assert meeting(writer("other", **other), writer("mine", **mine)) is expected


def test_a_move_meets_who_writes_at_its_source() -> None:
    moving = plan("m", source="efs:///x", destination="s3://b-bucket/out/", mode="move")
    at_source = writer_of(moving, moving.request.source, "arn:m", 1.0)
    assert moving.request.written_ends == (moving.request.destination, moving.request.source)
    assert meeting(at_source, writer("copy")) is WAITS  # it writes efs:///x/y
    assert meeting(at_source, writer("named", **NAMED)) is WAITS
    assert meeting(at_source, writer("beside", destination="efs:///y")) is APART
    assert plan("c").request.written_ends == (plan("c").request.destination,)
    assert plan("v", mode="verify").request.written_ends == ()


def test_a_run_does_not_meet_itself() -> None:
    assert meeting(writer("run-1"), writer("run-1")) is APART


def test_in_s3_a_prefix_is_the_place_and_the_bucket_the_store() -> None:
    outer = writer("a", source="efs:///in", destination="s3://b-bucket/out/")
    inner = writer("b", source="efs:///in", destination="s3://b-bucket/out/put/")
    beside = writer("c", source="efs:///in", destination="s3://b-bucket/output/")
    assert (meeting(outer, inner), meeting(outer, beside)) == (WAITS, APART)
    whole = plan("d", source="efs:///in", destination="s3://b-bucket/")
    assert list_key(whole.request.destination) == "locks/s3/b-bucket.json"
    assert meeting(writer_of(whole, whole.request.destination, "", 0.0), beside) is WAITS
    assert list_key(plan("e", destination="efs://more/x").request.destination) == "locks/mounts/more.json"


RUN_IDS = st.text(min_size=1).filter(lambda text: text not in (".", "..") and not {*text} & {"/", "\0"})
WRITERS = st.builds(
    Writer,
    RUN_IDS,
    *(st.text() for _ in range(4)),
    st.booleans(),
    st.floats(0, 1e10),
    fences=st.lists(st.builds(Fence, st.text(), RUN_IDS), max_size=2).map(tuple),
    ended_there=st.lists(RUN_IDS, max_size=2).map(tuple),
)


@given(st.lists(WRITERS, max_size=5))
def test_a_list_is_read_as_it_was_written_the_oldest_first(writers: list[Writer]) -> None:
    assert writers_from_bytes(writers_bytes(writers)) == sorted(writers, key=lambda one: one.since)


def test_nothing_stored_is_nobody() -> None:
    assert writers_from_bytes(b"") == []
