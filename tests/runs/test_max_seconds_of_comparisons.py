"""``limits.max_seconds`` ends a run while it compares: retries go on with what is proven, nothing is a difference."""

from __future__ import annotations

import dataclasses
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from fanout.flow.walker import StateFailed, by_class
from fanout.listing.deciding import decisions
from fanout.model.document import Json
from fanout.model.outcome import Reason
from fanout.shards.record import all_records
from tests.runs import test_max_seconds_of_moves as moves
from tests.runs.test_max_seconds_of_moves import FILES_PER_SECOND, another, in_place, moving, one_operation_at_a_time
from tests.support import flow
from tests.support.flow import World
from tests.support.moves import reasons
from tests.support.signing import LocalSigner

__all__ = ["one_operation_at_a_time"]
COPY: Json = {"source": "efs:///in", "destination": "efs:///out"}
PUBLISH: Json = {**COPY, "publish": {"link": "current"}}
FIRST = Reason.FIRST_NAME.value
MESSAGE = "limits.max_seconds: the run stops after"


@pytest.fixture(autouse=True)
def errors_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The machine catches the errors of tasks, as Step Functions does."""
    monkeypatch.setattr(flow, "never", by_class)


@pytest.fixture(autouse=True)
def copies_are_younger(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sync finds copies unchanged that were written right after their files."""
    monkeypatch.setattr(decisions, "MARGIN_NS", 0)


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


# What compares both trees after the copy, and copies nothing itself.
AGAIN: dict[str, Json] = {
    "verify": {**COPY, "mode": "verify"},
    "verify content": {**COPY, "mode": "verify", "verify": "content"},
    "sync": {**COPY, "mode": "sync", "verify": "all"},
    "sync content": {**COPY, "mode": "sync", "verify": "content"},
}
FURTHER = "start the request again with resume_from "


def copied(mount: Path) -> tuple[World, dict[str, bytes]]:
    """Two equal trees."""
    world, contents = moving(mount)
    assert ended(world, COPY, 1000)["status"] == "SUCCEEDED"
    return world, contents


@pytest.mark.parametrize("kind", AGAIN)
@pytest.mark.parametrize("max_seconds", [5, 6])
def test_a_chain_of_runs_that_compare_ends_well(kind: str, max_seconds: float, tmp_path: Path) -> None:
    world, contents = copied(tmp_path)
    before, runs = "", 0
    for number in range(2, 12):
        world = another(world, tmp_path, f"run-{number}")
        summary = ended(world, AGAIN[kind], max_seconds, before)
        before, runs = world.run_id, runs + 1
        if summary["status"] == "SUCCEEDED":
            break
        assert summary["error"]["name"] == "OutOfTime", summary["error"]
        assert FURTHER + before in summary["error"]["message"]
        assert "got no further" not in summary["error"]["message"]
        assert unnamed(world) == []
    assert (summary["status"], runs >= 3) == ("SUCCEEDED", True)
    assert summary["verification"]["compared"]["entries"] == len(contents) + 5


def stopped_again(mount: Path, kind: str) -> World:
    """A run that compares two trees that were equal, stopped while it compares."""
    world, _ = copied(mount)
    world = another(world, mount, "run-2")
    assert ended(world, AGAIN[kind], 9)["error"]["name"] == "OutOfTime"
    return world


def proven_by(world: World, kind: str) -> list[str]:
    """The files that the comparison of a run found equal."""
    ledger = world.ledger if AGAIN[kind]["mode"] == "verify" else world.ledger.verification()
    shards = [shard for record in all_records(ledger) if record.proven for shard in record.proven.shards]
    return sorted(entry.path for shard in shards for entry in ledger.read_shard(shard))


@pytest.mark.parametrize("kind", AGAIN)
@pytest.mark.parametrize("end", ["in", "out"])
def test_a_file_that_changed_between_two_runs_that_compare_is_compared_anew(
    kind: str, end: str, tmp_path: Path
) -> None:
    world = stopped_again(tmp_path, kind)
    changed = next(path for path in proven_by(world, kind) if path not in ("d0/f00", "d1/name"))
    in_place(tmp_path / end / changed)
    last = another(world, tmp_path, "run-3")
    summary = ended(last, AGAIN[kind], 1000, "run-2")
    if (AGAIN[kind]["mode"], end) == ("sync", "in"):  # which copies it again
        assert summary["status"] == "SUCCEEDED"
        assert (tmp_path / "out" / changed).read_bytes() == (tmp_path / "in" / changed).read_bytes()
        return
    assert summary["status"] == "FAILED_WITH_ITEMS"
    assert reasons(last) == {changed: Reason.CHECKSUM.value}


@pytest.mark.parametrize("kind", AGAIN)
def test_a_difference_that_an_earlier_run_found_is_found_again(kind: str, tmp_path: Path) -> None:
    world, _ = copied(tmp_path)
    in_place(tmp_path / "out/d0/f00")
    before = ""
    for number in range(2, 12):
        world = another(world, tmp_path, f"run-{number}")
        summary = ended(world, AGAIN[kind], 6, before)
        before = world.run_id
        if summary["error"]["name"] != "OutOfTime":
            break
    assert (number > 2, summary["status"]) == (True, "FAILED_WITH_ITEMS")
    assert reasons(world) == dict.fromkeys(("d0/f00", "d1/name"), Reason.CHECKSUM.value)


@pytest.mark.parametrize("kind", AGAIN)
def test_a_retry_reads_no_file_again_that_is_proven(kind: str, tmp_path: Path) -> None:
    world = stopped_again(tmp_path, kind)
    proven = proven_by(world, kind)
    last = another(world, tmp_path, "run-3")
    began = world.clock.time
    assert ended(last, AGAIN[kind], 1000, "run-2")["status"] == "SUCCEEDED"
    assert len(proven) > 5
    assert last.clock.time - began < (26 + 5 - len(proven)) / FILES_PER_SECOND + 1


@pytest.mark.parametrize("mode", ["verify", "sync"])
def test_a_retry_with_a_certificate_compares_all_and_a_run_says_that_it_got_no_further(
    mode: str, tmp_path: Path
) -> None:
    world, _ = copied(tmp_path)
    request = {**AGAIN[mode], "certificate": True}
    late = dataclasses.replace(another(world, tmp_path, "run-2"), signer=LocalSigner())
    message = ended(late, request, 9)["error"]["message"]
    assert "got no further" in message
    last = dataclasses.replace(another(late, tmp_path, "run-3"), signer=LocalSigner())
    began = last.clock.time
    assert ended(last, request, 1000, "run-2")["status"] == "SUCCEEDED"
    assert last.clock.time - began >= 13


def test_a_run_that_lists_the_destination_alone_got_no_further(tmp_path: Path) -> None:
    """A sync that compares with checksums while it lists proves nothing by it."""
    world, _ = copied(tmp_path)
    late = another(world, tmp_path, "run-2")
    request = {**COPY, "mode": "sync", "verify": "all", "compare": "checksum"}
    message = ended(late, request, 8)["error"]["message"]
    assert message.endswith(
        "got no further with it: start the request again with resume_from run-2 and a higher limits.max_seconds"
    )
    assert unnamed(late) == []
