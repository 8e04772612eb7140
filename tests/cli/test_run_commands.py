"""The commands ``start`` and ``watch``, as a person types them, against a stack in moto."""

from __future__ import annotations

import json
import re
import time

import pytest
from typer.testing import CliRunner

from fanout.ledger.documents import document_row
from fanout.ledger.seals import sealed_json
from fanout.turns.waiting import WAITING, Waiting
from fanout_cli.main import app
from tests.cli.conftest import GOOD, MINE, Aws


def test_start_returns_at_once_and_says_how_to_follow(aws: Aws) -> None:
    started = aws.fanout("start", "--detach", aws.file(GOOD), "--name", "run-1", *MINE)
    assert started.exit_code == 0, started.stderr
    assert "run-1 runs on the stack mine" in started.stderr
    assert "follow it: fanout watch run-1 --stack mine" in started.stderr
    assert aws.request_of("run-1") == GOOD


def test_start_prints_json_if_asked(aws: Aws) -> None:
    started = aws.fanout("start", "--detach", aws.file(GOOD), *MINE, "--json")
    document = json.loads(started.stdout)
    assert document["execution_arn"].endswith(f":execution:mine-transfer:{document['run_id']}")
    assert re.fullmatch(r"copy-\d{4}-\d{6}-[a-z0-9]{3}", document["run_id"])
    again = aws.fanout("start", "--detach", aws.file(GOOD), "--name", document["run_id"], *MINE)
    assert again.exit_code in (0, 2)


def test_start_reads_standard_input(aws: Aws) -> None:
    words = ["start", "--detach", "-", "--name", "run-1", *MINE, "--state", str(aws.state)]
    assert CliRunner().invoke(app, words, input=json.dumps(GOOD)).exit_code == 0
    assert aws.request_of("run-1") == GOOD


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ({}, "source: is missing"),
        ([], "request: is not a JSON object"),
        ({**GOOD, "exclud": ["*.tmp"]}, "exclud: unknown field; did you mean exclude?"),
        ({**GOOD, "limits": {"max_concurency": 1}}, "did you mean max_concurrency?"),
        ({"resume_from": "run-0", "sorce": 1}, "sorce: unknown field; did you mean source?"),
        ({**GOOD, "source": "efs:///a/", "destination": "efs:///a/b"}, "destination: "),
    ],
)
def test_start_refuses_a_wrong_request_before_anything_starts(aws: Aws, document: object, said: str) -> None:
    refused = aws.fanout("start", "--detach", aws.file(document), *MINE)
    assert (refused.exit_code, aws.executions()) == (2, [])
    assert said in refused.stderr


def test_the_first_mount_may_be_the_named_one_or_another(aws: Aws) -> None:
    for number, mode in enumerate(("copy", "sync")):
        ends = {"source": "efs:///a", "destination": "efs://other/a" if mode == "copy" else "efs://data/b"}
        name = f"run-{number}"
        assert aws.fanout("start", "--detach", aws.file({**ends, "mode": mode}), "--name", name, *MINE).exit_code == 0


@pytest.mark.parametrize(
    ("end", "status", "code", "said"),
    [
        ("SUCCEEDED", "SUCCEEDED", 0, "SUCCEEDED: listed 3, copied 3"),
        ("FailedWithItems", "FAILED_WITH_ITEMS", 1, "next: follow the remedies of the failures"),
    ],
)
def test_watch_waits_for_the_end_and_gives_the_verdict(aws: Aws, end: str, status: str, code: int, said: str) -> None:
    aws.start("run-1", end, seconds=1)
    aws.summary("run-1", status, listed=3, copied=3 if code == 0 else 1, failed=2 if code else 0)
    watched = aws.fanout("watch", "run-1", *MINE)
    assert watched.exit_code == code
    assert said in watched.stderr


@pytest.mark.parametrize("command", ["watch", "report"])
def test_a_run_that_was_skipped_says_why_and_which_run_to_follow(aws: Aws, command: str) -> None:
    aws.start("run-2", "SUCCEEDED")
    aws.skipped("run-2", "run-1")
    answer = aws.fanout(command, "run-2", *MINE, "--json")
    assert answer.exit_code == 3
    assert "SKIPPED: the run run-1 carries out the same transfer" in answer.stderr
    document = json.loads(answer.stdout)
    assert (document["status"], document["error"], document["skipped"]["holder"]) == ("SKIPPED", None, "run-1")
    if command == "watch":
        assert "next: follow the run that does the work\n  fanout watch run-1 --stack mine" in answer.stderr
        assert "retry" not in answer.stderr
    aws.wait_for_end("run-2")
    [row] = json.loads(aws.fanout("list", *MINE, "--json").stdout)
    assert (row["status"], row["copied"], row["failed"]) == ("SKIPPED", 0, 0)
    stopped = aws.fanout("stop", "run-2", *MINE).stderr
    assert "run-2 had ended already\nnext: follow the run that does the work\n  fanout watch run-1 --st" in stopped


