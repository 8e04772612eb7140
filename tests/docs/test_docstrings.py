"""A docstring's first line says what a thing is or does; it does not begin with a question word."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDERS = ("layers/core/src", "cli", "functions")
QUESTIONS = ("What ", "Who ", "Whoever ", "Whatever ", "Nobody ")
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def first_lines(file: Path) -> Iterator[str]:
    """The first line of each docstring of a module."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, DOCUMENTED) and (text := ast.get_docstring(node)):
            yield text.splitlines()[0]


def test_no_first_line_begins_with_a_question_word() -> None:
    files = [file for folder in FOLDERS for file in (ROOT / folder).rglob("*.py")]
    assert len(files) > 300
    found = [f"{file.relative_to(ROOT)}: {line}" for file in files for line in first_lines(file)]
    assert [line for line in found if line.split(": ", 1)[1].startswith(QUESTIONS)] == []
