"""Exit statuses by cause, for every error that can end a run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from fanout.model.errors import TASK_ERRORS
from fanout_cli.runs import results
from fanout_cli.runs.results import exit_status_of
from tests.cli.conftest import Aws

PAGE = Path(__file__).parents[2] / "docs/reference/commands.md"
OF_ERROR = {
    "InvalidRequest": 2,
    "AccessDenied": 4,
    "Unreachable": 4,
    "DeleteRefused": 5,
    "BudgetRefused": 5,
    "FinishRefused": 5,
}


@pytest.mark.parametrize("name", [*(error.__name__ for error in TASK_ERRORS), "Infrastructure"])
def test_a_run_that_an_error_ended_says_its_cause(name: str) -> None:
    assert exit_status_of("FAILED", {"name": name, "message": ""}) == OF_ERROR.get(name, 6)


def test_the_page_of_the_commands_has_every_status() -> None:
    listed = {int(number) for number in re.findall(r"^- ([0-9]+): ", PAGE.read_text(encoding="utf-8"), re.MULTILINE)}
    assert {value for name, value in vars(results).items() if name.startswith("EXIT_")} == listed - {130}


@pytest.mark.parametrize(
    ("status", "expected"),
    [("SUCCEEDED", 0), ("FAILED_WITH_ITEMS", 1), ("SKIPPED", 3), ("ABORTED", 6), ("TIMED_OUT", 6), ("FAILED", 6)],
)
def test_a_run_says_how_it_ended(status: str, expected: int) -> None:
    assert exit_status_of(status, None) == expected


@pytest.mark.parametrize(("error", "expected"), [*OF_ERROR.items(), ("OutOfTime", 6)])
def test_a_followed_run_ends_the_command_with_it(aws: Aws, error: str, expected: int) -> None:
    aws.start("run-1", error)
    assert aws.fanout("watch", "run-1", "--stack", "mine").exit_code == expected
