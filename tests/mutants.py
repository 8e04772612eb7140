"""Draws faults in the rooms that decide, and says which command's tests find each: ``python -m tests.mutants``.

A mutant is one changed expression of one module. Its tests are those of its room and of the rooms that use it, those of
``make quick`` first, and some whole runs. Each mutant runs in a fork, which imports the changed module.
"""

from __future__ import annotations

import argparse
import ast
import copy
import io
import os
import random
import re
import resource
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import cache
from importlib.machinery import SourceFileLoader
from pathlib import Path

import boto3  # noqa: F401 - imported before the forks, as hypothesis and moto are
import hypothesis  # noqa: F401
import moto  # noqa: F401
import pytest

from tests.commands import COMMANDS, is_run

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "layers/core/src"
ROOMS = (
    *("adapters", "books", "copying", "deleting", "finishing", "ledger", "listing", "partition", "publishing"),
    *("request", "resuming", "shards", "staging", "turns", "verifying"),
)
WHOLE_RUNS = ("tests/golden", "tests/runs/test_flow.py", "tests/runs/test_semantics.py")
ELSEWHERE = ("tests/e2e/", "tests/nfs/", "tests/browser/", "tests/benchmarks/")
COMPARES: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}


@dataclass(frozen=True)
class Mutant:
    """A module with one change, which ``says`` shows."""

    file: Path
    tree: ast.Module
    says: str

    @property
    def module(self) -> str:
        """The dotted name."""
        return ".".join(self.file.relative_to(PACKAGE).with_suffix("").parts)


def sites(tree: ast.Module) -> list[int]:
    """The positions, in the order of a walk, of the nodes within functions that can be changed."""
    inside = {id(one) for found in ast.walk(tree) if isinstance(found, ast.FunctionDef) for one in _body(found)}
    return [number for number, node in enumerate(ast.walk(tree)) if id(node) in inside and _changed(node) is not None]


def _body(function: ast.FunctionDef) -> Iterator[ast.AST]:
    for statement in function.body:
        yield from ast.walk(statement)


def _changed(node: ast.AST) -> ast.AST | None:
    """The node with a fault, or None if none is drawn for its kind."""
    made = copy.copy(node)
    if isinstance(made, ast.Compare):
        made.ops = [COMPARES[type(made.ops[0])](), *made.ops[1:]]
    elif isinstance(made, ast.BoolOp):
        made.op = ast.And() if isinstance(made.op, ast.Or) else ast.Or()
    elif isinstance(made, ast.If | ast.IfExp | ast.While):
        made.test = ast.UnaryOp(ast.Not(), made.test)
    elif isinstance(made, ast.Constant) and isinstance(made.value, int):
        made.value = not made.value if isinstance(made.value, bool) else made.value + 1
    elif isinstance(made, ast.Expr) and isinstance(made.value, ast.Call):
        made.value = ast.Constant(None)  # the call is dropped
    else:
        return None
    return made


class _Put(ast.NodeTransformer):
    def __init__(self, old: ast.AST, new: ast.AST) -> None:
        self.old, self.new = old, new

    def visit(self, node: ast.AST) -> ast.AST:
        return self.new if node is self.old else self.generic_visit(node)


def drawn(seed: int) -> Mutant:
    """The mutant of a seed: a room, then one of its sites."""
    draw = random.Random(f"mutant {seed}")
    files = sorted((PACKAGE / "fanout" / draw.choice(ROOMS)).rglob("*.py"))
    trees = {file: ast.parse(file.read_text(encoding="utf-8")) for file in files}
    file, number = draw.choice([(file, number) for file, tree in trees.items() for number in sites(tree)])
    old = list(ast.walk(trees[file]))[number]
    new = _changed(old)
    assert new is not None and isinstance(old, ast.stmt | ast.expr)
    line = old.lineno
    says = f"{file.relative_to(PACKAGE)}:{line}: {_line(old)}  ->  {_line(ast.fix_missing_locations(new))}"
    mutated = _Put(old, new).visit(trees[file])
    assert isinstance(mutated, ast.Module)
    return Mutant(file, ast.fix_missing_locations(mutated), says)


