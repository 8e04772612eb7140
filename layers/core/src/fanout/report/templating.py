"""The environment of the templates, and the templates as Python, which the build of the layer makes beforehand.

Nothing here imports the domain: the build runs it where the layer's compiled packages are those of another processor.
"""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import BaseLoader, ChoiceLoader, Environment, FileSystemLoader, ModuleLoader, StrictUndefined
from markupsafe import Markup

from fanout.report import text

TEMPLATES = Path(__file__).parent / "templates"
# Only the layer has it: there is nothing in a checkout that an edited template could leave behind.
COMPILED = Path(__file__).parent / "compiled"


@cache
def environment(compiled: Path = COMPILED) -> Environment:
    """The templates with their filters; one that is not in the directory ``compiled`` is compiled from its source.

    A process has one, which keeps what it loaded: compiling the templates takes longer than a small run.
    """
    return _environment(ChoiceLoader([ModuleLoader(compiled), FileSystemLoader(TEMPLATES)]))


def compile_templates(target: Path) -> None:
    """Write each template as a Python module into ``target``, for ``environment``; a wrong one raises Jinja's error."""
    found = _environment(FileSystemLoader(TEMPLATES))
    found.compile_templates(target, extensions=["j2"], zip=None, ignore_errors=False)


def _environment(loader: BaseLoader) -> Environment:
    """Jinja compiles much of these options into the templates, so that both ways of loading need the same."""
    found = Environment(
        loader=loader,
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_shown,
    )
    for name in ("count", "number", "size", "duration", "clock", "percent", "clip", "components", "spoken", "dollars"):
        found.filters[name] = getattr(text, name)
    return found


def _shown(value: Any) -> Any:
    """Text that comes from the run, made visible before it is escaped; markup is the template's own."""
    return text.visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


if __name__ == "__main__":
    compile_templates(Path(sys.argv[1]))
