"""Requests: a field that is wrong is named, with what is allowed."""

from __future__ import annotations

from typing import Any

import pytest

from fanout.model.errors import InvalidRequest
from fanout.request.request import request_at
from tests.request.requests import GOOD, S3_TO_S3, parse

ROLE = "arn:aws:iam::444455556666:role/theirs"


BAD = [
    ([], "request", "not a JSON object"),
    ({"source": "s3://a-bucket/"}, "destination", "is missing"),
    ({**GOOD, "sauce": 1}, "sauce", "unknown field; did you mean source? known are source, destination"),
    ({**GOOD, "limits": {"max": 1}}, "limits.max", "known are max_concurrency, shard_seconds"),
    ({**GOOD, "max_concurrency": 1}, "max_concurrency", "unknown field; did you mean limits.max_concurrency? known"),
    ({**GOOD, "max_delete": 1}, "max_delete", "unknown field; did you mean delete_guard.max_count? known are"),
    ({**GOOD, "delete_guard": 5}, "delete_guard", "5 is not allowed; allowed: an object of max_count, max_percent"),
    ({**GOOD, "compare": True}, "compare", "true is not allowed"),
    ({**GOOD, "limits": {"max_concurrency": "5"}}, "limits.max_concurrency", "'5' is not allowed"),
    ({**GOOD, "limits": {"max_concurrency": 0}}, "limits.max_concurrency", "0 is less than the least, 1"),
    ({**GOOD, "limits": {"max_concurrency": 11}}, "limits.max_concurrency", "over the stack's 10"),
    ({**GOOD, "mode": "mirror"}, "mode", "'mirror' is not allowed"),
    ({**GOOD, "symlinks": "dereference"}, "symlinks", "'dereference' is not allowed"),
    (
        {"source": "efs:///a", "destination": "efs://other/b", "on_conflict": "escape"},
        "on_conflict",
        "nothing to escape",
    ),
    ({**GOOD, "source": 7}, "source", "7 is not allowed"),
    ({**GOOD, "source": "ftp://x/"}, "source", "allowed is s3://bucket/prefix/"),
    ({**GOOD, "source": "s3://a-bucket/in"}, "source", "does not end in /"),
    ({**GOOD, "source": "s3://a-bucket/in/ "}, "source", "write s3://a-bucket/in/ for the tree"),
    ({**GOOD, "source": "s3://A/"}, "source", "not a bucket name"),
    ({**GOOD, "destination": "efs://out"}, "destination", "unknown mount 'out'; did you mean efs:///out? known are"),
    ({**GOOD, "source": "s3://a--usw2-az1--x-s3/"}, "source", "directory bucket"),
    ({**GOOD, "source": "s3://arn:aws:s3:us-east-1:111122223333:accesspoint/a/in/"}, "source", "bucket behind it"),
    ({**GOOD, "source": "s3://mfzwi23gnjvgw.mrap/in/"}, "source", "Multi-Region Access Point"),
    ({**GOOD, "source": "s3://a--usw2-az1--xa-s3/"}, "source", "access point of a directory bucket"),
    ({**GOOD, "source": "s3://a-ib--ol-s3/"}, "source", "Object Lambda Access Point"),
    ({**GOOD, "source": "s3://a-o01--op-s3/"}, "source", "on Outposts"),
    ({**GOOD, "source": "s3://63a8e430--table-s3/"}, "source", "a table bucket"),
    ({**S3_TO_S3, "destination": "s3://mfzwi23gnjvgw.mrap/"}, "destination", "Multi-Region Access Point"),
    ({**GOOD, "manifest": "s3://a--usw2-az1--x-s3/a.csv"}, "manifest", "directory bucket"),
    ({**GOOD, "sse_customer_key": "a2V5"}, "sse_customer_key", "SSE-C, a customer's own key in each request, is not"),
    (
        {**GOOD, "source_bucket": {"owner": "1"}},
        "source_bucket.owner",
        "known are requester_pays, expected_owner, role, external_id",
    ),
    ({**GOOD, "source_bucket": {"expected_owner": "1111"}}, "source_bucket.expected_owner", "'1111' is not allowed"),
    ({**GOOD, "source_bucket": {"role": "theirs"}}, "source_bucket.role", "'theirs' is not allowed"),
    ({**GOOD, "source_bucket": {"external_id": "x1"}}, "source_bucket.external_id", "no role to assume with it"),
    ({**GOOD, "destination_bucket": {"role": ROLE}}, "destination_bucket", "efs://data/out is no bucket"),
    (
        {
            "source": "s3://a-bucket/",
            "destination": "s3://b-bucket/",
            "source_bucket": {"role": ROLE},
            "destination_bucket": {"role": f"{ROLE}-too"},
        },
        "destination_bucket.role",
        "S3 copies for one identity",
    ),
    ({**GOOD, "source_bucket": {"requester_pays": "yes"}}, "source_bucket.requester_pays", "'yes' is not allowed"),
    ({**GOOD, "destination_bucket": {"requester_pays": True}}, "destination_bucket", "efs://data/out is no bucket"),
    (
        {
            "source": "s3://a-bucket/x/",
            "destination": "s3://a-bucket/y/",
            "source_bucket": {"expected_owner": "1" * 12},
            "destination_bucket": {"expected_owner": "2" * 12},
        },
        "destination_bucket.expected_owner",
        "222222222222 is not the 111111111111 of source_bucket, and both ends lie in a-bucket",
    ),
    ({**GOOD, "object_tags": {"a": "b"}}, "object_tags", "efs://data/out holds no objects"),
    ({**GOOD, "object_metadata": {"a": "b"}}, "object_metadata", "holds no objects"),
    ({**GOOD, "object_acl": "bucket-owner-full-control"}, "object_acl", "holds no objects"),
    ({**S3_TO_S3, "symlinks": "skip"}, "symlinks", "no function looks at which of them say that they are symlinks"),
    ({**S3_TO_S3, "symlinks": "follow"}, "symlinks", "they are copied as they are"),
    ({**S3_TO_S3, "object_acl": "public-read"}, "object_acl", "'public-read' is not allowed"),
    ({**S3_TO_S3, "object_tags": {"a": 1}}, "object_tags.a", "1 is not allowed"),
    ({**S3_TO_S3, "object_tags": {str(n): "" for n in range(11)}}, "object_tags", "11 tags are over the 10"),
    ({**S3_TO_S3, "object_tags": {"aws:team": "a"}}, "object_tags", "'aws:team' begins with aws:"),
    ({**S3_TO_S3, "object_tags": {"": "a"}}, "object_tags", "is not a tag; allowed are 1 to 128 characters"),
    ({**S3_TO_S3, "object_tags": {"a" * 129: "a"}}, "object_tags", "is not a tag"),
    ({**S3_TO_S3, "object_tags": {"a": "b" * 257}}, "object_tags", "a value of at most 256"),
    ({**S3_TO_S3, "object_tags": {"a": "b&c=d"}}, "object_tags", "'a': 'b&c=d' is not a tag"),
    ({**S3_TO_S3, "object_tags": {"a": "b\r\nx: y"}}, "object_tags", "is not a tag"),
    (
        {**S3_TO_S3, "object_tags": {f"{n}": "ü" * 256 for n in range(3)}},
        "object_tags",
        "take 4616 bytes of a header, over 4096",
    ),
    ({**S3_TO_S3, "object_metadata": {"Job": "7"}}, "object_metadata", "'Job' is not a name of metadata; allowed are"),
    ({**S3_TO_S3, "object_metadata": {"x-amz-meta-job": "7"}}, "object_metadata", "without x-amz-meta-"),
    ({**S3_TO_S3, "object_metadata": {"file-mtime": "7"}}, "object_metadata", "what a run writes of the file"),
    ({**S3_TO_S3, "object_metadata": {"job": "a\r\nb: c"}}, "object_metadata", "cannot be in a header"),
    ({**S3_TO_S3, "object_metadata": {"job": "ü"}}, "object_metadata", "printable ASCII"),
    ({**S3_TO_S3, "object_metadata": {"job": " 7"}}, "object_metadata", "no space at either end"),
    ({**S3_TO_S3, "object_metadata": {"job": ""}}, "object_metadata", "cannot be in a header"),
    ({**S3_TO_S3, "object_metadata": {"job": "7" * 2046}}, "object_metadata", "have 2049 bytes, over 2048"),
    (
        {"source": "efs:///a", "destination": "s3://a-bucket/", "object_metadata": {"job": "7" * 1918}},
        "object_metadata",
        "have 1921 bytes, over 1920: 128 of the 2048 are for modes, owners and times",
    ),
    ({**GOOD, "destination": "efs://nas/x"}, "destination", "unknown mount 'nas'; known are data, other"),
    (
        {**GOOD, "destination": "efs://dtaa/x"},
        "destination",
        "unknown mount 'dtaa'; did you mean efs://data/x? known are data",
    ),
    ({**GOOD, "filters": ["*"]}, "filters", "unknown field; did you mean include, exclude? known are source"),
    ({**GOOD, "bwlimit": 1}, "bwlimit", "unknown field; did you mean limits.bytes_per_second?"),
    ({**GOOD, "destination": "efs:///a/../b"}, "destination", "component . or .."),
    ({"source": "efs:///a", "destination": "efs:///a"}, "destination", "equal to, inside or above"),
    ({"source": "efs:///a", "destination": "efs:///a/b"}, "destination", "equal to, inside or above"),
    ({"source": "s3://a-bucket/x/y/", "destination": "s3://a-bucket/x/"}, "destination", "inside or above"),
    ({**GOOD, "archived": "wait"}, "archived", "allowed: fail, skip, restore"),
    ({**GOOD, "archived": "restore", "mode": "verify"}, "archived", "mode verify has nothing restored"),
    ({**GOOD, "restore": {"days": 3}}, "restore", "archived is fail, so nothing is restored"),
    ({**GOOD, "archived": "restore", "restore": {"days": 0}}, "restore.days", "0 is less than the least, 1"),
    ({**GOOD, "archived": "restore", "restore": {"days": 366}}, "restore.days", "366 is more than the most, 365"),
    ({**GOOD, "archived": "restore", "restore": {"days": "3d"}}, "restore.days", "'3d' is not allowed"),
    ({**GOOD, "archived": "restore", "restore": {"tier": "slow"}}, "restore.tier", "standard, bulk, expedited"),
    ({**GOOD, "archived": "restore", "restore": {"speed": "bulk"}}, "restore.speed", "known are tier, days"),
    ({"source": "efs:///a", "destination": "s3://a-bucket/", "archived": "skip"}, "archived", "holds no objects"),
    ({"source": "efs:///a", "destination": "s3://a-bucket/", "archived": "restore"}, "archived", "holds no objects"),
    ({**GOOD, "overwrite": "if-older"}, "overwrite", "allowed: always, never, if-newer"),
    ({**GOOD, "report_entries": "some"}, "report_entries", "allowed: none, failed, all"),
    ({**GOOD, "limits": {"max_seconds": 0}}, "limits.max_seconds", "0 is less than the least, 1"),
    ({**GOOD, "limits": {"max_seconds": "1h"}}, "limits.max_seconds", "'1h' is not allowed"),
    ({**GOOD, "on_conflict": "rename"}, "on_conflict", "allowed: fail, skip, escape, unescape"),
    ({**S3_TO_S3, "on_conflict": "escape"}, "on_conflict", "nothing to escape"),
    ({**S3_TO_S3, "storage_class": "COLD"}, "storage_class", "INTELLIGENT_TIERING, STANDARD_IA"),
    ({**GOOD, "storage_class": "STANDARD"}, "storage_class", "efs://data/out holds no objects"),
    ({**GOOD, "kms_key_id": "alias/key"}, "kms_key_id", "holds no objects"),
    ({**S3_TO_S3, "kms_key_id": "my key"}, "kms_key_id", "'my key' is not allowed"),
    ({**S3_TO_S3, "content_type": "guess"}, "content_type", "keep their own"),
    ({**GOOD, "include": "*.txt"}, "include", "'*.txt' is not allowed"),
    ({**GOOD, "include": ["a", 7]}, "include.1", "7 is not allowed"),
    ({**GOOD, "exclude": ["*"] * 1001}, "exclude", "at most 1000"),
    ({**GOOD, "exclude": ["a", "b**"]}, "exclude.1", "'b**' holds ** next to other characters"),
    ({**GOOD, "include": ["log[[:digit:]]"]}, "include.0", "write its characters, as in [0-9]"),
    ({**GOOD, "exclude": ["[a[=e=]]"]}, "exclude.0", "a class by name"),
    ({**GOOD, "exclude": ["[[.-.]]"]}, "exclude.0", "a class by name"),
    ({**GOOD, "min_size": -1}, "min_size", "-1 is not a size; a number from 0"),
    ({**GOOD, "max_size": "10 megabytes"}, "max_size", "'10 megabytes' is not a size"),
    ({**GOOD, "min_size": "2 KiB", "max_size": 2047}, "min_size", "2048 is over max_size 2047"),
    ({**GOOD, "modified_after": "2026-01-31T00:00:00"}, "modified_after", "not a time with its zone; ISO 8601"),
    ({**GOOD, "modified_before": "yesterday"}, "modified_before", "not a time with its zone"),
    ({**GOOD, "modified_before": 7}, "modified_before", "7 is not allowed"),
    ({**GOOD, "older_than": "30 days"}, "older_than", '\'30 days\' is not an age; from "1s" to "36500d": a whole'),
    ({**GOOD, "older_than": "0d"}, "older_than", "'0d' is not an age"),
    ({**GOOD, "newer_than": "-1h"}, "newer_than", "'-1h' is not an age"),
    ({**GOOD, "newer_than": "36501d"}, "newer_than", "'36501d' is not an age"),
    ({**GOOD, "newer_than": "2026-01-31T00:00:00Z"}, "newer_than", "modified_after takes a time"),
    ({**GOOD, "older_than": 30}, "older_than", "30 is not allowed"),
    (
        {**GOOD, "older_than": "30d", "modified_before": "2026-01-31T00:00:00Z"},
        "older_than",
        "is the same bound as modified_before; leave one of them out",
    ),
    ({**GOOD, "newer_than": "1d", "modified_after": "2026-01-31T00:00:00Z"}, "newer_than", "bound as modified_after"),
    ({**GOOD, "older_than": "30d", "newer_than": "30d"}, "newer_than", "is no larger age than older_than"),
    (
        {**GOOD, "modified_after": "2026-01-31T01:00:00+01:00", "modified_before": "2026-01-31T00:00:00Z"},
        "modified_after",
        "is not before modified_before",
    ),
    ({**GOOD, "manifest": "lists/a.csv"}, "manifest", "is not the location of an object; allowed is s3://bucket/key"),
    ({**GOOD, "manifest": "s3://lists/"}, "manifest", "is not the location of an object"),
    ({**GOOD, "manifest": "s3://lists/a.parquet"}, "manifest", "another ending; allowed is s3://bucket/key of a .csv"),
    ({**GOOD, "manifest": "s3://lists/a.csv", "symlinks": "follow"}, "manifest", "its paths are not followed"),
    (
        {"source": "efs:///a", "destination": "s3://a-bucket/", "manifest": "s3://lists/manifest.json"},
        "manifest",
        "an S3 Inventory lists a bucket, not efs://data/a",
    ),
]


@pytest.mark.parametrize(("document", "field", "problem"), BAD)
def test_what_is_wrong_is_named(document: Any, field: str, problem: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        parse(document)
    assert caught.value.field == field
    assert problem in str(caught.value)


@pytest.mark.parametrize(
    ("guard", "field"),
    [
        ({"max_percent": 101.0}, "delete_guard.max_percent"),
        ({"max_count": -1}, "delete_guard.max_count"),
        ({"most": 3}, "delete_guard.most"),
    ],
)
def test_what_is_wrong_with_a_guard_is_named(guard: Any, field: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        parse({**GOOD, "delete_guard": guard})
    assert caught.value.field == field
    assert field != "delete_guard.most" or "known are max_count, max_percent" in str(caught.value)


def test_an_age_and_a_time_that_no_file_can_meet_are_refused_when_the_run_begins() -> None:
    request = parse({**GOOD, "older_than": "30d", "modified_after": "1970-02-01T00:00:00Z"})
    day = 86_400 * 1_000_000_000
    with pytest.raises(InvalidRequest, match="modified_after: is not before older_than"):
        request_at(request, 61 * day)
    assert request_at(request, 62 * day).filters.ages_from_ns == 62 * day