def _line(node: ast.AST) -> str:
    return ast.unparse(node).partition("\n")[0]


def selection_of(module: str) -> list[str]:
    """Files that import a module, its room, files that import a module that imports it, and some whole runs."""
    direct = _importing(module, _texts(ROOT / "tests", "test_*.py"))
    users = [".".join(Path(one).parts[3:])[:-3] for one in _importing(module, _texts(PACKAGE, "*.py"))]
    near = {test for user in users for test in _importing(user, _texts(ROOT / "tests", "test_*.py"))} - direct
    return [*sorted(direct, key=_first), _room(module), *sorted(near, key=_first), *WHOLE_RUNS]


@cache
def _texts(folder: Path, names: str) -> dict[str, str]:
    """Each file of Python below a folder, but tests that need a server of their own, with its text."""
    texts = {one.relative_to(ROOT).as_posix(): one.read_text(encoding="utf-8") for one in sorted(folder.rglob(names))}
    return {path: text for path, text in texts.items() if not path.startswith(ELSEWHERE)}


def _importing(module: str, texts: dict[str, str]) -> set[str]:
    """The files that import a module."""
    parent, _, name = module.rpartition(".")
    found = re.compile(rf"^\s*from ({re.escape(module)} import|{re.escape(parent)} import .*\b{name}\b)", re.MULTILINE)
    return {path for path, text in texts.items() if found.search(text)}


def _room(module: str) -> str:
    """The folder of tests that is nearest to a module."""
    words = module.split(".")[1:-1]
    folders = ["/".join(("tests", *words[:depth])) for depth in range(len(words), 0, -1)]
    return next(folder for folder in folders if (ROOT / folder).is_dir())


def _first(test: str) -> int:
    """The number of the first command that runs a test."""
    return next(number for number, command in enumerate(COMMANDS) if is_run(test, command))


class _Killer:
    """A plugin that notes the first test that fails."""

    name = ""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.name = self.name or report.nodeid

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.name = self.name or report.nodeid


def killer_of(mutant: Mutant, seconds: int) -> str | None:
    """The test that finds a mutant, "" if none does, None if that is not known after seconds of the processor."""
    read, write = os.pipe()
    if child := os.fork():
        os.close(write)
        with open(read, encoding="utf-8") as pipe:
            said = pipe.read()
        os.waitpid(child, 0)
        return said[1:] if said else None
    os.close(read)
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    killer, plain = _Killer(), SourceFileLoader.get_code

    def mutated(loader: SourceFileLoader, name: str) -> object:
        return compile(mutant.tree, mutant.file, "exec") if loader.path == str(mutant.file) else plain(loader, name)

    SourceFileLoader.get_code = mutated  # type: ignore[method-assign,assignment]
    with redirect_stdout(io.StringIO()) as console, redirect_stderr(console):
        ended = pytest.main(["-x", "-n", "0", "-p", "no:cacheprovider", *selection_of(mutant.module)], [killer])
    if ended not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED) and not killer.name:
        sys.stderr.write(console.getvalue())
        os._exit(1)
    os.write(write, f"={killer.name}".encode())
    os._exit(0)


def main() -> None:
    """See the module."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("--seeds", type=int, nargs=2, default=(0, 40), metavar=("FIRST", "END"))
    parser.add_argument("--seconds", type=int, default=60, help="of the processor, for each mutant")
    given = parser.parse_args()
    os.environ["HYPOTHESIS_PROFILE"] = "mutants"
    tally: Counter[str] = Counter()
    for seed in range(*given.seeds):
        mutant = drawn(seed)
        killer = killer_of(mutant, given.seconds)
        fate = "not known in time" if killer is None else COMMANDS[_first(killer)] if killer else "survives"
        tally[fate] += 1
        print(f"{seed} {fate}: {mutant.says}{f'  ({killer})' if killer else ''}", flush=True)
    print(dict(tally))


if __name__ == "__main__":
    main()
