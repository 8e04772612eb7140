"""What a cold start imports: nothing that its function does not use."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FUNCTIONS = sorted(path.parent.name for path in ROOT.glob("functions/*/app.py"))
# Who may import what at the start; imported inside a function of ours it shows up nowhere here.
ALLOWED = {
    "boto3": set[str](),  # who calls it imports it then
    "botocore.session": set[str](),
    "jinja2": {"summarise_transfer"},
    "fanout.report.page": {"summarise_transfer"},
    "pydantic": set[str](),  # is in no layer
    "fanout.adapters.aws.meter": set[str](),
    "fanout.adapters.aws.step_functions": set[str](),
    "tests.support.memory": set[str](),
    "ctypes": set[str](),
    "email.utils": set[str](),
    "html": set[str](),
    "http.client": set[str](),
    "mimetypes": set[str](),
    "statistics": {"run_experiment", "summarise_probe"},
    "tempfile": set[str](),
    "urllib.request": set[str](),
    "xml.sax": set[str](),
    "fanout_cli": set[str](),
}


# A fresh interpreter that has imported nothing; each function is imported in a fork of its own.
FORKS = """
import os, sys
for folder in sys.argv[1:]:
    child = os.fork()
    if not child:
        sys.path[0] = folder
        import app
        os.write(1, f"{os.path.basename(folder)} {' '.join(sys.modules)}\\n".encode())
        os._exit(0)
    os.waitpid(child, 0)
"""


@pytest.fixture(scope="module")
def imported() -> dict[str, set[str]]:
    """The modules that are there once the handler of a function is imported, by the function."""
    environment = {"PYTHONPATH": str(ROOT / "layers/core/src"), "AWS_REGION": "eu-west-1", "PATH": os.environ["PATH"]}
    folders = [str(ROOT / "functions" / function) for function in FUNCTIONS]
    command = [sys.executable, "-c", FORKS, *folders]
    found = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    lines = [line.split() for line in found.stdout.splitlines()]
    assert [function for function, *_ in lines] == FUNCTIONS, found.stderr
    return {function: set(modules) for function, *modules in lines}


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_cold_start_imports_nothing_that_is_not_used(function: str, imported: dict[str, set[str]]) -> None:
    modules = imported[function]
    assert modules & {"fanout.runtime.handlers", "fanout.runtime.questions"}
    wrong = {name for name, users in ALLOWED.items() if name in modules and function not in users}
    assert not wrong, f"{function} imports {', '.join(sorted(wrong))}"


def test_the_lists_name_functions_that_exist() -> None:
    assert set().union(*ALLOWED.values()) <= set(FUNCTIONS)
