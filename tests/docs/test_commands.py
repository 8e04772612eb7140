"""Every command in the documents runs in the tests, or its block says what it needs; and each is one that there is."""

from __future__ import annotations

import importlib.util
import re
import shlex
from pathlib import Path
from typing import NamedTuple

import pytest
from typer.testing import CliRunner

from fanout_cli.main import app

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
BLOCK = re.compile(r"```(?:sh|bash|console|shell)\n(.*?)```", re.DOTALL)
INLINE = re.compile(r"`(fanout [a-z]+[^`]*)`")
PROGRAM = re.compile(r"^(?:[A-Z]+=\$\()?(?:\.venv/bin/)?(fanout|python -m [\w.]+|make [a-z-]+|[a-z]+)")

# What excuses a block from running in the tests: written above it in its section, or at the top of its page.
MARKS = ("Needs an AWS account", "need AWS", "Not run by the tests")

# Where a command without such a mark runs: the file, and words in it that show it.
RUNS = {
    "make demo": ("tests/e2e/test_command.py", '"demo"'),
    "make test": (".ci/run", "make test"),
    "fanout local": ("tests/e2e/test_command.py", '"local"'),
    "fanout estimate": ("tests/cli/test_estimate.py", "cost_page.document()"),
    "echo": ("tests/cli/test_estimate.py", "cost_page"),  # the request that the next line reads
}


class Command(NamedTuple):
    document: Path
    line: str
    marked: bool


def commands() -> list[Command]:
    found = []
    for document in DOCUMENTS:
        text = document.read_text(encoding="utf-8")
        for block in BLOCK.finditer(text):
            section = text[max(text.rfind("\n#", 0, block.start()), 0) : block.start()]
            page = text.partition("\n## ")[0].partition("```")[0]
            marked = any(mark in page + section for mark in MARKS)
            found += [Command(document, line, marked) for line in block[1].splitlines() if line.strip()]
    return found


def name_of(command: Command) -> str:
    """The program of a line, with its subcommand where it is ours."""
    matched = PROGRAM.match(command.line)
    assert matched, f"{command.document.name}: what is {command.line!r}?"
    if matched[1] == "fanout":
        return " ".join(["fanout", command.line.split()[1]])
    return matched[1]


def label(command: Command) -> str:
    return f"{command.document.name}: {command.line[:60]}"


@pytest.mark.parametrize("command", [one for one in commands() if not one.marked], ids=label)
def test_a_command_without_a_mark_runs_in_the_tests(command: Command) -> None:
    assert name_of(command) in RUNS, "run it in a test and name that here, or write above the block what it needs"
    file, words = RUNS[name_of(command)]
    assert words in (ROOT / file).read_text(encoding="utf-8")


def is_known_to_fanout(words: list[str]) -> bool:
    """Whether the command's own parser knows the subcommand and every option among the words."""
    names = [word.partition("=")[0] for word in words[1:] if word.startswith("--")]
    shown = CliRunner().invoke(app, [words[0], "--help"], env={"COLUMNS": "200", "TERM": "dumb"})
    options = set(re.findall(r"--[a-z0-9-]+", shown.output))
    return shown.exit_code == 0 and options.issuperset(names)


@pytest.mark.parametrize("command", commands(), ids=label)
def test_a_command_is_one_that_there_is(command: Command) -> None:
    name = name_of(command)
    words = shlex.split(command.line, comments=True)
    if name.startswith("fanout"):
        assert is_known_to_fanout(words[1:])
    elif name.startswith("make"):
        assert re.search(rf"^{words[1]}:", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    elif name.startswith("python"):
        assert importlib.util.find_spec(name.split()[-1])


def mentioned() -> list[tuple[str, str]]:
    return sorted({(path.name, words) for path in DOCUMENTS for words in INLINE.findall(path.read_text("utf-8"))})


@pytest.mark.parametrize(("document", "words"), mentioned())
def test_a_command_that_the_text_mentions_is_one_that_there_is(document: str, words: str) -> None:
    plain = [word for word in shlex.split(words.replace("[", "").replace("]", "")) if word not in ("...", "…")]
    assert is_known_to_fanout(plain[1:])


def test_what_there_is_not_is_found() -> None:
    assert is_known_to_fanout(["start", "request.json", "--watch"])
    assert not is_known_to_fanout(["start", "request.json", "--wach"])
    assert not is_known_to_fanout(["begin"])
