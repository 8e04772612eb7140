"""What ``retry``, ``rollback``, ``schedule`` and ``start`` send, of a ledger, a version or a file, works."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from fanout_cli.commands.lazy_group import COMMANDS
from fanout_cli.main import app
from tests.cli.test_whole_runs import FOUND, WORDS, sent_by
from tests.support.command_stack import CommandStack
from tests.support.deployed import Break, Deployed, DeployedSides
from tests.support.deployed_runs import ENDS, PUBLISHES, fill, publishing, put, stack
from tests.support.long import paired
from tests.support.memory import MemoryTree

# Commands that start a run: by the words of ``WORDS``, or by a test here.
STARTING = {"copy", "sync", "move", "plan", "verify", "start", "retry", "rollback", "schedule run", "schedule add"}
VERBS = {"copy": "copy", "sync": "sync --max-delete-percent 100", "move": "move", "verify": "verify", "plan": "plan"}
# Before which state somebody stops a run, and at which state one breaks off.
STOPPED = ("CheckMount", "ListOneSegment", "PartitionShards", "FinishTree", "SummariseTransfer")
BROKEN = ("PlanTransfer", "CheckMount", "ListOneSegment", "PartitionShards", "CopyShard", "FinishTree", "BeginDeletion")
ENDED = [*(f"stopped before {state}" for state in STOPPED), *(f"broken at {state}" for state in BROKEN)]


def test_each_command_that_starts_a_run_has_its_run_in_tests() -> None:
    """Those can be detached from their run; ``schedule add`` has it started by a service."""
    whole: Any = get_command(app)
    found = {"schedule add"}
    for name in COMMANDS:
        one = whole.commands[name]
        inner = {f"{name} {each}": command for each, command in getattr(one, "commands", {}).items()} or {name: one}
        found |= {words for words, command in inner.items() if any(each.name == "detach" for each in command.params)}
    assert found == STARTING


def held(one: Deployed, end: str) -> dict[str, bytes]:
    """The files of an end."""
    if isinstance(one, DeployedSides):
        root = one.base / {"source": "data/in", "destination": "archive/out"}[end]
        return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}
    tree = getattr(one, end)
    assert isinstance(tree, MemoryTree)
    return {path: stored.data for path, stored in tree.contents().items() if not path.endswith("/")}


def after_a_run(words: str, ends: str, ended: str, patch: pytest.MonkeyPatch, *, short: bool = False) -> CommandStack:
    """A stack whose first run ended so."""
    one = fill(stack(ends, short=short))
    how, state = ended.partition(" ")[0], ended.rpartition(" ")[2]
    if how == "broken":
        one.breaks = [Break(f"short {state}"), Break(state), Break(state, compares=True)]
    mine = CommandStack(one, stops=(state,) if how == "stopped" else ())
    verb, *rest = words.split()
    mine.type(patch, verb, *ENDS[ends], *rest, "--name", "run-1", "--detach")
    return mine


@pytest.mark.parametrize(("verb_and_ended", "ends"), paired(list(product(VERBS, ENDED)), list(ENDS)))
def test_a_retry_does_what_is_left(verb_and_ended: tuple[str, str], ends: str, monkeypatch: pytest.MonkeyPatch) -> None:
    verb, ended = verb_and_ended
    for short in (False, True):
        mine = after_a_run(VERBS[verb], ends, ended, monkeypatch, short=short)
        asked = held(fill(stack(ends)), "source")
        mine.type(monkeypatch, "retry", "run-1", "--name", "run-2", "--detach")
        assert mine.started == ["run-1", "run-2"]
        if verb == "verify":
            assert FOUND["verify"] in mine.summary["error"]["message"]
            continue
        assert mine.summary["status"] == "SUCCEEDED", mine.summary["error"]
        there = held(mine.one, "destination")
        assert held(mine.one, "source") == ({} if verb == "move" else asked)
        assert ({path: there.get(path) for path in asked} == asked) is (verb != "plan")
        assert ("old/f0" in there) is (verb != "sync")


@pytest.mark.parametrize(("words", "ends"), paired(list(WORDS), list(ENDS)))
def test_a_request_of_a_file_works_at_once_and_at_its_time(
    words: str, ends: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    document = sent_by(WORDS[words], *ENDS[ends], monkeypatch)
    file = tmp_path / "request.json"
    file.write_text(json.dumps(document))
    for typed in ("start", "schedule run", "schedule at its time", "retry again"):
        mine = CommandStack(fill(stack(ends)))
        if typed.startswith("schedule"):
            mine.type(monkeypatch, "schedule", "add", "nightly", str(file), "--rate", "1 day", "--json")
        if typed == "schedule run":
            mine.type(monkeypatch, "schedule", "run", "nightly", "--detach")
        elif typed == "schedule at its time":
            mine.fire("nightly")
        else:
            mine.type(monkeypatch, "start", str(file), "--name", "run-1", "--detach")
        if typed == "retry again":
            put(mine.one, "source", "d0/f0", b"changed")
            mine.type(monkeypatch, "retry", "--again", "--detach")
        assert (mine.summary["error"] or {}).get("name", "FailedWithItems") == "FailedWithItems"
        assert all(json.loads(one["input"]) == document for one in mine.executions.values())


@pytest.mark.parametrize("version", [(), ("v1",)])
@pytest.mark.parametrize("destination", ["efs:///site", "efs://data/site"])
def test_a_rollback_publishes_the_version_before(
    destination: str, version: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    one = publishing()
    mine = CommandStack(one)
    for number in (1, 2):
        put(mine.one, "source", "d/f", f"version {number}".encode())
        words = ("--publish", "current", "--keep-versions", "3", "--name", f"v{number}", "--detach")
        mine.type(monkeypatch, "copy", PUBLISHES["source"], "efs:///site", *words)
        assert mine.summary["status"] == "SUCCEEDED", mine.summary["error"]
    site = one.mount / "site"
    assert (site / "current/d/f").read_text() == "version 2"
    mine.type(monkeypatch, "rollback", destination, *version, "--detach")
    assert mine.summary["status"] == "SUCCEEDED", mine.summary["error"]
    assert (site / "current/d/f").read_text() == "version 1"
    mine.type(monkeypatch, "retry", "--detach", "--name", "back-again")
    assert mine.summary["status"] == "SUCCEEDED", mine.summary["error"]
    assert (site / "current/d/f").read_text() == "version 1"
