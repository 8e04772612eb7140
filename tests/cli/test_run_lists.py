"""The commands ``list`` and ``report``, as a person types them, against a stack in moto."""

from __future__ import annotations

import json
import time
from datetime import datetime
from pathlib import Path

import pytest

from fanout_cli.runs.listed import ListedRun, show
from fanout_cli.terminal import Terminal
from tests.cli.conftest import GOOD, MINE, Aws


def test_list_shows_the_newest_runs_with_their_counts(aws: Aws) -> None:
    for run_id, status in (("run-1", "SUCCEEDED"), ("run-2", "FAILED_WITH_ITEMS")):
        aws.start(run_id, "SUCCEEDED" if status == "SUCCEEDED" else "FailedWithItems")
        aws.wait_for_end(run_id)
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
    aws.wait_for_end(run_id)
    aws.summary(run_id, "FAILED_WITH_ITEMS", copied=7)
    aws.change(run_id, mode="sync", source="s3://in/projects/", destination="efs://data/projects")
    aws.start("refused", "InvalidRequest")
    aws.wait_for_end("refused")
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
        aws.wait_for_end(run_id)
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
        aws.wait_for_end(run_id)
    rows = {row["run_id"]: row for row in json.loads(aws.fanout("list", *MINE, "--json").stdout)}
    assert (rows["run-1"]["error"], rows["run-1"]["failed"]) == ("trees differ: 1 different, 1 extra", 2)
    assert [rows["run-2"][name] for name in ("mode", "source", "destination", "error")] == [
        "sync",
        GOOD["source"],
        GOOD["destination"],
        "InvalidRequest",
    ]
    assert "FAILED_WITH_ITEMS: trees differ: 1 different, 1 extra" in aws.fanout("watch", "run-1", *MINE).stderr
