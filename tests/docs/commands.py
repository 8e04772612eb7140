"""The commands that the documents show: blocks, whether they are marked as not run, and programs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from tests.docs.pages import DOCUMENTS, name

BLOCK = re.compile(r"```(?:sh|bash|console|shell)\n(.*?)```", re.DOTALL)
INLINE = re.compile(r"`(fanout [a-z]+[^`]*)`")
PROGRAM = re.compile(
    r"^(?:[A-Z]+=\$\()?(?:\.venv/bin/|\.fanout/tools/sam/bin/)?(fanout|python -m [\w.]+|make [a-z-]+|[a-z]+)"
)

# What excuses a block from running in the tests: written above it in its section, or at the top of its page.
MARKS = ("Needs an AWS account", "need AWS", "Not run by the tests")


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
