"""Which mount's function each state calls."""

from __future__ import annotations

from typing import Any

import pytest

from fanout.flow.steps import MOUNTING, STEPS, Mount, functions_of
from fanout.model.document import Json
from fanout.model.errors import InvalidRequest
from fanout.model.shard import Rates
from fanout.request.parse import parse_request
from fanout.request.plan import Plan

OFFERED: list[dict[str, str]] = [
    {name: f"{mount}.{name}" for name in MOUNTING.values()} for mount in ("first", "second", "outside")
]
MOUNTS = ("data", "archive")


def chosen(document: Json, offered: Any = None, regions: Any = None) -> dict[str, str]:
    """The function of each state."""
    plan = Plan("run", parse_request(document, MOUNTS, 1), Rates(0.01, 1e6), regions=regions or {})
    return functions_of(plan, MOUNTS, OFFERED if offered is None else offered)


def sides(source: str, destination: str, offered: Any = None, regions: Any = None) -> tuple[set[str], set[str]]:
    """The mounts of the functions of both sides' states."""
    found = chosen({"source": source, "destination": destination}, offered, regions)
    assert {state: arn.partition(".")[2] for state, arn in found.items()} == MOUNTING
    of_source, of_destination = (
        {found[state].partition(".")[0] for state in MOUNTING if STEPS[state].mount is side}
        for side in (Mount.SOURCE, Mount.DESTINATION)
    )
    return of_source, of_destination


@pytest.mark.parametrize(
    ("source", "destination", "of_source", "of_destination"),
    [
        ("efs:///a", "efs:///b", "first", "first"),
        ("efs://archive/a", "efs://archive/b", "second", "second"),
        ("efs://data/a", "efs://archive/a", "first", "second"),
        ("efs://archive/a", "efs:///a", "second", "first"),
        ("s3://bucket/a/", "efs://archive/a", "second", "second"),
        ("efs://archive/a", "s3://bucket/a/", "second", "second"),
        ("s3://bucket/a/", "efs:///a", "first", "first"),
        ("s3://bucket/a/", "s3://bucket/b/", "first", "first"),
    ],
)
def test_each_state_is_on_the_mount_that_it_needs(
    source: str, destination: str, of_source: str, of_destination: str
) -> None:
    assert sides(source, destination) == ({of_source}, {of_destination})


@pytest.mark.parametrize("bucket", ["bucket", "other"])
def test_between_two_buckets_of_which_one_is_far_no_function_is_in_a_network(bucket: str) -> None:
    far = {bucket: "eu-west-1"}
    assert sides("s3://bucket/a/", "s3://other/b/", regions=far) == ({"outside"}, {"outside"})
    assert sides("s3://bucket/a/", "efs://archive/a", regions=far) == ({"second"}, {"second"})


def test_a_mount_without_functions_is_named() -> None:
    with pytest.raises(InvalidRequest, match="no functions on 'archive'"):
        sides("efs://data/a", "efs://archive/a", OFFERED[:1])


def test_a_move_deletes_with_the_functions_of_the_source() -> None:
    ends = {"source": "efs://data/a", "destination": "efs://archive/a"}
    found = {mode: chosen({**ends, "mode": mode}) for mode in ("copy", "move")}
    changed = {state for state, function in found["move"].items() if function != found["copy"][state]}
    assert changed == {"DeleteShard", "RemoveDirectories"}
    assert found["move"]["DeleteShard"] == "first.DeleteShard"
