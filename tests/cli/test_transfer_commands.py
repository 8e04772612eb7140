"""``copy``, ``sync``, ``plan`` and ``verify``: every field of a request as an option."""

from __future__ import annotations

from typing import Any

import pytest

from fanout.request.checked import fields_of
from fanout.request.course import Mode
from fanout.request.parse import Fields
from fanout_cli.commands.request_options import field_options
from fanout_cli.runs.figures import figures
from fanout_cli.runs.results import result_of_summary
from tests.cli.conftest import Aws

ENDS = ("s3://a-bucket/in/", "efs:///out")
MINE = ("--stack", "mine", "--detach")


def test_every_field_has_an_option_of_its_own() -> None:
    options = {option.field.path: option.name for option in field_options()}
    without = {"source", "destination", "mode", "resume_from"}
    assert options.keys() == {field.path for field in fields_of(Fields)} - without
    assert len(set(options.values())) == len(options)


@pytest.mark.parametrize("mode", sorted(set(Mode) - {Mode.ROLLBACK}))
def test_a_command_starts_its_mode(aws: Aws, mode: Mode) -> None:
    started = aws.fanout(mode.value, *ENDS, "--name", "run-1", *MINE)
    assert started.exit_code == 0, started.stderr
    assert aws.request_of("run-1") == {"source": ENDS[0], "destination": ENDS[1], "mode": mode.value}


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
    words.append("--refuse-empty-source")
    started = aws.fanout("sync", *ENDS, *words, "--price", "s3_get=0.1", "--name", "run-1", *MINE)
    assert started.exit_code == 0, started.stderr
    assert aws.request_of("run-1") == {
        "source": ENDS[0],
        "destination": ENDS[1],
        "mode": "sync",
        "exclude": ["*.tmp", ".git"],
        "delete_guard": {"max_count": "10M"},
        "limits": {"bytes_per_second": "50MiB", "max_concurrency": 7},
        "source_bucket": {"requester_pays": True},
        "prices": {"s3_get": 0.1},
        "allow_empty_source": False,
    }


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--compare", "never"), "compare: 'never' is not allowed; allowed: size-mtime, checksum, always"),
        (("--rate", "fast"), "limits.bytes_per_second: 'fast' is not a size"),
        (("--price", "s3"), "--price: 's3' is not NAME=VALUE"),
        (("--max-concurrency", "0"), "limits.max_concurrency: 0 is not allowed"),
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


def test_a_run_that_is_followed_ends_with_the_path_of_its_report(aws: Aws) -> None:
    aws.summary("run-1", "SUCCEEDED", listed=1, copied=1)
    ended = aws.fanout("copy", *ENDS, "--name", "run-1", "--stack", "mine")
    assert "report: fanout-run-1/report.html" in ended.stderr
    assert (aws.directory / "fanout-run-1/report.html").read_text() == "<html>"
