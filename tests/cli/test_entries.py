"""``fanout entries``, as a person types it: a stack in moto, and a directory."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fanout.model.entry import Kind
from tests.cli.conftest import Aws
from tests.support.flow import World
from tests.support.memory import MemoryTree

MINE = ("--stack", "mine")
EVIL = "x\x1b[2J\ty"


@pytest.fixture(scope="module")
def ledger() -> dict[str, bytes]:
    """The files of a run with copied, excluded and rejected entries."""
    world = World()
    assert isinstance(world.source, MemoryTree)
    for path in ("photos/a.jpg", "photos/b.jpg", "notes.txt", "a//b", EVIL):
        world.source.put(path, Kind.FILE, b"12")
    world.run({"source": "s3://a-bucket/tree/", "destination": "efs:///copy", "exclude": ["*.txt"]})
    return {key: world.store.get(key) for key in world.store.list("runs/run-1/")}


@pytest.fixture
def kept(aws: Aws, ledger: dict[str, bytes]) -> Aws:
    """The stack with this run."""
    for key, data in ledger.items():
        aws.put(key, data)
    aws.start("run-1")
    return aws


def test_a_line_for_each_entry_with_tabs(kept: Aws) -> None:
    answer = kept.fanout("entries", "run-1", *MINE)
    assert answer.exit_code == 0, answer.stderr
    head, *rows = [line.split("\t") for line in answer.stdout.splitlines()]
    assert head == ["outcome", "phase", "kind", "size", "path", "reason", "message"]
    found = {row[4]: (row[0], row[1], row[2], row[3], row[5]) for row in rows}
    assert found["photos/a.jpg"] == ("copied", "copy", "file", "2", "")
    assert found["notes.txt"] == ("skipped", "list", "file", "2", "excluded by the request")
    assert found["x\\x1b[2J\\ty"][0] == "copied", "control characters are shown as escapes"
    assert "5 entries" in answer.stderr


def test_entries_are_chosen_by_outcome_and_path(kept: Aws) -> None:
    answer = kept.fanout("entries", *MINE, "--outcome", "rejected", "--outcome", "copied", "--path", "b/**", "--json")
    assert (answer.exit_code, answer.stdout) == (0, "")
    answer = kept.fanout("entries", *MINE, "--outcome", "copied", "--path", "photos/", "--path", "*.txt", "--json")
    rows = [json.loads(line) for line in answer.stdout.splitlines()]
    assert sorted(row["path"] for row in rows) == ["photos/a.jpg", "photos/b.jpg"]
    assert {row["outcome"] for row in rows} == {"copied"}
    assert all(row["crc64nvme"] for row in rows)
    assert all(row["seconds"] >= 0 for row in rows)
    refused = kept.fanout("entries", *MINE, "--outcome", "rejected", "--json")
    [row] = [json.loads(line) for line in refused.stdout.splitlines()]
    assert (row["path"], row["reason"]) == ("a//b", "empty name component")
    assert row["remedy"].startswith("rename the object")
    assert row["seconds"] is None


def test_limit_says_whether_there_are_more(kept: Aws) -> None:
    answer = kept.fanout("entries", *MINE, "--limit", "2")
    assert len(answer.stdout.splitlines()) == 3
    assert "2 entries, and there are more" in answer.stderr
    assert "more" not in kept.fanout("entries", *MINE, "--limit", "5").stderr


def test_a_run_of_fanout_local_is_read_from_its_directory(ledger: dict[str, bytes], aws: Aws, tmp_path: Path) -> None:
    directory = tmp_path / "runs" / "run-1"
    for key, data in ledger.items():
        file = directory / key.removeprefix("runs/run-1/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
    answer = aws.fanout("entries", "--ledger", str(directory), "--json")
    assert len(answer.stdout.splitlines()) == 5
    other = aws.fanout("entries", "run-2", "--ledger", str(directory))
    assert (other.exit_code, other.stdout) == (2, "")
    assert "--ledger names the run run-1" in other.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("run-9", *MINE), "no run 'run-9' in the stack"),
        (("../x", *MINE), "is not a run"),
        (("--ledger", "."), "holds no plan.json"),
        ((*MINE, "--path", "a//b"), "--path: 'a//b' is empty or holds an empty name"),
        ((*MINE, "--outcome", "lost"), "lost"),
    ],
)
def test_what_is_wrong_is_named(kept: Aws, words: tuple[str, ...], said: str) -> None:
    answer = kept.fanout("entries", *words)
    assert answer.exit_code == 2
    assert said in answer.stderr
    assert answer.stdout == ""


def test_a_run_that_left_no_plan_has_no_ledger(aws: Aws) -> None:
    aws.start("run-8", "FailedInvalidRequest")
    assert "run-8 has no ledger" in aws.fanout("entries", "run-8", *MINE).stderr
