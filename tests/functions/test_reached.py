"""The layer holds what a function imports; what the command alone uses lies with the command."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import fanout
from fanout.flow.steps import STEPS
from fanout.runtime import handlers

ROOT = Path(fanout.__file__).parent.parent
MODULES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for path in ROOT.glob("fanout/**/*.py")
}


def imported(module: str) -> Iterator[str]:
    """Each module of the package that one names: in an import, or in a text as the table of steps does."""
    for node in ast.walk(ast.parse(MODULES[module].read_text())):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            names = [f"fanout.{node.value.partition(':')[0]}"]
        yield from (name for name in names if name in MODULES)


def test_the_layer_holds_no_module_that_no_function_reaches() -> None:
    assert STEPS
    reached, open_ = set[str](), {module for module in MODULES if module.startswith(handlers.__package__)}
    while open_:
        module = open_.pop()
        reached.add(module)
        open_.update(set(imported(module)) - reached)
    packages = {module for module, path in MODULES.items() if path.name == "__init__.py"}
    assert not set(MODULES) - reached - packages
