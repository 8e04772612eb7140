"""The courses of the modes: the table of the module is the contract, and nobody else asks for a mode."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import fanout
from fanout.request import course
from fanout.request.course import COURSES, Course, Mode

PACKAGE = Path(fanout.__file__).parent
TAKEN_OVER = {(False, False): "", (True, False): "proofs", (True, True): "listing, outcomes, proofs"}


def rows() -> Iterator[list[str]]:
    for line in (course.__doc__ or "").splitlines():
        if line.startswith("|") and "---" not in line:
            yield [cell.strip() for cell in line.strip("|").split("|")]


def told(found: Course) -> list[str]:
    deletes = {(True, False): "extras", (False, True): "what is proven"}
    answers = (found.writes, found.copies, found.lists_extras)
    return [
        found.work,
        *("yes" if answer else "" for answer in answers),
        deletes.get((found.deletes_extras, found.deletes_proven), ""),
        TAKEN_OVER[found.resumable, found.carries_over],
    ]


def test_the_table_of_the_module_is_what_the_courses_say() -> None:
    head, *table = rows()
    assert head == ["mode", "work", "writes", "copies", "extras", "deletes", "a run that resumes it takes over"]
    assert {name: answers for name, *answers in table} == {mode.value: told(COURSES[mode]) for mode in Mode}


def asked_for_a_mode(tree: ast.AST) -> Iterator[ast.Compare]:
    """Comparisons with a member of ``Mode``, as ``mode is Mode.SYNC`` or ``mode in (Mode.COPY, Mode.MOVE)``."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            parts = [part for one in [node.left, *node.comparators] for part in ast.walk(one)]
            if any(isinstance(one, ast.Attribute) and ast.unparse(one.value) == "Mode" for one in parts):
                yield node


def test_only_the_courses_know_what_a_mode_does() -> None:
    modules = [path for path in PACKAGE.rglob("*.py") if path.name != "course.py"]
    asked = {
        f"{path.relative_to(PACKAGE)}:{node.lineno}: {ast.unparse(node)}"
        for path in modules
        for node in asked_for_a_mode(ast.parse(path.read_text()))
    }
    assert len(modules) > 300
    # A writer in a list of another run has its mode as text.
    assert {one.partition(": ")[2] for one in asked} == {"writer.mode == other.mode == Mode.COPY.value"}
