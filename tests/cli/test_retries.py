"""The commands ``stop`` and ``retry``, as a person types them, against a stack in moto."""

from __future__ import annotations

import json

import pytest

from tests.cli.conftest import MINE, Aws


def test_stop_stops_and_says_how_to_go_on(aws: Aws) -> None:
    aws.start("run-1", seconds=60)
    stopped = aws.fanout("stop", "run-1", *MINE)
    assert stopped.exit_code == 0
    assert "a retry starts the request again from the beginning\n  fanout retry run-1 --stack mine" in stopped.stderr
    aws.wait_for_end("run-1")
    again = aws.fanout("stop", "run-1", *MINE, "--json")
    assert json.loads(again.stdout) == {"run_id": "run-1", "stopped": False}
    report = aws.fanout("report", "run-1", *MINE)
    assert report.exit_code == 2
    assert "run-1 was stopped and has no report; a retry starts" in report.stderr


@pytest.mark.parametrize("mode", ["copy", "move", "sync", "verify"])
def test_retry_starts_a_run_that_resumes(aws: Aws, mode: str) -> None:
    aws.start("run-1", "FailedWithItems")
    aws.planned("run-1", mode)
    aws.wait_for_end("run-1")
    retried = aws.fanout("retry", "--detach", "run-1", "--name", "run-2", *MINE, "--json")
    assert retried.exit_code == 0
    assert aws.request_of("run-2") == {"resume_from": "run-1"}
    assert json.loads(retried.stdout)["run_id"] == "run-2"


@pytest.mark.parametrize("mode", ["plan", "rollback"])
def test_retry_of_another_mode_starts_its_stored_request_again(aws: Aws, mode: str) -> None:
    aws.start("run-1", "FailedWithItems")
    aws.planned("run-1", mode)
    aws.wait_for_end("run-1")
    assert aws.fanout("retry", "--detach", "run-1", "--name", "run-2", *MINE).exit_code == 0
    assert aws.request_of("run-2") == {"mode": mode, "source": "s3://b/", "seconds": 0, "end": "SUCCEEDED"}


def test_retry_again_lists_a_copy_again(aws: Aws) -> None:
    aws.start("run-1", "FailedWithItems")
    aws.planned("run-1", "copy", resume_from="run-0")
    aws.wait_for_end("run-1")
    assert aws.fanout("retry", "--detach", "run-1", "--again", "--name", "run-2", *MINE).exit_code == 0
    assert aws.request_of("run-2") == {"mode": "copy", "source": "s3://b/", "seconds": 0, "end": "SUCCEEDED"}


def test_retry_with_other_values_starts_the_stored_request_with_them(aws: Aws) -> None:
    aws.start("run-1", "FailedWithItems")
    aws.planned("run-1", "verify", resume_from="run-0", limits={"max_seconds": 60})
    aws.wait_for_end("run-1")
    words: tuple[str, ...] = ("--set", "mode=copy", "--set", "limits.max_dollars=2.5", "--set", "compare=always")
    assert aws.fanout("retry", "--detach", "run-1", *words, "--name", "run-2", *MINE).exit_code == 0
    started = aws.request_of("run-2")
    assert (started["mode"], started["compare"]) == ("copy", "always")
    assert started["limits"] == {"max_seconds": 60, "max_dollars": 2.5}
    assert "resume_from" not in started
    more = ("--set", "seconds=null", "--set", "end=null")
    assert aws.fanout("retry", "--detach", "run-1", *more, "--name", "run-3", *MINE).exit_code == 0
    assert aws.request_of("run-3")["end"] is None


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("mode", "give FIELD=VALUE"),
        ("source.x=1", "source of that request"),
        ("max_dollars=5", "max_dollars: unknown field; did you mean limits.max_dollars?"),
        ("limits.max_dollars=five", "limits.max_dollars: 'five' is not allowed"),
    ],
)
def test_a_value_that_cannot_be_set_is_refused_by_name(aws: Aws, word: str, said: str) -> None:
    aws.start("run-1", "FailedWithItems")
    aws.planned("run-1", "copy")
    aws.wait_for_end("run-1")
    refused = aws.fanout("retry", "--detach", "run-1", "--set", word, "--name", "run-2", *MINE)
    assert (refused.exit_code, said in refused.stderr) == (2, True)


def test_retry_of_a_run_that_never_had_a_plan_starts_the_input_of_its_execution(aws: Aws) -> None:
    aws.start("run-1", "AccessDenied")
    aws.wait_for_end("run-1")
    assert aws.fanout("retry", "--detach", "run-1", "--name", "run-2", *MINE).exit_code == 0
    assert aws.request_of("run-2") == {"seconds": 0, "end": "AccessDenied"}


@pytest.mark.parametrize(("mode", "said"), [("copy", "copies what"), ("sync", "lists both"), ("plan", "starts the")])
def test_stop_says_what_a_retry_does_in_that_mode(aws: Aws, mode: str, said: str) -> None:
    aws.start("run-1", seconds=60)
    aws.planned("run-1", mode)
    assert f"next: a retry {said}" in aws.fanout("stop", "run-1", *MINE).stderr


def test_retry_refuses_a_run_that_goes_on(aws: Aws) -> None:
    aws.start("run-1", seconds=60)
    retried = aws.fanout("retry", "--detach", "run-1", *MINE)
    assert retried.exit_code == 2
    assert "run-1 still runs; wait for it, or stop it first: fanout stop run-1 --stack mine" in retried.stderr
    assert len(aws.executions()) == 1
    aws.fanout("stop", "run-1", *MINE)


def test_retry_of_a_run_that_step_functions_has_forgotten_needs_its_ledger(aws: Aws) -> None:
    assert "no run 'old' in the stack 'mine'" in aws.fanout("retry", "--detach", "old", *MINE).stderr
    aws.put("runs/old/plan.json", {})
    assert aws.fanout("retry", "--detach", "old", "--name", "new", *MINE).exit_code == 0
    assert aws.request_of("new") == {"resume_from": "old"}
