"""The tables of ``tests/commands.py`` name what is there, and each guard that they name runs in ``make test``."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.commands import COMMANDS, IN_PART, ONLY_ALL, QUICK, is_run, may_hold
from tests.template.templates import REPO

MAKEFILE = (REPO / "Makefile").read_text(encoding="utf-8")
READS_LONG = re.compile(r"^from tests\.support\.long import ", re.MULTILINE)


def recipe(target: str) -> str:
    """The commands of a target of the Makefile."""
    found = re.search(rf"^{target}:.*\n((?:\t.*\n)+)", MAKEFILE, re.MULTILINE)
    assert found is not None
    return found[1]


@pytest.mark.parametrize("path", [*QUICK, *ONLY_ALL, *ONLY_ALL.values(), *IN_PART])
def test_what_the_tables_name_is_there(path: str) -> None:
    assert (REPO / path.partition("::")[0]).exists()


@pytest.mark.parametrize(("left_out", "guard"), ONLY_ALL.items())
def test_the_guard_of_what_is_left_out_runs(left_out: str, guard: str) -> None:
    assert [is_run(left_out, command) for command in COMMANDS] == [False, False, True]
    assert is_run(guard, "test")


def test_the_quick_command_runs_nothing_that_deploys() -> None:
    assert all(is_run(one, "test") for one in QUICK)
    rooms = {Path(one).parts[1] for one in QUICK}
    assert rooms.isdisjoint({"e2e", "nfs", "browser", "contract"})


def test_some_tests_on_the_emulator_run_in_make_test() -> None:
    left = {path.stem for path in (REPO / "tests/e2e").glob("test_*.py") if is_run(f"tests/e2e/{path.name}", "test")}
    assert left >= {"test_stack", "test_command", "test_two_mounts"}


@pytest.mark.parametrize(
    ("path", "quick", "test"),
    [
        ("tests", False, True),
        ("tests/model", True, True),
        ("tests/model/test_reasons.py::test_x[a]", True, True),
        ("tests/models", False, True),
        ("tests/runs", False, True),
        ("tests/runs/test_flow.py", True, True),
        ("tests/e2e/test_layer.py::test_x", False, False),
    ],
)
def test_a_path_belongs_to_a_command(path: str, quick: bool, test: bool) -> None:
    assert [is_run(path, command) for command in COMMANDS] == [quick, test, True]


def test_a_folder_that_holds_a_file_of_the_command_is_collected() -> None:
    assert may_hold("tests", "quick") and may_hold("tests/runs", "quick")
    assert not may_hold("tests/e2e", "quick") and not may_hold("tests/runs/test_kills_in_crews.py", "quick")


def test_each_file_that_runs_in_part_is_in_the_table() -> None:
    files = (REPO / "tests").rglob("*.py")
    found = {one.relative_to(REPO).as_posix() for one in files if READS_LONG.search(one.read_text(encoding="utf-8"))}
    tables = {path: {part for part in IN_PART if path == part or path.startswith(f"{part}/")} for path in found}
    assert [path for path, parts in tables.items() if not parts] == []
    assert set().union(*tables.values()) == IN_PART.keys()


@pytest.mark.parametrize("command", COMMANDS)
def test_each_target_of_the_makefile_runs_its_tests(command: str) -> None:
    target = "test-all" if command == "all" else command
    assert f"--command {command} " in recipe(target)


def test_all_runs_what_the_gate_runs_in_part() -> None:
    said = recipe("test-all")
    assert "FANOUT_LONG=1" in said and "FANOUT_NFS=$(NFS)" in said and "\nNFS ?= whole\n" in MAKEFILE
    assert "adversary SECONDS=3600" in said and re.search(r"^test-all: check model ", MAKEFILE, re.MULTILINE)
    nightly = (REPO / ".github/workflows/nightly.yml").read_text(encoding="utf-8")
    assert "make test-all" in nightly and "schedule:" in nightly
    assert "exec make test\n" in (REPO / ".ci/run").read_text(encoding="utf-8")
