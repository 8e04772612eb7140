"""Runs whose executions are forgotten: by the emulator when it ends, by Step Functions after 90 days."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import replace

import pytest

from fanout_cli.command_error import CommandError
from fanout_cli.runs.listed import list_runs
from fanout_cli.runs.runs import ledgers_of, newest_run
from fanout_cli.stacks import Stack, deployed_stack
from tests.cli.conftest import Aws

MINE = ("--stack", "mine")
ENDS = {"source": "s3://in/", "destination": "efs:///out"}


@pytest.fixture
def local(aws: Aws) -> Iterator[Stack]:
    """The stack in moto, taken for the one on this machine."""
    yield replace(deployed_stack("mine"), option="--local")


def forgotten(aws: Aws, run_id: str, status: str, **totals: int) -> None:
    """The ledger of a run that nothing but it remembers."""
    aws.planned(run_id, "copy")
    if status:
        aws.summary(run_id, status, **totals)
        times = {"began": "2026-11-20T10:00:00+00:00", "ended": "2026-11-20T10:00:30+00:00"}
        aws.change(run_id, mode="copy", **ENDS, **times)


def test_the_local_list_shows_the_ledgers_that_are_there(aws: Aws, local: Stack) -> None:
    assert list_runs(local, 5) == []
    forgotten(aws, "earlier", "FAILED_WITH_ITEMS", copied=7, failed=1)
    forgotten(aws, "ended-with-the-stack", "")
    for beside in ("indexes/x.json", "batches/y.jsonl"):
        aws.put(f"runs/{beside}", {})
    aws.start("now")
    rows = {run.run_id: run for run in list_runs(local, 5)}
    assert set(rows) == {"earlier", "ended-with-the-stack", "now"}
    earlier = rows["earlier"]
    assert (earlier.status, earlier.copied, earlier.failed, earlier.seconds) == ("FAILED_WITH_ITEMS", 7, 1, 30.0)
    assert (earlier.source, earlier.destination, earlier.error) == ("s3://in/", "efs:///out", "FailedWithItems")
    assert (rows["ended-with-the-stack"].status, rows["ended-with-the-stack"].mode) == ("ABORTED", "copy")
    assert len(list_runs(local, 2)) == 2
    assert "earlier" not in [run.run_id for run in list_runs(local, 2)]  # it is the oldest


def test_on_aws_step_functions_says_which_runs_there_are(aws: Aws) -> None:
    forgotten(aws, "earlier", "SUCCEEDED", copied=7)
    assert json.loads(aws.fanout("list", *MINE, "--json").stdout) == []


def test_the_newest_run_of_the_local_stack_may_be_one_of_an_earlier_day(aws: Aws, local: Stack) -> None:
    with pytest.raises(CommandError, match="has no run yet"):
        newest_run(local)
    forgotten(aws, "first", "")
    time.sleep(1.1)  # S3 says whole seconds
    forgotten(aws, "second", "")
    assert newest_run(local) == "second"
    assert [ledger.run_id for ledger in ledgers_of(local)] == ["second", "first"]
    aws.start("now")
    assert newest_run(local) == "now"


@pytest.mark.parametrize(
    ("status", "code", "said"),
    [
        ("SUCCEEDED", 0, "SUCCEEDED: listed 7, copied 7"),
        ("FAILED_WITH_ITEMS", 1, "FAILED_WITH_ITEMS: listed 7, copied 7"),
        ("", 6, "ABORTED: it left no summary"),
    ],
)
def test_a_run_that_only_its_ledger_remembers_can_be_looked_at(aws: Aws, status: str, code: int, said: str) -> None:
    forgotten(aws, "old", status, listed=7, copied=7)
    watched = aws.fanout("watch", "old", *MINE, "--json")
    assert (watched.exit_code, said in watched.stderr) == (code, True), watched.stderr
    assert (json.loads(watched.stdout)["totals"] is None) == (status == "")
    again = aws.fanout("retry", "--detach", "old", *MINE, "--name", "new")
    assert again.exit_code == 0, again.stderr
    assert aws.request_of("new") == {"resume_from": "old"}


@pytest.mark.parametrize("name", ["a b", "-x", "_x", "x" * 81, "a/b", "ü"])
def test_a_name_that_no_run_can_have_is_refused_here(aws: Aws, name: str) -> None:
    refused = aws.fanout(
        "start", "--detach", aws.file({"source": "s3://a-b/", "destination": "efs:///a"}), f"--name={name}", *MINE
    )
    assert (refused.exit_code, aws.executions()) == (2, [])
    assert "is no name of a run; take 1 to 80 of A-Z, a-z, 0-9, - and _" in refused.stderr


@pytest.mark.parametrize("name", ["indexes", "batches", "mounts", "latest"])
def test_a_run_is_not_named_as_what_lies_beside_the_runs(aws: Aws, name: str) -> None:
    refused = aws.fanout(
        "start", "--detach", aws.file({"source": "s3://a-b/", "destination": "efs:///a"}), "--name", name, *MINE
    )
    assert (refused.exit_code, aws.executions()) == (2, [])
    assert "choose another --name" in refused.stderr
