"""``copy``, ``sync``, ``plan`` and ``verify``: every field of a request as an option."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from fanout.request.course import Mode
from fanout.request.mode_fields import NOT_TAKEN
from fanout_cli.commands.request_options import field_options
from fanout_cli.runs.ending import figures
from fanout_cli.runs.results import result_of_summary
from tests.cli.conftest import Aws

ENDS = ("s3://a-bucket/in/", "efs:///out")
MINE = ("--stack", "mine", "--detach")


@pytest.mark.parametrize("mode", sorted(set(Mode) - {Mode.ROLLBACK}))
def test_a_command_offers_the_options_that_its_mode_takes(mode: Mode) -> None:
    refused = [field for row in NOT_TAKEN if row.of(mode.course) for field in row.fields]
    offered = [option.field.path for option in field_options(mode)]
    assert not [path for path in offered if path in refused or path.partition(".")[0] in refused]
    assert ("delete_guard.max_count" in offered) is (mode in (Mode.SYNC, Mode.MOVE, Mode.PLAN))


def test_an_option_of_another_command_is_refused_by_name_with_the_reason(aws: Aws) -> None:
    refused = aws.fanout("copy", *ENDS, "--max-delete", "3", *MINE)
    said = "--max-delete is no option of fanout copy: it deletes nothing; it is one of fanout sync, fanout move, "
    assert (refused.exit_code, said in refused.stderr) == (2, True)
    assert "No such option: --exlude; did you mean --exclude?" in aws.fanout("copy", *ENDS, "--exlude", "a").stderr


@pytest.mark.parametrize(
    ("option", "meant"),
    [
        ("--filter", "--include, --exclude"),
        ("--bwlimit", "--rate"),
        ("--transfers", "--max-concurrency"),
        ("--delete", "fanout sync, which deletes what the source lacks"),
    ],
)
def test_an_option_of_another_tool_is_answered_with_the_one_that_does_the_same(
    aws: Aws, option: str, meant: str
) -> None:
    said = aws.fanout("copy", *ENDS, option, "3", *MINE).stderr
    assert f"No such option: {option}; did you mean {meant}?" in said


def test_the_help_has_the_common_options_first_and_no_name_is_cut(aws: Aws) -> None:
    shown = aws.fanout("move", "--help-all").stdout
    assert shown.index("\nCommon:") < shown.index("\nFilters:") < shown.index("\nDeleting:")
    assert "--compare [size-mtime|checksum|always]" in shown
    assert "--destination-requester-pays " in shown
    assert "--publish" not in shown


@pytest.mark.parametrize("verb", ["copy", "sync", "move", "verify"])
def test_a_dry_run_plans_with_the_same_options(aws: Aws, verb: str) -> None:
    assert aws.fanout(verb, *ENDS, "--exclude", "a", "--dry-run", "--name", "run-1", *MINE).exit_code == 0
    asked = aws.request_of("run-1")
    assert (asked["mode"], asked["exclude"]) == ("plan", ["a"])


@pytest.mark.parametrize(
    "words", ["copy --verify all --certificate", "copy --verify content --checksums computed", "verify --certificate"]
)
def test_a_dry_run_leaves_out_what_a_plan_refuses(aws: Aws, words: str) -> None:
    verb, *options = words.split()
    started = aws.fanout(verb, *ENDS, *options, "--dry-run", "--name", "run-1", *MINE)
    assert started.exit_code == 0, started.stderr
    assert not {"certificate", "checksums"} & aws.request_of("run-1").keys()


def test_a_variable_stands_for_a_common_option(aws: Aws, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"COMPARE": "checksum", "EXCLUDE": "*.tmp .git", "RATE": "5 MiB", "DETACH": "1"}.items():
        monkeypatch.setenv(f"FANOUT_{name}", value)
    assert aws.fanout("copy", *ENDS, "--name", "run-1", "--stack", "mine").exit_code == 0
    asked = aws.request_of("run-1")
    assert (asked["compare"], asked["exclude"], asked["limits"]) == (
        "checksum",
        ["*.tmp", ".git"],
        {"bytes_per_second": "5 MiB"},
    )


def test_a_variable_stands_for_any_option_of_a_command(aws: Aws, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FANOUT_SYNC_MAX_DELETE", "7")
    monkeypatch.setenv("FANOUT_COPY_MAX_SECONDS", "60")
    assert aws.fanout("sync", *ENDS, "--name", "run-1", *MINE).exit_code == 0
    assert aws.fanout("copy", *ENDS, "--name", "run-2", *MINE).exit_code == 0
    assert aws.request_of("run-1")["delete_guard"] == {"max_count": 7}
    assert "limits" not in aws.request_of("run-1")
    assert aws.request_of("run-2")["limits"] == {"max_seconds": 60}


def test_a_place_has_a_name(aws: Aws) -> None:
    (aws.directory / "fanout.toml").write_text('[places]\nphotos = "s3://my-photos/originals/"\n')
    assert aws.fanout("copy", "photos:2026/", "efs:///out", "--name", "run-1", *MINE).exit_code == 0
    assert aws.fanout("copy", "photos:", "efs://archive", "--name", "run-2", *MINE).exit_code == 0
    assert aws.request_of("run-1")["source"] == "s3://my-photos/originals/2026/"
    assert aws.request_of("run-2")["source"] == "s3://my-photos/originals/"
    wrong = aws.fanout("copy", "photo:", "efs:///out", *MINE)
    assert (wrong.exit_code, "photo: is no place; did you mean photos?" in wrong.stderr) == (2, True)
    here = aws.fanout("copy", "./src", "efs:///out", *MINE)
    assert "./src is on this machine, which no stack sees" in here.stderr


def test_quiet_says_the_verdict_alone(aws: Aws) -> None:
    aws.summary("run-1", "SUCCEEDED", listed=1, copied=1)
    ended = aws.fanout("copy", *ENDS, "--name", "run-1", "--stack", "mine", "-q")
    assert ended.stderr.partition(": ")[2].startswith("listed 1, copied 1")
    assert "watching" not in ended.stderr


@pytest.mark.parametrize("mode", sorted(set(Mode) - {Mode.ROLLBACK}))
def test_a_command_starts_its_mode(aws: Aws, mode: Mode) -> None:
    started = aws.fanout(mode.value, *ENDS, "--name", "run-1", *MINE)
    assert started.exit_code == 0, started.stderr
    expected = {"source": ENDS[0], "destination": ENDS[1], "mode": mode.value, "allow_empty_source": False}
    assert aws.request_of("run-1") == expected


def test_options_become_fields(aws: Aws) -> None:
    words = [
        "--exclude",
        "*.tmp",
        "--exclude",
        ".git",
        "--max-delete",
        "10M",
        "--rate",
        "50MiB",
        "--max-concurrency",
        "7",
        "--source-requester-pays",
    ]
    words.append("--allow-empty-source")
    started = aws.fanout("sync", *ENDS, *words, "--price", "s3_get=0.1", "--name", "run-1", *MINE)
    assert started.exit_code == 0, started.stderr
    assert aws.request_of("run-1") == {
        "source": ENDS[0],
        "destination": ENDS[1],
        "mode": "sync",
        "allow_empty_source": True,  # so that a next step that repeats the line says it too
        "exclude": ["*.tmp", ".git"],
        "delete_guard": {"max_count": "10M"},
        "limits": {"bytes_per_second": "50MiB", "max_concurrency": 7},
        "source_bucket": {"requester_pays": True},
        "prices": {"s3_get": 0.1},
    }


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--compare", "never"), "Invalid value for '--compare'"),
        (("--rate", "fast"), "--rate fast is not a size; allowed: number, at least 1 MiB, at most"),
        (("--rate", "300KiB"), "--rate 300KiB is less than the least, 1 MiB/s"),
        (("--rate", "1MB/s"), "--rate 1MB/s is less than the least, 1 MiB/s"),
        (("--price", "s3"), "--price: 's3' is not NAME=VALUE"),
        (("--max-concurrency", "0"), "--max-concurrency 0 is less than the least, 1"),
        (("--older-than", "2026-01-31T00:00:00Z"), 'is not an age; from "1s" to'),
    ],
)
def test_what_is_wrong_is_said_before_anything_starts(aws: Aws, words: tuple[str, ...], said: str) -> None:
    refused = aws.fanout("copy", *ENDS, *words, *MINE)
    assert (refused.exit_code, aws.executions()) == (2, [])
    assert said in refused.stderr


def test_ages_and_times_have_options_of_their_own(aws: Aws) -> None:
    words = ["--older-than", "30d", "--modified-after", "2026-01-31T00:00:00Z"]
    assert aws.fanout("copy", *ENDS, *words, "--name", "run-1", *MINE).exit_code == 0
    asked = aws.request_of("run-1")
    assert (asked["older_than"], asked["modified_after"]) == ("30d", "2026-01-31T00:00:00Z")


def test_given_attributes_are_options(aws: Aws) -> None:
    words = ["--uid", "1000", "--file-mode", "0640", "--mtime", "now", "--override-attributes"]
    assert aws.fanout("copy", *ENDS, *words, "--name", "run-1", *MINE).exit_code == 0
    given = {"uid": 1000, "file_mode": "0640", "mtime": "now", "override": True}
    assert aws.request_of("run-1")["attributes"] == given


def test_the_figures_of_a_run() -> None:
    counts = {"entries": 0, "bytes": 0}
    totals = dict.fromkeys(("listed", "unchanged", "skipped", "failed", "rejected", "deleted"), counts)
    denied: dict[str, Any] = {"phase": "copy", "outcome": "failed", "reason": "source cannot be read"}
    summary = {
        "status": "FAILED_WITH_ITEMS",
        "mode": "copy",
        "error": None,
        "totals": {**totals, "copied": {"entries": 3, "bytes": 4096 * 1024}},
        "seconds": {"list": 1.0, "copy": 2.0},
        "failures_by_class": [{**denied, "entries": 1200, "bytes": 5, "remedy": "give it"}],
        "forecast": {"actual_dollars": {"total": 0.5}},
    }
    assert list(figures(result_of_summary({"status": "FAILED"}, "run-1", summary))) == [
        "4 MiB, in 3.0 s, 2 MiB/s while copying, about $0.50",
        "  1,200 failed, source cannot be read: give it",
    ]
    cheap = result_of_summary(
        {"status": "FAILED"}, "run-1", {**summary, "forecast": {"actual_dollars": {"total": 1e-3}}}
    )
    assert next(figures(cheap)).endswith("while copying, < $0.01")
    assert next(figures(replace(cheap, is_local=True))).endswith("while copying, < $0.01 on AWS")


def test_a_run_that_is_followed_ends_with_the_path_of_its_report(aws: Aws) -> None:
    aws.summary("run-1", "SUCCEEDED", listed=1, copied=1)
    ended = aws.fanout("copy", *ENDS, "--name", "run-1", "--stack", "mine")
    assert "report: fanout-run-1/report.html" in ended.stderr
    assert (aws.directory / "fanout-run-1/report.html").read_text() == "<html>"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ("--compare", "chcksum"),
            "'chcksum' is not one of 'size-mtime', 'checksum', 'always'; did you mean checksum?",
        ),
        (
            ("--exclude", "a", "--exclude", "[a"),
            "--exclude [a has a [ without ]; a class cannot hold /; see docs/how-to",
        ),
        (("--older-than", "30"), "a whole number and s, m, h, d or w; --modified-before takes a time"),
        (("--older-than", "30d", "--modified-before", "2026-01-31T00:00:00Z"), "same bound as --modified-before"),
        (("--max-concurrency", "x"), "--max-concurrency x "),
    ],
)
def test_an_error_names_what_was_typed_and_options_not_fields(aws: Aws, words: tuple[str, ...], said: str) -> None:
    refused = aws.fanout("copy", *ENDS, *words, *MINE)
    assert (refused.exit_code, said in refused.stderr) == (2, True), refused.stderr
    assert "Value error" not in refused.stderr


def test_a_number_that_is_none_is_said_in_plain_words(aws: Aws) -> None:
    assert "Invalid value for '--limit': it is not a whole number" in aws.fanout("list", "--limit", "x").stderr


def test_a_destination_on_this_machine_is_told_another_way_than_a_source(aws: Aws) -> None:
    here = aws.fanout("copy", ENDS[0], "/data/out", *MINE)
    assert "fetch it from there; for the local stack: fanout up --mount data=/data/out, then efs:///" in here.stderr
    unknown = aws.fanout("copy", "videos:", "efs:///out", *MINE)
    assert "videos: is no place; give it one in fanout.toml, below [places]: videos = " in unknown.stderr
