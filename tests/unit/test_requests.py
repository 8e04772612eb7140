"""Requests: a field that is wrong is named, with what is allowed."""

from __future__ import annotations

from typing import Any

import pytest

from fanout.domain.errors import InvalidRequest
from fanout.domain.locations import MountLocation, S3Location
from fanout.domain.object_options import ContentType, ObjectOptions
from fanout.domain.plan import Plan, plan_from_row, plan_row
from fanout.domain.request import Symlinks
from fanout.domain.weights import DEFAULT_RATES
from fanout.requests import parse_request

GOOD = {"source": "s3://a-bucket/in/", "destination": "efs:///out"}


S3_TO_S3 = {"source": "s3://a-bucket/x/", "destination": "s3://b-bucket/x/"}


def parse(document: Any) -> Any:
    return parse_request(document, ("data", "other"), 10)


def test_everything_but_the_ends_has_a_default() -> None:
    request = parse(GOOD)
    assert request.source == S3Location("a-bucket", "in/")
    assert request.destination == MountLocation("data", "out")
    assert request.limits.max_concurrency == 10


def test_a_mount_is_named_before_the_path() -> None:
    assert parse({**GOOD, "destination": "efs://other/x/y/"}).destination == MountLocation("other", "x/y")


BAD = [
    ([], "request", "not a JSON object"),
    ({"source": "s3://a-bucket/"}, "destination", "is missing"),
    ({**GOOD, "sauce": 1}, "sauce", "unknown field; known are source, destination"),
    ({**GOOD, "limits": {"max": 1}}, "limits.max", "known are max_concurrency, shard_seconds"),
    ({**GOOD, "limits": {"max_concurrency": "5"}}, "limits.max_concurrency", "'5' is not allowed"),
    ({**GOOD, "limits": {"max_concurrency": 0}}, "limits.max_concurrency", "greater than or equal to 1"),
    ({**GOOD, "limits": {"max_concurrency": 11}}, "limits.max_concurrency", "over the stack's 10"),
    ({**GOOD, "mode": "move"}, "mode", "'move' is not allowed"),
    ({**GOOD, "symlinks": "dereference"}, "symlinks", "'dereference' is not allowed"),
    (
        {"source": "efs:///a", "destination": "efs://other/b", "on_conflict": "escape"},
        "on_conflict",
        "nothing to escape",
    ),
    ({**GOOD, "source": 7}, "source", "7 is not allowed"),
    ({**GOOD, "source": "ftp://x/"}, "source", "allowed is s3://bucket/prefix/"),
    ({**GOOD, "source": "s3://a-bucket/in"}, "source", "does not end in /"),
    ({**GOOD, "source": "s3://A/"}, "source", "not a bucket name"),
    ({**GOOD, "destination": "efs://nas/x"}, "destination", "unknown mount 'nas'; known are data, other"),
    ({**GOOD, "destination": "efs:///a/../b"}, "destination", "component . or .."),
    ({"source": "efs:///a", "destination": "efs:///a"}, "destination", "equal to, inside or above"),
    ({"source": "efs:///a", "destination": "efs:///a/b"}, "destination", "equal to, inside or above"),
    ({"source": "s3://a-bucket/x/y/", "destination": "s3://a-bucket/x/"}, "destination", "inside or above"),
    ({**GOOD, "on_conflict": "rename"}, "on_conflict", "Input should be 'fail', 'skip', 'escape' or 'unescape'"),
    ({**S3_TO_S3, "on_conflict": "escape"}, "on_conflict", "nothing to escape"),
    ({**S3_TO_S3, "storage_class": "COLD"}, "storage_class", "'INTELLIGENT_TIERING', 'STANDARD_IA'"),
    ({**GOOD, "storage_class": "STANDARD"}, "storage_class", "efs://data/out holds no objects"),
    ({**GOOD, "kms_key_id": "alias/key"}, "kms_key_id", "holds no objects"),
    ({**S3_TO_S3, "kms_key_id": "my key"}, "kms_key_id", "'my key' is not allowed"),
    ({**S3_TO_S3, "content_type": "guess"}, "content_type", "keep their own"),
]


@pytest.mark.parametrize(("document", "field", "problem"), BAD)
def test_what_is_wrong_is_named(document: Any, field: str, problem: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        parse(document)
    assert caught.value.field == field
    assert problem in str(caught.value)


def test_a_sibling_with_the_same_beginning_is_no_overlap() -> None:
    assert parse({"source": "efs:///a", "destination": "efs:///ab"}).destination == MountLocation("data", "ab")


@pytest.mark.parametrize("symlinks", list(Symlinks))
def test_what_becomes_of_symlinks_can_be_chosen(symlinks: Symlinks) -> None:
    plan = Plan("run", parse({**GOOD, "symlinks": symlinks.value}), DEFAULT_RATES)
    assert plan_from_row(plan_row(plan)) == plan
    assert plan.request.symlinks is symlinks


KEY_ID = "1234abcd-12ab-34cd-56ef-1234567890ab"


@pytest.mark.parametrize(
    "key",
    [KEY_ID, f"arn:aws:kms:eu-west-1:123456789012:key/{KEY_ID}", "alias/a/b", f"mrk-{KEY_ID.replace('-', '')}"],
)
def test_options_of_objects(key: str) -> None:
    request = parse({**S3_TO_S3, "storage_class": "GLACIER_IR", "kms_key_id": key})
    assert request.objects == ObjectOptions("GLACIER_IR", key)
    assert plan_from_row(plan_row(Plan("run", request, DEFAULT_RATES))).request == request


def test_files_get_the_content_type_of_their_name_unless_told_otherwise() -> None:
    to_s3 = {"source": "efs:///a", "destination": "s3://a-bucket/"}
    assert parse(to_s3).objects.content_type is ContentType.GUESS
    assert parse({**to_s3, "content_type": "none"}).objects.content_type is ContentType.NONE