def test_an_invalid_request_ends_with_status_2_and_its_message(aws: Aws) -> None:
    aws.start("run-1", "InvalidRequest")
    watched = aws.fanout("watch", "run-1", *MINE, "--json")
    assert watched.exit_code == 2
    assert json.loads(watched.stdout)["error"] == {"name": "InvalidRequest", "message": "as asked"}
    assert "FAILED: the request was refused\nInvalidRequest: as asked" in watched.stderr
    step = "next: correct the field that the error names\n  fanout retry run-1 --set FIELD=VALUE --stack mine"
    assert step in watched.stderr


def test_control_c_leaves_the_run_going_and_says_how_to_come_back(aws: Aws, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    aws.start("run-1", seconds=60)
    monkeypatch.setattr("fanout_cli.progress.watch.time.sleep", interrupted)
    watched = aws.fanout("watch", "run-1", *MINE)
    assert watched.exit_code == 130
    assert "run-1 was not stopped; come back: fanout watch run-1 --stack mine" in watched.stderr
    listed = json.loads(aws.fanout("list", *MINE, "--json").stdout)
    assert [run["status"] for run in listed] == ["RUNNING"]
    aws.fanout("stop", "run-1", *MINE)


def test_control_c_while_the_result_is_read_says_how_to_come_back(aws: Aws, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    aws.start("run-1")
    monkeypatch.setattr("fanout_cli.runs.following.result_of_run", interrupted)
    watched = aws.fanout("watch", "run-1", *MINE)
    assert (watched.exit_code, "run-1 was not stopped; come back" in watched.stderr) == (130, True)


def test_control_c_anywhere_else_ends_a_command_with_130(aws: Aws, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("fanout_cli.runs.listed.list_runs", interrupted)
    listed = aws.fanout("list", *MINE)
    assert (listed.exit_code, listed.stderr.strip()) == (130, "interrupted")


@pytest.mark.parametrize("with_summary", [True, False])
@pytest.mark.parametrize(
    ("end", "summary", "status", "code"),
    [
        ("SUCCEEDED", "SUCCEEDED", "SUCCEEDED", 0),
        ("FailedWithItems", "FAILED_WITH_ITEMS", "FAILED_WITH_ITEMS", 1),
        ("FailedAfterPlan", "FAILED", "FAILED", 6),
        ("FailedInfrastructure", "SUCCEEDED", "FAILED", 6),  # broke off after its books were closed
    ],
)
def test_watching_gives_the_status_of_the_summary(
    aws: Aws, end: str, summary: str, status: str, code: int, with_summary: bool
) -> None:
    if with_summary:
        aws.summary("run-1", summary, listed=3)
    aws.start("run-1", end)
    watched = aws.fanout("watch", "run-1", "--json", *MINE)
    result = json.loads(watched.stdout.splitlines()[-1])  # progress may come before, of a run that takes a moment
    assert (result["status"], watched.exit_code) == (status, code)
    assert f"{status}: " in watched.stderr


def waits(aws: Aws, run_id: str) -> None:
    """The ledger of a run that waits for its turn."""
    key = f"runs/{run_id}/{WAITING}"
    waiting = Waiting("slow1", "efs://data/slow", "sync", time.time() - 60, 2, time.time() + 30)
    aws.put(key, sealed_json(key, document_row(waiting)))


def test_watch_says_for_which_run_this_one_waits(aws: Aws) -> None:
    aws.start("run-1", seconds=2)
    waits(aws, "run-1")
    watched = aws.fanout("watch", "run-1", *MINE)
    said = re.search(r"; waiting for slow1, which writes efs://data/slow; (.*), next try within \d+ s", watched.stderr)
    assert said is not None, watched.stderr
    assert re.fullmatch(r"for (6\d s|[1-9] min \d\d s) so far", said[1])  # a slow machine looks some seconds later


def test_watch_prints_json_lines_and_the_result_as_the_last_one(aws: Aws) -> None:
    aws.start("run-1", seconds=2)
    waits(aws, "run-1")
    aws.summary("run-1", "SUCCEEDED", listed=3, copied=3)
    watched = aws.fanout("watch", "run-1", *MINE, "--json")
    *progress, result = [json.loads(line) for line in watched.stdout.splitlines()]
    assert [line["kind"] for line in progress] == ["progress"]
    assert (progress[0]["phase"], progress[0]["waiting"]["holder"]) == ("plan", "slow1")
    assert (result["kind"], result["status"], result["run_id"]) == ("result", "SUCCEEDED", "run-1")


def test_a_ledger_that_is_not_whole_does_not_end_the_watching(aws: Aws) -> None:
    aws.start("run-1", seconds=2)
    aws.put("runs/run-1/phases/plan.json", b"{")
    aws.summary("run-1", "SUCCEEDED", listed=3, copied=3)
    assert aws.fanout("watch", "run-1", *MINE).exit_code == 0


@pytest.mark.parametrize("words", [("start", "FILE"), ("retry", "run-0")])
def test_start_and_retry_follow_the_run_as_copy_does(aws: Aws, words: tuple[str, str]) -> None:
    aws.planned("run-0", "sync")
    aws.start("run-0")
    aws.wait_for_end("run-0")
    aws.summary("run-1", "SUCCEEDED", listed=1, copied=1)
    followed = aws.fanout(words[0], aws.file(GOOD) if words[1] == "FILE" else words[1], "--name", "run-1", *MINE)
    assert "watching run-1; Ctrl-C leaves it going" in followed.stderr
    assert "report: fanout-run-1/report.html" in followed.stderr
