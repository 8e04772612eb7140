"""``limits.max_seconds`` ends a run while it compares: retries go on with what is proven, nothing is a difference."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from fanout.flow.walker import StateFailed, by_class
from fanout.model.document import Json
from fanout.model.outcome import Reason
from tests.runs import test_max_seconds_of_moves as moves
from tests.runs.test_max_seconds_of_moves import FILES_PER_SECOND, another, in_place, moving, one_operation_at_a_time
from tests.support import flow
from tests.support.flow import World
from tests.support.moves import reasons

__all__ = ["one_operation_at_a_time"]
COPY: Json = {"source": "efs:///in", "destination": "efs:///out"}
PUBLISH: Json = {**COPY, "publish": {"link": "current"}}
FIRST = Reason.FIRST_NAME.value
MESSAGE = "limits.max_seconds: the run stops after"


@pytest.fixture(autouse=True)
def errors_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The machine catches the errors of tasks, as Step Functions does."""
    monkeypatch.setattr(flow, "never", by_class)


def ended(world: World, request: Json, max_seconds: float, resumes: str = "") -> Json:
    """The summary of a run."""
    limits = {"max_seconds": max_seconds, "files_per_second": FILES_PER_SECOND}
    request = {**request, "limits": limits} | ({"resume_from": resumes} if resumes else {})
    with suppress(StateFailed):  # the machine's end of a run that failed
        world.run(request)
    summary: Json = world.ledger.read_json("summary.json")
    return summary


def rows(world: World) -> list[Any]:
    return list(world.ledger.read_rows("failures.jsonl"))


def unnamed(world: World) -> list[Any]:
    """The rows that do not name the limit, but for names of files that were not copied."""
    return [one for one in rows(world) if MESSAGE not in one.get("message", "") and one["reason"] != FIRST]


@pytest.mark.parametrize(
    "request_", [{**COPY, "verify": "all"}, {**COPY, "verify": "content"}, {**PUBLISH, "verify": "all"}]
)
@pytest.mark.parametrize("max_seconds", [5, 9])
def test_a_chain_of_retries_ends_well(request_: Json, max_seconds: float, tmp_path: Path) -> None:
    world, contents = moving(tmp_path)
    summary = ended(world, request_, max_seconds)
    for number in range(2, 12):
        if summary["status"] == "SUCCEEDED":
            break
        assert summary["error"]["name"] == "OutOfTime", summary["error"]
        assert "got no further" not in summary["error"]["message"]
        assert summary.get("verification") is None
        assert unnamed(world) == []
        before, world = world.run_id, another(world, tmp_path, f"run-{number}")
        summary = ended(world, request_, max_seconds, before)
    assert summary["status"] == "SUCCEEDED"
    assert summary["verification"]["compared"]["entries"] == len(contents) + 5


def stopped_while_it_compares(mount: Path) -> World:
    """A copy that ended, and whose comparison did not."""
    world, _ = moving(mount)
    summary = ended(world, {**COPY, "verify": "all"}, 14)
    assert (summary["totals"]["copied"]["entries"], summary["error"]["name"]) == (26, "OutOfTime")
    assert rows(world)
    assert {row["reason"] for row in rows(world)} == {Reason.SHARD_FAILED.value}
    assert {row["phase"] for row in rows(world)} == {"verify"}
    return world


@pytest.mark.parametrize("end", ["in", "out"])
def test_what_changed_after_it_was_proven_is_compared_anew(end: str, tmp_path: Path) -> None:
    world = stopped_while_it_compares(tmp_path)
    changed = next(path for path in moves.proven_paths(world) if "name" not in path)
    in_place(tmp_path / end / changed)
    last = another(world, tmp_path, "run-2")
    summary = ended(last, {**COPY, "verify": "all"}, 1000, "run-1")
    assert summary["status"] == "FAILED_WITH_ITEMS"
    assert reasons(last)[changed] == Reason.CHECKSUM.value


def test_what_is_copied_and_not_verified_by_the_end_names_the_limit(tmp_path: Path) -> None:
    world, _ = moving(tmp_path)
    summary = ended(world, {**COPY, "verify": "copied"}, 14)
    assert summary["error"]["name"] == "OutOfTime"
    assert {row["reason"] for row in rows(world)} == {Reason.NOT_VERIFIED.value}
    assert all(MESSAGE in row["message"] for row in rows(world))


@pytest.mark.parametrize("mode", ["verify", "sync"])
def test_a_run_that_no_other_resumes_asks_for_more_time(mode: str, tmp_path: Path) -> None:
    world, _ = moving(tmp_path)
    assert ended(world, COPY, 1000)["status"] == "SUCCEEDED"
    late = another(world, tmp_path, "run-2")
    more = {"verify": "all", "compare": "checksum"} if mode == "sync" else {}
    message = ended(late, {**COPY, "mode": mode, **more}, 8)["error"]["message"]
    assert message.endswith("got no further with it: start the request again with a higher limits.max_seconds")
    assert unnamed(late) == []
