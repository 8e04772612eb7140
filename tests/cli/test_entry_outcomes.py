"""The entries of a run as ``fanout entries`` reads them: each once, with the outcome that the books count."""

from __future__ import annotations

import gzip
import json
import tracemalloc
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from fanout.adapters.posix.tree import PosixTree
from fanout.facts.units import MIB
from fanout.model.books import tally
from fanout.model.entry import Kind
from fanout.model.outcome import Reason, Result
from fanout.summary.summarise_transfer import summarise_transfer
from fanout_cli.runs.entries import EntryOutcome, entry_outcomes
from tests.support.flow import REQUEST, World
from tests.support.memory import MemoryTree

MODES: list[dict[str, Any]] = [
    {},
    {"mode": "sync", "delete_guard": {"max_percent": 100}},
    {"mode": "sync", "delete_guard": {"max_percent": 100}, "verify": "all"},
    {"verify": "copied"},
    {"mode": "verify"},
    {"exclude": ["skip*"], "limits": {"split_bytes": 8 * MIB}},
]


def world() -> World:
    """Entries of each outcome: new, unchanged, extra, one whose name no file can have, and a big one."""
    made = World()
    assert isinstance(made.source, MemoryTree)
    assert isinstance(made.destination, MemoryTree)
    for path, data in {"new": b"1", "d/x": b"22", "skip.tmp": b"3", "a//b": b"4", "big": b"b" * 9 * MIB}.items():
        made.source.put(path, Kind.FILE, data)
    for path in ("extra", "new"):
        made.destination.put(path, Kind.FILE, b"old")
    return made


def of(found: World) -> list[EntryOutcome]:
    return list(entry_outcomes(found.ledger))


@pytest.mark.parametrize("options", MODES, ids=str)
def test_every_listed_entry_comes_once_with_the_outcome_of_the_books(options: dict[str, Any]) -> None:
    first = world()
    ends = {"source": "s3://a-bucket/tree/", "destination": "efs:///copy"}
    for number in range(2):
        found = first.next_run(f"run-{number}")
        summary = found.run({**ends, **options})
        rows = [one for one in of(found) if one.phase in ("list", "copy", "verify", "delete")]
        rows = [one for one in rows if one.outcome.reason is not Reason.EXTRA]
        if options.get("mode") != "verify":
            rows = [one for one in rows if one.phase != "verify"]
        counts = tally(one.outcome for one in rows)
        for result in Result:
            expected = summary["totals"][result.value]
            assert (counts[result].entries, counts[result].bytes) == (expected["entries"], expected["bytes"]), result
        assert max(Counter(one.outcome.path for one in rows).values()) == 1


def test_only_the_wanted_outcomes_come_and_no_other_file_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    found = world()
    found.run()
    read: list[str] = []
    get = found.store.get

    def noting(key: str) -> bytes:
        read.append(key)
        return get(key)

    monkeypatch.setattr(found.store, "get", noting)
    rows = list(entry_outcomes(found.ledger, {Result.REJECTED}))
    assert [(one.phase, one.outcome.path) for one in rows] == [("list", "a//b")]
    assert not [key for key in read if "/outcomes/shards/" in key and key.endswith(".gz")]


def test_differences_of_a_verification_come_under_verify() -> None:
    found = world()
    found.run({"source": "s3://a-bucket/tree/", "destination": "efs:///copy", "verify": "all"})
    rows = [(one.outcome.path, one.outcome.reason) for one in of(found) if one.phase == "verify"]
    assert ("extra", Reason.EXTRA) in rows


def test_entries_that_were_never_attempted_say_so() -> None:
    found = world()
    found.list_all(found.plan())
    assert [one.outcome.path for one in of(found)] == ["a//b"], "while the run goes on the others have no outcome"
    summarise_transfer({"Error": "ForecastRefused", "Cause": "{}"}, found.context())
    reasons = {one.outcome.path: one.outcome.reason for one in of(found)}
    assert reasons["new"] is reasons["d/x"] is Reason.NOT_ATTEMPTED


def test_a_plan_shows_what_needs_no_copy() -> None:
    found = world()
    found.run({"source": "s3://a-bucket/tree/", "destination": "efs:///copy", "mode": "plan"})
    assert [one.outcome.path for one in of(found)] == ["a//b"]


def test_memory_does_not_grow_with_the_run() -> None:
    def peak(files: int) -> int:
        found = World()
        assert isinstance(found.source, MemoryTree)
        for number in range(files):
            found.source.put(f"d{number // 1000}/f{number}", Kind.FILE)
        found.run({"source": "s3://a-bucket/tree/", "destination": "efs:///copy", "limits": {"shard_seconds": 0.5}})
        tracemalloc.start()
        try:
            assert sum(one.outcome.result is Result.COPIED for one in entry_outcomes(found.ledger)) == files
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    assert peak(6_000) < 1.5 * peak(2_000)


@pytest.mark.parametrize("options", MODES, ids=str)
def test_a_run_that_reports_all_writes_each_entry_once(options: dict[str, Any]) -> None:
    """The rows of ``entries/`` are those of ``fanout entries``: written by many tasks, and the same as the books."""
    first = world()
    ends = {"source": "s3://a-bucket/tree/", "destination": "efs:///copy"}
    for number in range(2):
        found = first.next_run(f"run-{number}")
        found.run({**ends, **options, "report_entries": "all"})
        expected = sorted((one.phase, one.outcome.path, one.outcome.result.value) for one in of(found))
        assert sorted((row["phase"], row["path"], row["outcome"]) for row in reported(found)) == expected
        assert {len(row) for row in reported(found)} == {9}


def test_a_run_that_reports_failures_writes_those_alone() -> None:
    found = world()
    found.run({"source": "s3://a-bucket/tree/", "destination": "efs:///copy", "report_entries": "failed"})
    [row] = reported(found)
    assert (row["path"], row["outcome"], row["reason"]) == ("a//b", "rejected", "empty name component")


def test_a_run_reports_nothing_unless_it_is_asked() -> None:
    found = world()
    found.run()
    assert reported(found) == []


def test_names_of_files_and_shards_that_were_never_attempted_are_reported(tmp_path: Path) -> None:
    source, destination = tmp_path / "source", tmp_path / "destination"
    source.mkdir()
    destination.mkdir()
    (source / "one").write_bytes(b"1")
    (source / "two").hardlink_to(source / "one")
    found = World(source=PosixTree(source, "", "r", "a"), destination=PosixTree(destination, "", "r", "b"))
    found.run({"source": "efs:///a", "destination": "efs:///b", "report_entries": "all"})
    assert sorted((row["path"], row["outcome"]) for row in reported(found)) == [("one", "copied"), ("two", "copied")]
    broken = world()
    broken.list_all(broken.plan({**REQUEST, "report_entries": "failed"}))
    summarise_transfer({"Error": "ForecastRefused", "Cause": "{}"}, broken.context())
    assert ("new", "not attempted") in {(row["path"], row["reason"]) for row in reported(broken)}


def reported(found: World) -> list[dict[str, Any]]:
    """The rows of entries/, as Athena reads them: any gzip, a JSON document a line."""
    rows: list[dict[str, Any]] = []
    for key in found.store.list(f"runs/{found.run_id}/entries/"):
        assert key.endswith(".json.gz")
        rows += map(json.loads, gzip.decompress(found.store.get(key)).splitlines())
    return rows
