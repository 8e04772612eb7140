"""A list that is written anew while a run of the old one is at work: another transfer, which is carried out too."""

from __future__ import annotations

import pytest

from fanout.model.document import Json
from fanout.model.errors import InvalidRequest
from fanout.turns.write_turn import WriteTurns
from tests.planning.test_skipped import Known
from tests.support.flow import REQUEST, World
from tests.support.manifests import contents, json_lines, put, world_of

FILES = {"a": b"1", "b": b"2"}


def two_runs() -> tuple[World, World, Json]:
    """A run that copies ``a`` by its list and is not over, and a second one, which asks for the same."""
    first = world_of(FILES)
    first.turns = WriteTurns(first.store, Known({"run-1", "run-2"}), first.clock)  # type: ignore[arg-type]
    request = put(first, json_lines(["a"]))
    first.plan(request)
    return first, first.next_run("run-2"), request


def test_the_same_list_is_the_same_transfer() -> None:
    _, second, request = two_runs()
    assert second.plan(request)["holder"] == "run-1"


def test_a_list_written_anew_is_another_one() -> None:
    first, second, request = two_runs()
    put(first, json_lines(["b"]))
    second.list_all(second.plan(request))
    second.copy_all()
    second.finish_all()
    assert second.end()["status"] == "SUCCEEDED"
    assert contents(second.destination) == {"b": b"2"}


def test_so_is_the_rest_of_a_list_that_a_retry_resumes() -> None:
    _, second, _ = two_runs()
    assert "run" in second.plan({"resume_from": "run-1"})


def test_a_list_that_cannot_be_read_is_refused_before_the_run_waits() -> None:
    first = world_of(FILES)
    first.turns = WriteTurns(first.store, Known({"run-1"}), first.clock)  # type: ignore[arg-type]
    first.plan({**REQUEST, "mode": "sync"})
    second = first.next_run("run-2")
    with pytest.raises(InvalidRequest, match="none of them named path"):
        second.plan(put(first, b"one,two\n1,2\n", "csv"))
