"""Templates that the layer's build made into Python: the same pages, nothing left out, nothing out of date."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from fanout.report.templating import COMPILED, TEMPLATES, compile_templates, environment
from tests.support.pages import KINDS, rendered, sources


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The templates as Python."""
    directory = tmp_path_factory.mktemp("compiled")
    compile_templates(directory)
    return directory


@pytest.mark.parametrize("run", KINDS)
def test_a_page_is_byte_for_byte_that_of_the_sources(run: Callable[[], object], compiled: Path) -> None:
    pages = rendered(run, compiled)
    assert pages
    for of_sources, of_compiled in pages:
        assert of_compiled.encode() == of_sources.encode()
        assert "<!doctype html>" in of_sources.lower()


def test_every_template_is_compiled_and_used(compiled: Path) -> None:
    assert len(list(compiled.glob("*.py"))) == len(sources()) > 5
    for name in sources():
        assert Path(str(environment(compiled).get_template(name).filename)).parent == compiled


def test_what_is_not_compiled_comes_from_its_source(tmp_path: Path) -> None:
    for name in sources():
        assert environment(tmp_path).get_template(name).filename == str(TEMPLATES / name)


def test_a_template_is_loaded_once() -> None:
    for name in sources():
        assert environment().get_template(name) is environment().get_template(name)


def test_a_checkout_has_no_compiled_templates_that_could_be_out_of_date() -> None:
    assert not COMPILED.exists()


def test_compiling_imports_nothing_that_is_built_for_one_processor() -> None:
    program = "import sys, fanout.report.templating; print(*sys.modules)"
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    ours = {name for name in found if name.partition(".")[0] == "fanout"}
    assert ours == {"fanout", "fanout.report", "fanout.report.templating", "fanout.report.text"}
