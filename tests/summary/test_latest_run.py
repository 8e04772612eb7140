"""The last run with the same ends and mode: found, kept, and no harm where it is missing, broken or written twice."""

from __future__ import annotations

from typing import Any

import pytest

from fanout.books.summary_document import SUMMARY, SummaryDocument
from fanout.model.document import Json
from fanout.model.entry import Kind
from fanout.summary.run_facts import find_earlier, write_latest
from fanout.summary.summarise_transfer import summarise_transfer
from tests.summary.test_summary_schema import VALIDATOR
from tests.support import runs
from tests.support.flow import REQUEST, World
from tests.support.memory import MemoryTree


def two_files() -> World:
    world = runs.filled(2)
    world.run()
    return world


def followed(world: World, run_id: str, request: Json | None = None) -> tuple[World, Json]:
    following = world.next_run(run_id)
    return following, following.run(request)


def pointer(world: World) -> str:
    [key] = world.store.list("runs/latest/")
    return key


def page_of(world: World) -> str:
    return world.store.get(f"{world.ledger.prefix}report.html").decode()


def test_the_first_run_has_none_and_the_page_says_so() -> None:
    world = two_files()
    assert world.ledger.read_json("summary.json")["earlier"] is None
    assert "No earlier run with this source, destination and mode is on record" in page_of(world)
    assert 'id="compared"' not in page_of(world)


def test_the_next_run_is_shown_beside_the_one_before() -> None:
    first = two_files()
    assert isinstance(first.source, MemoryTree)
    first.source.put("new", Kind.FILE, b"content")
    before = first.ledger.read_json("summary.json")
    second, summary = followed(first, "run-2")
    earlier = summary["earlier"]
    assert {name: earlier[name] for name in ("run_id", "status", "began", "ended", "totals")} == {
        name: before[name] for name in ("run_id", "status", "began", "ended", "totals")
    }
    assert earlier["seconds"] == pytest.approx(sum(before["seconds"].values()), abs=0.001)
    assert earlier["dollars"] == before["forecast"]["actual_dollars"]["total"]
    VALIDATOR.validate(summary)
    section = page_of(second).split('id="compared"')[1].split("</section>")[0]
    assert "<bdi>run-1</bdi>" in section
    _, third = followed(second, "run-3")
    assert third["earlier"]["run_id"] == "run-2"


def test_another_mode_or_end_is_another_transfer() -> None:
    first = two_files()
    for number, change in enumerate(({"mode": "verify"}, {"mode": "plan"}, {"source": "s3://a-bucket/tree/d1/"})):
        _, summary = followed(first, f"other-{number}", {**REQUEST, **change})
        assert summary["earlier"] is None
    _, again = followed(first, "again", {**REQUEST, "limits": {"max_concurrency": 3}})
    assert again["earlier"]["run_id"] == "run-1"


def test_a_run_that_broke_off_is_the_run_before_too() -> None:
    world = runs.broken()
    _, summary = followed(world, "run-2")
    assert (summary["earlier"]["run_id"], summary["earlier"]["status"]) == ("run-1", "FAILED")


def test_a_skipped_run_is_not_on_record() -> None:
    assert not list(runs.skipped().store.list("runs/latest/"))


@pytest.mark.parametrize(
    "broken",
    [b"", b"{", b"[]", b'{"schema_version": 99}', b'{"schema_version": 2, "run": {}}', b"\xff\xfe"],
    ids=["empty", "cut", "no document", "another version", "without fields", "no text"],
)
def test_a_broken_one_is_noted_and_written_anew(broken: bytes) -> None:
    first = two_files()
    key = pointer(first)
    first.store.put(key, broken)
    second, summary = followed(first, "run-2")
    assert (summary["status"], summary["earlier"]) == ("SUCCEEDED", None)
    [note] = [note for note in summary["notes"] if "the run before" in note]
    assert key in note and "start the request again" not in note
    assert "the run before cannot be read" in page_of(second)
    _, third = followed(second, "run-3")
    assert third["earlier"]["run_id"] == "run-2"
    assert not [note for note in third["notes"] if "the run before" in note]


def test_a_second_attempt_finds_the_run_before_and_not_itself() -> None:
    first = two_files()
    second, once = followed(first, "run-2")
    summarise_transfer(None, second.context())
    again = second.ledger.read_json("summary.json")
    assert again["earlier"] == once["earlier"]
    alone = runs.filled(2)
    alone.run()
    summarise_transfer(None, alone.context())
    assert alone.ledger.read_json("summary.json")["earlier"] is None


def test_two_runs_that_end_at_the_same_time_do_no_harm() -> None:
    first = two_files()
    at_once: list[tuple[World, Any, SummaryDocument]] = []
    for run_id in ("run-2", "run-3"):
        world, _ = followed(first, run_id)
        at_once.append((world, world.ledger.read_plan(), world.ledger.read(SUMMARY)))
    for order in (at_once, at_once[::-1]):
        found = [find_earlier(plan, world.ledger) for world, plan, _ in order]  # both read before one writes
        assert all(notes == [] for _, notes in found)
        for world, plan, summary in order:
            write_latest(plan, summary, world.ledger)
        _, following = followed(first, f"run-{len(list(first.store.list('runs/')))}")
        assert following["earlier"]["run_id"] == order[-1][0].run_id
