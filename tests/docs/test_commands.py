"""Every command in the documents is run here, or its block says what it needs; and each is one that there is."""

from __future__ import annotations

import importlib.util
import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from fanout_cli.main import app
from tests.docs.commands import ELSEWHERE, Block, blocks, is_run, mentioned, needs_a_stack, program_of, run
from tests.docs.pages import ROOT

DESTRUCTIVE = re.compile(r"\b(delete|delete-[a-z-]+|rb|rm|clean|down)\b")
# Commands that have commands.
GROUPS = {"certificate", "schedule", "local"}
COMMANDS = [(str(block), line) for block in blocks() for line in block.commands]


@pytest.mark.parametrize("block", [one for one in blocks() if is_run(one) and not needs_a_stack(one)], ids=str)
def test_a_block_without_a_mark_does_what_it_says(block: Block, tmp_path: Path) -> None:
    """In an empty directory. tests/e2e/test_documented_runs.py runs the blocks that need a stack."""
    run(block, tmp_path)


@pytest.mark.parametrize(
    "line", [line for one in blocks() if not one.marked for line in one.commands if line.startswith("make")]
)
def test_a_target_without_a_mark_runs_in_another_test(line: str) -> None:
    file, words = ELSEWHERE[program_of(line)]
    assert words in (ROOT / file).read_text(encoding="utf-8")


@pytest.mark.parametrize("block", [one for one in blocks() if DESTRUCTIVE.search(one.text)], ids=str)
def test_a_destructive_command_has_a_block_of_its_own(block: Block) -> None:
    """A pasted block deletes nothing, unless that is all that it is for."""
    assert len(block.commands) == 1


def test_the_readme_deletes_in_one_block() -> None:
    found = [one for one in blocks() if one.document == ROOT / "README.md" and DESTRUCTIVE.search(one.text)]
    assert [one.commands for one in found] == [[".fanout/tools/sam/bin/sam delete"]]


def is_known_to_fanout(words: list[str]) -> bool:
    """Whether the command's own parser knows the subcommand and every option among the words."""
    names = [word.partition("=")[0] for word in words[1:] if word.startswith("--")]
    command = words[:2] if words[0] in GROUPS else words[:1]
    shown = CliRunner().invoke(app, [*command, "--help"], env={"COLUMNS": "200", "TERM": "dumb"})
    options = set(re.findall(r"--[a-z0-9-]+", shown.output))
    return shown.exit_code == 0 and options.issuperset(names)


@pytest.mark.parametrize(("block", "line"), COMMANDS)
def test_a_command_is_one_that_there_is(block: str, line: str) -> None:
    program = program_of(line)
    words = shlex.split(line, comments=True)
    if program.startswith("fanout"):
        assert is_known_to_fanout(words[1:])
    elif program.startswith("make"):
        assert re.search(rf"^{words[1]}:", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    elif program.startswith("python"):
        assert importlib.util.find_spec(program.split()[-1])


@pytest.mark.parametrize(("document", "words"), mentioned())
def test_a_command_that_the_text_mentions_is_one_that_there_is(document: str, words: str) -> None:
    plain = [word for word in shlex.split(words.replace("[", "").replace("]", "")) if word not in ("...", "…")]
    assert is_known_to_fanout(plain[1:])


def test_what_there_is_not_is_found() -> None:
    assert is_known_to_fanout(["start", "request.json", "--detach"])
    assert not is_known_to_fanout(["start", "request.json", "--detahc"])
    assert not is_known_to_fanout(["begin"])
    assert is_known_to_fanout(["schedule", "add", "--cron"])
    assert not is_known_to_fanout(["schedule", "pause", "--cron"])
    assert not is_known_to_fanout(["schedule", "begin"])
