"""The review of the templates: which findings count."""

from __future__ import annotations

import json

import pytest

from scripts.review_templates import Allowance, Finding, allowances, parse, review

BUCKET = Finding("CKV_1", "AWS::S3::Bucket.WorkBucket", "Ensure that it is")
QUEUE = Finding("CKV_1", "AWS::SQS::Queue.Any", "Ensure that it is")
ALLOWED = Allowance("CKV_1", ["AWS::S3::Bucket.*"], "because")


def test_a_finding_without_an_exception_is_a_problem() -> None:
    assert review([BUCKET], [ALLOWED]) == []
    assert review([BUCKET, QUEUE], [ALLOWED]) == ["AWS::SQS::Queue.Any: CKV_1: Ensure that it is"]
    assert len(review([BUCKET], [])) == 1


def test_an_exception_that_nothing_needs_is_a_problem() -> None:
    assert review([], [ALLOWED]) == [
        "checkov-exceptions.toml: nothing needs the exception of CKV_1 any more; remove it"
    ]


def test_an_exception_without_a_reason_is_a_problem() -> None:
    assert review([BUCKET], [Allowance("CKV_1", ["*"], " ")]) == ["checkov-exceptions.toml: CKV_1 has no reason"]


def test_the_exceptions_are_each_about_one_check() -> None:
    checks = [one.check for one in allowances()]
    assert checks and len(set(checks)) == len(checks)
    assert all(len(one.reason.split()) > 8 for one in allowances())


def test_a_template_that_could_not_be_read_is_not_a_clean_one() -> None:
    part = {"summary": {"passed": 3, "parsing_errors": 0}, "results": {"failed_checks": []}}
    assert parse(json.dumps([part, part])) == (6, [])
    part["summary"] = {"passed": 3, "parsing_errors": 1}
    with pytest.raises(ValueError, match="could not read"):
        parse(json.dumps(part))
