"""``fanout copy --from-verify RUN`` starts a copy of what a verification found to differ, and of nothing else."""

from __future__ import annotations

from typing import Any

import pytest

from tests.cli.conftest import BUCKET, Aws

MINE = ("--stack", "mine", "--detach")
ENDS = {"source": "s3://a-bucket/in/", "destination": "efs:///out"}
DIFFERS = [{"reason": "content differs", "phase": "verify", "outcome": "failed", "entries": 1, "bytes": 1}]


def verified(aws: Aws, run_id: str = "run-1", mode: str = "verify", asked: Any = None, **changed: Any) -> None:
    aws.start(run_id, "FailedWithItems")
    request = {"mode": mode, **ENDS, "exclude": ["*.tmp"], "limits": {"files_per_second": 9}} | (asked or {})
    aws.put(f"runs/{run_id}/request.json", {"request": request})
    aws.summary(run_id, "FAILED_WITH_ITEMS")
    aws.change(run_id, **{"mode": mode, "failures_by_class": DIFFERS, **changed})


def test_it_copies_the_differences_whatever_seems_unchanged(aws: Aws) -> None:
    verified(aws)
    started = aws.fanout("copy", "--from-verify", "run-1", "--name", "run-2", "--rate", "5MiB", *MINE)
    assert started.exit_code == 0, started.stderr
    asked = aws.request_of("run-2")
    assert {name: asked[name] for name in ("source", "destination", "mode", "compare", "manifest", "exclude")} == {
        **ENDS,
        "mode": "copy",
        "compare": "always",
        "manifest": f"s3://{BUCKET}/runs/run-1/failures.jsonl",
        "exclude": ["*.tmp"],
    }
    assert asked["limits"] == {"files_per_second": 9, "bytes_per_second": "5MiB"}


@pytest.mark.parametrize("asked", [{"checksums": "computed"}, {"certificate": True}, {"verify": "content"}])
def test_how_a_verification_compares_is_left_out(aws: Aws, asked: dict[str, Any]) -> None:
    verified(aws, asked=asked)
    started = aws.fanout("copy", "--from-verify", "run-1", "--name", "run-2", *MINE)
    assert started.exit_code == 0, started.stderr
    assert not asked.keys() & aws.request_of("run-2").keys()


@pytest.mark.parametrize(
    ("mode", "changed", "said"),
    [
        ("copy", {}, "run-1 is a copy; --from-verify takes a run of `fanout verify`"),
        ("verify", {"failures_by_class": []}, "run-1 found no difference; there is nothing to copy"),
        (
            "verify",
            {"failures_by_class": [{**DIFFERS[0], "reason": "hard links differ"}]},
            "names of one file again: fanout copy s3://a-bucket/in/ efs:///out --exclude '*.tmp' --compare always",
        ),
        (
            "verify",
            {
                "failures_by_class": [
                    {**DIFFERS[0], "reason": one} for one in ("hard links differ", "not at the source")
                ]
            },
            "names of one file again: fanout copy",
        ),
        (
            "verify",
            {"failures_by_class": [{**DIFFERS[0], "reason": "not at the source"}]},
            "run-1 found only what the source lacks, and a copy deletes nothing",
        ),
        (
            "verify",
            {"asked": {"symlinks": "follow"}},
            "fanout copy s3://a-bucket/in/ efs:///out --exclude '*.tmp' --compare always --symlinks follow",
        ),
        ("verify", {"status": "FAILED"}, "has not compared everything; verify again: fanout retry run-1 --stack mine"),
    ],
)
def test_another_run_is_refused_with_what_would_be_right(aws: Aws, mode: str, changed: Any, said: str) -> None:
    verified(aws, mode=mode, **changed)
    refused = aws.fanout("copy", "--from-verify", "run-1", *MINE)
    assert (refused.exit_code, said in " ".join(refused.stderr.split())) == (2, True), refused.stderr


@pytest.mark.parametrize("asked", [{"certificate": True}, {"certificate": True, "verify": "content"}, {"limits": None}])
def test_how_a_verification_compares_is_none_of_its_copy(aws: Aws, asked: Any) -> None:
    verified(aws, asked=asked)
    started = aws.fanout("copy", "--from-verify", "run-1", "--name", "run-2", "--rate", "5MiB", *MINE)
    assert started.exit_code == 0, started.stderr
    assert not {"certificate", "verify"} & aws.request_of("run-2").keys()


@pytest.mark.parametrize("more", [("s3://a-bucket/in/",), tuple(ENDS.values()), ("--manifest", "s3://b/m.csv")])
def test_ends_and_a_manifest_beside_it_are_refused(aws: Aws, more: tuple[str, ...]) -> None:
    refused = aws.fanout("copy", *more, "--from-verify", "run-1", *MINE)
    assert (refused.exit_code, "give it without them" in refused.stderr) == (2, True)


def test_a_copy_without_an_end_says_which_is_missing(aws: Aws) -> None:
    assert "Missing argument 'SOURCE'." in aws.fanout("copy", *MINE).stderr
    assert "Missing argument 'DESTINATION'." in aws.fanout("copy", ENDS["source"], *MINE).stderr
    assert "did you mean" not in aws.fanout("sync", *MINE).stderr
