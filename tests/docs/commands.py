"""The commands that the documents show: blocks, whether they are marked as not run, and programs."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from tests.docs.pages import DOCUMENTS, name

BLOCK = re.compile(r"```(?:sh|bash|console|shell)\n(.*?)```", re.DOTALL)
INLINE = re.compile(r"`(fanout [a-z]+[^`]*)`")
PLACES = r"(?:\.venv/bin/|~/fanout/bin/|\.fanout/tools/sam/bin/)?"
PROGRAM = re.compile(rf"^(?:[A-Z]+=\$\()?{PLACES}(fanout|python3? -m [\w.]+|make [a-z-]+|[a-z]+)")

# What excuses a block from running in the tests: written above it in its section, or at the top of its page.
MARKS = ("Needs an AWS account", "need AWS", "Not run by the tests")


# Blocks without a mark that would run the tests from within: the file that runs each line, and words that show it.
ELSEWHERE = {"make demo": ("tests/e2e/test_command.py", '"demo"'), "make test": (".ci/run", "make test")}
# What a block makes, as the text below it says.
MAKES = {
    "docs/start/try-locally.md": ("efs/copy/hello.txt", "hello\n"),
    "docs/start/three-sizes.md": ("copied/hello.txt", "hello\n"),
}


class Block(NamedTuple):
    """A block of commands, and whether a mark excuses it from being run."""

    document: Path
    text: str
    marked: bool

    @property
    def commands(self) -> list[str]:
        """Its lines."""
        return [line for line in self.text.splitlines() if line.strip()]

    def __str__(self) -> str:
        return f"{name(self.document)}: {self.commands[0][:50]}"


def blocks() -> list[Block]:
    """The blocks of all documents."""
    found = []
    for document in DOCUMENTS:
        text = document.read_text(encoding="utf-8")
        for block in BLOCK.finditer(text):
            section = text[max(text.rfind("\n#", 0, block.start()), 0) : block.start()]
            page = text.partition("\n## ")[0].partition("```")[0]
            said = " ".join((page + section).split())
            found.append(Block(document, block[1], any(mark in said for mark in MARKS)))
    return found


def is_run(block: Block) -> bool:
    """Whether a test runs the block as it is, and no other test does what its ``make`` target does."""
    return not block.marked and program_of(block.commands[0]) not in ELSEWHERE


def needs_a_stack(block: Block) -> bool:
    """Whether the block starts the local stack; tests/e2e runs it then."""
    return bool(re.search(r"fanout up\b", block.text))


def run(block: Block, place: Path) -> None:
    """Run a block in a directory by the shell, with the command of this checkout and the local stack of ``state``."""
    command = place / ".venv/bin/fanout"
    command.parent.mkdir(parents=True)
    state = f'--state "{place}/state"'
    ours = shlex.quote(str(Path(sys.executable).with_name("fanout")))
    with_state = 'case " $* " in *" local "* | *" up "* | *" down "* | *" --local "*)'
    command.write_text(f'#!/bin/sh\n{with_state} exec {ours} "$@" {state} ;; esac\nexec {ours} "$@"\n')
    command.chmod(0o755)
    shell = ["sh", "-eu", "-c", block.text]
    ended = subprocess.run(shell, cwd=place, capture_output=True, text=True, timeout=240, check=False)
    assert ended.returncode == 0, ended.stderr
    if name(block.document) in MAKES:
        path, content = MAKES[name(block.document)]
        assert (place / path).read_text(encoding="utf-8") == content


def program_of(command: str) -> str:
    """The program of a line, with its subcommand where it is ours."""
    matched = PROGRAM.match(command)
    assert matched, f"what is {command!r}?"
    if matched[1] == "fanout":
        return " ".join(["fanout", command.split()[1]])
    return matched[1]


def mentioned() -> list[tuple[str, str]]:
    """Commands of ours in the text, each with its document."""
    return sorted({(name(page), words) for page in DOCUMENTS for words in INLINE.findall(page.read_text("utf-8"))})
