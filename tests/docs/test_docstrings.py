"""A docstring's first line says what a thing is or does, without a question word, and points at what is there."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = ("layers/core/src", "cli", "functions")
QUESTIONS = ("What ", "Who ", "Whoever ", "Whatever ", "Nobody ")
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


@cache
def tree_of(file: Path) -> ast.Module:
    """A module, parsed once."""
    return ast.parse(file.read_text(encoding="utf-8"))


def first_lines(file: Path) -> Iterator[str]:
    """The first line of each docstring of a module."""
    for node in ast.walk(tree_of(file)):
        if isinstance(node, DOCUMENTED) and (text := ast.get_docstring(node)):
            yield text.splitlines()[0]


def test_no_first_line_begins_with_a_question_word() -> None:
    files = [file for folder in FOLDERS for file in (ROOT / folder).rglob("*.py")]
    assert len(files) > 300
    found = [f"{file.relative_to(ROOT)}: {line}" for file in files for line in first_lines(file)]
    assert [line for line in found if line.split(": ", 1)[1].startswith(QUESTIONS)] == []


PACKAGES = {"fanout": ROOT / "layers/core/src", "fanout_cli": ROOT / "cli"}
SEEN = re.compile(r"\b[Ss]ee\s+((?:``[\w.]+``(?:,\s|\sand\s)?)+)")
POINTER = re.compile(r"``([\w.]+)``")
BARE = re.compile(r"See\s+``[^`]+``\.?")


@cache
def texts(tree: ast.AST) -> tuple[str, ...]:
    """Each docstring of a module, also those of its constants."""
    said = [node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)]
    return tuple(one.value for one in said if isinstance(one, ast.Constant) and isinstance(one.value, str))


def names(node: ast.AST, path: str) -> Iterator[str]:
    """The dotted name of everything that a module defines or imports, and of the arguments of its functions."""
    for inner in ast.iter_child_nodes(node):
        name = getattr(inner, "name", None) or getattr(inner, "arg", None)
        if isinstance(inner, (ast.Name, ast.Attribute)) and isinstance(inner.ctx, ast.Store):
            name = inner.id if isinstance(inner, ast.Name) else inner.attr
        here = f"{path}.{name}" if isinstance(name, str) else path
        yield here
        yield from names(inner, here if isinstance(inner, ast.ClassDef) else path)


@pytest.fixture(scope="module")
def modules() -> dict[str, ast.Module]:
    """Every module of both packages by its dotted name."""
    return {
        ".".join(file.relative_to(root).with_suffix("").parts).removesuffix(".__init__"): tree_of(file)
        for root in PACKAGES.values()
        for file in root.rglob("*.py")
    }


def test_a_docstring_points_at_what_is_there(modules: dict[str, ast.Module]) -> None:
    known = {name for module, tree in modules.items() for name in (module, *names(tree, module))}
    ends = {".".join(parts[number:]) for name in known for parts in [name.split(".")] for number in range(len(parts))}
    rooms = {module.split(".")[1] for module in modules if "." in module}
    lost = [
        f"{module}: {pointer}"
        for module, tree in modules.items()
        for text in texts(tree)
        for pointer in POINTER.findall(text)
        if (pointer.split(".")[0] in rooms and "." in pointer) or pointer in "".join(SEEN.findall(text))
        if pointer not in ends and find_spec(pointer.split(".")[0]) is None
    ]
    assert lost == []


def test_no_docstring_only_points_at_another_one(modules: dict[str, ast.Module]) -> None:
    """The class names its port; a method's words stand there."""
    assert [module for module, tree in modules.items() for text in texts(tree) if BARE.fullmatch(text.strip())] == []
