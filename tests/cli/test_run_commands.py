"""The commands about runs, each as a person types it, against a stack in moto."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest
from botocore.exceptions import NoRegionError
from typer.testing import CliRunner

from fanout.ledger.documents import document_row
from fanout.ledger.keys import WAITING
from fanout.ledger.seals import sealed_json
from fanout.turns.waiting import Waiting
from fanout_cli.account import session_options
from fanout_cli.local.paths import LocalPaths
from fanout_cli.main import app
from fanout_cli.runs.listed import ListedRun, show
from fanout_cli.stacks import aws_client_maker
from fanout_cli.terminal import Terminal
from tests.cli.conftest import Aws

MINE = ("--stack", "mine")
GOOD = {"source": "s3://a-bucket/in/", "destination": "efs:///out"}


def ended(aws: Aws, run_id: str) -> None:
    deadline = time.monotonic() + 10
    steps = aws.client("stepfunctions")
    [arn] = [arn for arn in aws.executions() if arn.endswith(f":{run_id}")]
    while steps.describe_execution(executionArn=arn)["status"] == "RUNNING":
        assert time.monotonic() < deadline
        time.sleep(0.02)


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
    ended(aws, "run-2")
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
    monkeypatch.setattr("fanout_cli.runs.watch.time.sleep", interrupted)
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


def test_stop_stops_and_says_how_to_go_on(aws: Aws) -> None:
    aws.start("run-1", seconds=60)
    stopped = aws.fanout("stop", "run-1", *MINE)
    assert stopped.exit_code == 0
    assert "a retry starts the request again from the beginning\n  fanout retry run-1 --stack mine" in stopped.stderr
    ended(aws, "run-1")
    again = aws.fanout("stop", "run-1", *MINE, "--json")
    assert json.loads(again.stdout) == {"run_id": "run-1", "stopped": False}
    report = aws.fanout("report", "run-1", *MINE)
    assert report.exit_code == 2
    assert "run-1 was stopped and has no report; a retry starts" in report.stderr


def test_retry_starts_a_run_that_resumes(aws: Aws) -> None:
    aws.start("run-1", "FailedWithItems")
    aws.planned("run-1", "copy")
    ended(aws, "run-1")
    retried = aws.fanout("retry", "--detach", "run-1", "--name", "run-2", *MINE, "--json")
    assert retried.exit_code == 0
    assert aws.request_of("run-2") == {"resume_from": "run-1"}
    assert json.loads(retried.stdout)["run_id"] == "run-2"


@pytest.mark.parametrize("mode", ["sync", "verify", "plan"])
def test_retry_of_another_mode_starts_its_stored_request_again(aws: Aws, mode: str) -> None:
    aws.start("run-1", "FailedWithItems")
    aws.planned("run-1", mode)
    ended(aws, "run-1")
    assert aws.fanout("retry", "--detach", "run-1", "--name", "run-2", *MINE).exit_code == 0
    assert aws.request_of("run-2") == {"mode": mode, "source": "s3://b/", "seconds": 0, "end": "SUCCEEDED"}


def test_retry_again_lists_a_copy_again(aws: Aws) -> None:
    aws.start("run-1", "FailedWithItems")
    aws.planned("run-1", "copy", resume_from="run-0")
    ended(aws, "run-1")
    assert aws.fanout("retry", "--detach", "run-1", "--again", "--name", "run-2", *MINE).exit_code == 0
    assert aws.request_of("run-2") == {"mode": "copy", "source": "s3://b/", "seconds": 0, "end": "SUCCEEDED"}


def test_retry_with_other_values_starts_the_stored_request_with_them(aws: Aws) -> None:
    aws.start("run-1", "FailedWithItems")
    aws.planned("run-1", "verify", resume_from="run-0", limits={"max_seconds": 60})
    ended(aws, "run-1")
    words = ("--set", "mode=copy", "--set", "limits.max_dollars=2.5", "--set", "compare=always")
    assert aws.fanout("retry", "--detach", "run-1", *words, "--name", "run-2", *MINE).exit_code == 0
    started = aws.request_of("run-2")
    assert (started["mode"], started["compare"]) == ("copy", "always")
    assert started["limits"] == {"max_seconds": 60, "max_dollars": 2.5}
    assert "resume_from" not in started


@pytest.mark.parametrize(("word", "said"), [("mode", "give FIELD=VALUE"), ("source.x=1", "source of that request")])
def test_a_value_that_cannot_be_set_is_refused_by_name(aws: Aws, word: str, said: str) -> None:
    aws.start("run-1", "FailedWithItems")
    aws.planned("run-1", "copy")
    ended(aws, "run-1")
    refused = aws.fanout("retry", "--detach", "run-1", "--set", word, "--name", "run-2", *MINE)
    assert (refused.exit_code, said in refused.stderr) == (2, True)


def test_retry_of_a_run_that_never_had_a_plan_starts_the_input_of_its_execution(aws: Aws) -> None:
    aws.start("run-1", "AccessDenied")
    ended(aws, "run-1")
    assert aws.fanout("retry", "--detach", "run-1", "--name", "run-2", *MINE).exit_code == 0
    assert aws.request_of("run-2") == {"seconds": 0, "end": "AccessDenied"}


@pytest.mark.parametrize(("mode", "said"), [("copy", "copies what is left\n"), ("sync", "starts the")])
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


def test_list_shows_the_newest_runs_with_their_counts(aws: Aws) -> None:
    for run_id, status in (("run-1", "SUCCEEDED"), ("run-2", "FAILED_WITH_ITEMS")):
        aws.start(run_id, "SUCCEEDED" if status == "SUCCEEDED" else "FailedWithItems")
        ended(aws, run_id)
        aws.summary(run_id, status, copied=7, failed=1, rejected=1)
    rows = json.loads(aws.fanout("list", *MINE, "--json").stdout)
    assert {(row["run_id"], row["status"], row["copied"], row["failed"]) for row in rows} == {
        ("run-1", "SUCCEEDED", 7, 2),
        ("run-2", "FAILED_WITH_ITEMS", 7, 2),
    }
    table = aws.fanout("list", *MINE, "--limit", "1")
    assert table.exit_code == 0
    assert table.stdout.count("run-") == 1


def test_list_in_a_pipe_is_plain_lines_with_whole_ids_ends_bytes_and_error(aws: Aws) -> None:
    run_id = "nightly-of-the-projects-of-the-whole-institute-1123-020000-abc"
    aws.start(run_id, "FailedWithItems")
    ended(aws, run_id)
    aws.summary(run_id, "FAILED_WITH_ITEMS", copied=7)
    aws.change(run_id, mode="sync", source="s3://in/projects/", destination="efs://data/projects")
    aws.start("refused", "InvalidRequest")
    ended(aws, "refused")
    head, *lines = aws.fanout("list", *MINE).stdout.splitlines()
    assert head.split("\t")[:3] == ["run", "mode", "status"]
    rows = {line.split("\t")[0]: line.split("\t") for line in lines}
    assert rows[run_id][1:3] == ["sync", "FAILED_WITH_ITEMS"]
    assert rows[run_id][5:7] == ["7", "3 KiB"]
    assert rows[run_id][8:] == ["s3://in/projects/", "efs://data/projects", "FailedWithItems"]
    assert rows["refused"][-1] == "InvalidRequest"


def test_in_a_terminal_of_80_columns_no_id_is_cut(capsys: pytest.CaptureFixture[str]) -> None:
    long = ListedRun("n" * 80, "SUCCEEDED", datetime(2026, 11, 23), 1.0, 1, 0, 5, "copy", "s3://in/", "efs:///out")
    show([long], Terminal(width=80))
    shown = capsys.readouterr().out
    assert "n" * 80 in shown
    assert "  s3://in/ to efs:///out\n" in shown


@pytest.mark.parametrize(
    ("words", "said"),
    [(("report",), "fanout-run-2"), (("stop",), "run-2 had ended"), (("watch",), "watching run-2")],
)
def test_without_a_run_it_is_the_newest(aws: Aws, words: tuple[str, ...], said: str) -> None:
    assert "has no run yet" in aws.fanout(*words, *MINE).stderr
    for run_id in ("run-1", "run-2"):
        aws.start(run_id)
        ended(aws, run_id)
        aws.summary(run_id, "SUCCEEDED", copied=1)
        time.sleep(0.01)
    assert said in aws.fanout(*words, *MINE).stderr


def test_report_brings_the_files_and_opens_the_page(aws: Aws, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    aws.summary("run-1", "FAILED_WITH_ITEMS", listed=3, copied=1, failed=2)
    report = aws.fanout("report", "run-1", *MINE, "--output", str(aws.directory / "out"), "--open")
    assert report.exit_code == 1
    assert "FAILED_WITH_ITEMS: listed 3, copied 1, failed 2" in report.stderr
    page = aws.directory / "out/report.html"
    assert opened == [page.as_uri()]
    assert page.read_text() == "<html>"
    assert sorted(path.name for path in page.parent.iterdir()) == ["failures.jsonl", "report.html", "summary.json"]
    aws.summary("run-2", "SUCCEEDED", listed=3, copied=3)
    good = aws.fanout("report", "run-2", *MINE, "--json")
    assert good.exit_code == 0
    assert json.loads(good.stdout)["paths"]["summary"] == str(Path("fanout-run-2/summary.json"))


def test_what_is_not_there_is_said_in_one_sentence(aws: Aws) -> None:
    for verb in ("watch", "stop", "report"):
        found = aws.fanout(verb, "nix", *MINE)
        assert found.exit_code == 2
        assert "watching" not in found.stderr
        assert "no run 'nix' in the stack 'mine'; `fanout list --stack mine` shows the runs" in found.stderr
    unknown = aws.fanout("list", "--stack", "other")
    assert unknown.exit_code == 2
    assert unknown.stderr.startswith("no stack 'other' in eu-west-1; name it with --stack")
    aws.client("cloudformation").create_stack(
        StackName="another", TemplateBody='{"Resources": {"B": {"Type": "AWS::S3::Bucket"}}}'
    )
    assert "has no output StateMachineArn" in aws.fanout("list", "--stack", "another").stderr
    assert "cannot be read" in aws.fanout("start", "--detach", "nix.json", *MINE).stderr
    assert "is not a run" in aws.fanout("report", "../x", *MINE).stderr


def test_the_stack_may_come_from_the_environment(aws: Aws, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "no stack 'fanout'" in aws.fanout("list").stderr
    monkeypatch.setenv("FANOUT_STACK", "mine")
    assert aws.fanout("list").exit_code == 0


def test_without_credentials_or_region_the_remedy_is_named(environment: Callable[[str], None], tmp_path: Path) -> None:
    def listed() -> str:
        found = CliRunner().invoke(app, ["list", "--stack", "mine", "--state", str(tmp_path)])
        assert found.exit_code == 2
        return found.stderr

    environment("AWS_ACCESS_KEY_ID")
    environment("AWS_SECRET_ACCESS_KEY")
    assert listed() == "no AWS credentials were found; run `aws configure` or give --profile\n"
    environment("AWS_DEFAULT_REGION")
    assert listed() == "no AWS region is set; give --region, or set AWS_REGION or a region in the profile\n"


@pytest.mark.parametrize(
    ("given", "used"),
    [
        ({"AWS_DEFAULT_REGION": "eu-west-1"}, "eu-west-1"),
        ({"AWS_REGION": "eu-west-2"}, "eu-west-2"),
        ({"AWS_REGION": "eu-west-2", "AWS_DEFAULT_REGION": "eu-west-1"}, "eu-west-2"),
    ],
)
def test_the_region_comes_from_the_variables_that_the_aws_command_reads(
    environment: Callable[[str], None], monkeypatch: pytest.MonkeyPatch, given: dict[str, str], used: str
) -> None:
    environment("AWS_DEFAULT_REGION")
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    assert aws_client_maker()("s3").meta.region_name == used


def test_region_and_profile_are_options(
    environment: Callable[[str], None], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked: list[dict[str, str | None]] = []

    def session() -> object:
        asked.append(session_options())
        raise NoRegionError

    monkeypatch.setattr("fanout_cli.stacks.new_session", session)
    runner = CliRunner()
    monkeypatch.setenv("AWS_REGION", "eu-west-1")
    runner.invoke(app, ["list", "--stack", "mine", "--region", "eu-north-1", "--profile", "prod"])
    runner.invoke(app, ["doctor", "--stack", "mine"])
    assert asked == [
        {"region_name": "eu-north-1", "profile_name": "prod"},
        {"region_name": "eu-west-1", "profile_name": None},
    ]
    mixed = runner.invoke(app, ["list", "--local", "--region", "eu-north-1", "--state", str(tmp_path)])
    assert "--region and --profile are of AWS" in mixed.stderr


def test_the_local_stack_must_be_up(environment: object, tmp_path: Path) -> None:
    found = CliRunner().invoke(app, ["list", "--local", "--state", str(tmp_path)])
    assert (found.exit_code, found.stderr) == (2, "the local stack is not up; run `fanout up`\n")
    both = CliRunner().invoke(app, ["list", "--local", "--stack", "mine", "--state", str(tmp_path)])
    assert "exclude each other" in both.stderr
    down = CliRunner().invoke(app, ["down", "--json", "--state", str(tmp_path)])
    assert json.loads(down.stdout) == {"ended": False}


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


def test_a_local_stack_that_died_is_told_from_one_that_is_not_up(environment: object, tmp_path: Path) -> None:
    up = LocalPaths.find(state=tmp_path).up
    up.parent.mkdir(parents=True, exist_ok=True)
    up.write_text('{"endpoint": "https://127.0.0.1:9", "ca_bundle": "none"}')
    for words in (["list"], ["list", "--local"]):
        died = CliRunner().invoke(app, [*words, "--state", str(tmp_path)])
        assert (died.exit_code, "the local stack has died" in died.stderr) == (2, True)


def test_a_local_run_beside_the_local_stack_says_how_to_use_it(
    environment: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fanout_cli.runs.local_run.read_up", lambda paths: {"pid": 1})
    (tmp_path / "r.json").write_text(json.dumps(GOOD))
    refused = CliRunner().invoke(app, ["local", "r.json", "--state", str(tmp_path)])
    assert refused.exit_code == 1
    assert "fanout start REQUEST.json --local`" in refused.stderr


def test_control_c_of_a_local_run_says_what_stays(
    environment: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("fanout_cli.runs.local_run.local_runs", interrupted)
    monkeypatch.setattr("fanout_cli.demo.run_demo", interrupted)
    (tmp_path / "r.json").write_text(json.dumps(GOOD))
    for words in (["local", "r.json"], ["demo"]):
        ended = CliRunner().invoke(app, [*words, "--state", str(tmp_path)])
        assert (ended.exit_code, "what is copied stays" in ended.stderr) == (130, True)


@pytest.mark.parametrize("words", [("start", "FILE"), ("retry", "run-0")])
def test_start_and_retry_follow_the_run_as_copy_does(aws: Aws, words: tuple[str, str]) -> None:
    aws.planned("run-0", "sync")
    aws.start("run-0")
    ended(aws, "run-0")
    aws.summary("run-1", "SUCCEEDED", listed=1, copied=1)
    followed = aws.fanout(words[0], aws.file(GOOD) if words[1] == "FILE" else words[1], "--name", "run-1", *MINE)
    assert "watching run-1; Ctrl-C leaves it going" in followed.stderr
    assert "report: fanout-run-1/report.html" in followed.stderr


def test_the_first_failed_paths_of_each_class_are_named_and_how_to_see_all(aws: Aws) -> None:
    aws.start("run-1", "FailedWithItems")
    aws.summary("run-1", "FAILED_WITH_ITEMS", listed=9, copied=2, failed=7)
    one = {"phase": "copy", "outcome": "failed", "reason": "source changed", "remedy": "start again"}
    aws.change("run-1", mode="copy", failures_by_class=[{**one, "entries": 7, "bytes": 0}])
    rows = [{**one, "path": f"d/{number}\x1b[2J", "size": 1, "message": "ETag"} for number in range(7)]
    aws.put("runs/run-1/failures.jsonl", "".join(json.dumps(row) + "\n" for row in rows).encode())
    said = aws.fanout("watch", "run-1", *MINE).stderr
    assert "  7 failed, source changed: start again\n    d/0\\x1b[2J: ETag\n" in said
    assert "    d/4\\x1b[2J: ETag\n    and 2 more\n" in said
    assert "all of them: fanout entries run-1 --stack mine --outcome failed" in said
    assert "    d/6\\x1b[2J: ETag\n" in aws.fanout("watch", "run-1", "-v", *MINE).stderr


def test_the_list_says_what_a_verification_found_and_between_which_ends_a_refused_request_was(aws: Aws) -> None:
    aws.start("run-1", "FailedWithItems")
    aws.summary("run-1", "FAILED_WITH_ITEMS", listed=3, failed=1)
    count = {"entries": 1, "bytes": 0}
    found = {"compared": count, "differences": 2, "not_compared": [], "source_digest": "", "destination_digest": ""}
    extra = {"reason": "not at the source", "entries": 1, "bytes": 0, "examples": []}
    other = {**extra, "reason": "size or kind differs"}
    verification = {**found, "by_class": [extra, other], "differing_directories": []}
    aws.change("run-1", mode="verify", verification=verification, failures=2)
    steps = aws.client("stepfunctions")
    [machine] = steps.list_state_machines()["stateMachines"]
    document = json.dumps({**GOOD, "mode": "sync", "seconds": 0, "end": "InvalidRequest"})
    steps.start_execution(stateMachineArn=machine["stateMachineArn"], name="run-2", input=document)
    for run_id in ("run-1", "run-2"):
        ended(aws, run_id)
    rows = {row["run_id"]: row for row in json.loads(aws.fanout("list", *MINE, "--json").stdout)}
    assert (rows["run-1"]["error"], rows["run-1"]["failed"]) == ("trees differ: 1 different, 1 extra", 2)
    assert [rows["run-2"][name] for name in ("mode", "source", "destination", "error")] == [
        "sync",
        GOOD["source"],
        GOOD["destination"],
        "InvalidRequest",
    ]
    assert "FAILED_WITH_ITEMS: trees differ: 1 different, 1 extra" in aws.fanout("watch", "run-1", *MINE).stderr
