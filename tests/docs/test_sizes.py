"""A function is read at one look: it has at most 60 lines, but where this table says why."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.docs.pages import ROOT

LONGEST = 60
LONGER = {"estimate_": "each of its parameters is an option with its help"}


def functions() -> Iterator[tuple[str, int]]:
    for folder in ("layers/core/src/fanout", "cli/fanout_cli", "functions"):
        for path in (ROOT / folder).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                    assert node.end_lineno is not None
                    yield node.name, node.end_lineno - node.lineno + 1


def test_a_longer_function_says_why() -> None:
    found = dict(sorted(functions(), key=lambda one: one[1]))
    assert len(found) > 2000
    assert {name for name, lines in found.items() if lines > LONGEST} == LONGER.keys()
