"""Requests: a field that is wrong is named, with what is allowed."""

from __future__ import annotations

import pytest

from fanout.efs.seconds import DEFAULT_RATES
from fanout.ledger import keys
from fanout.ledger.ledger import Ledger
from fanout.model.location import MountLocation, S3Location
from fanout.request.filtering.filters import Filters
from fanout.request.manifest import ManifestLocation
from fanout.request.object_options import ContentType, ObjectOptions
from fanout.request.parts.bucket_options import BucketOptions
from fanout.request.parts.limits import DeleteGuard
from fanout.request.parts.symlinks import Symlinks
from fanout.request.plan import Plan
from fanout.request.request import request_at
from tests.request.requests import GOOD, S3_TO_S3, parse
from tests.support.memory_store import MemoryStore


def through_the_ledger(plan: Plan) -> Plan:
    ledger = Ledger(MemoryStore(), "run")
    ledger.write(keys.PLAN, plan)
    return ledger.read_plan()


def test_everything_but_the_ends_has_a_default() -> None:
    request = parse(GOOD)
    assert request.source == S3Location("a-bucket", "in/")
    assert request.destination == MountLocation("data", "out")
    assert request.limits.max_concurrency == 10


@pytest.mark.parametrize("alias", ["reports-ap-hrzrlukc5m36ft7okagglf3gmwluquse1b-s3alias", "a" * 55 + "-s3alias"])
def test_the_alias_of_an_access_point_stands_for_its_bucket(alias: str) -> None:
    request = parse({"source": f"s3://{alias}/in/", "destination": "efs:///out", "manifest": f"s3://{alias}/a.csv"})
    assert request.source == S3Location(alias, "in/")
    assert request.manifest == ManifestLocation(alias, "a.csv")
    assert parse({"source": "efs:///a", "destination": f"s3://{alias}/"}).destination == S3Location(alias, "")


def test_a_mount_is_named_before_the_path() -> None:
    assert parse({**GOOD, "destination": "efs://other/x/y/"}).destination == MountLocation("other", "x/y")


@pytest.mark.parametrize("mode", ["copy", "sync", "verify", "plan"])
@pytest.mark.parametrize("compare", ["size-mtime", "checksum", "always"])
def test_modes_and_comparisons_come_through_the_plan(mode: str, compare: str) -> None:
    guard = {"max_count": 7, "max_percent": 3.5}
    request = parse({**GOOD, "mode": mode, "compare": compare, "delete_guard": guard})
    assert (request.mode, request.compare) == (mode, compare)
    assert request.delete_guard == DeleteGuard(7, 3.5)
    assert parse(GOOD).delete_guard == DeleteGuard(None, None)
    assert through_the_ledger(Plan("run", request, DEFAULT_RATES)).request == request


def test_a_sibling_with_the_same_beginning_is_no_overlap() -> None:
    assert parse({"source": "efs:///a", "destination": "efs:///ab"}).destination == MountLocation("data", "ab")


@pytest.mark.parametrize("symlinks", list(Symlinks))
def test_what_becomes_of_symlinks_can_be_chosen(symlinks: Symlinks) -> None:
    plan = Plan("run", parse({**GOOD, "symlinks": symlinks.value}), DEFAULT_RATES)
    assert through_the_ledger(plan) == plan
    assert plan.request.symlinks is symlinks


KEY_ID = "1234abcd-12ab-34cd-56ef-1234567890ab"


@pytest.mark.parametrize(
    "key",
    [KEY_ID, f"arn:aws:kms:eu-west-1:123456789012:key/{KEY_ID}", "alias/a/b", f"mrk-{KEY_ID.replace('-', '')}"],
)
def test_options_of_objects(key: str) -> None:
    request = parse({**S3_TO_S3, "storage_class": "GLACIER_IR", "kms_key_id": key})
    assert request.objects == ObjectOptions("GLACIER_IR", key)
    assert through_the_ledger(Plan("run", request, DEFAULT_RATES)).request == request


def test_what_each_object_gets_goes_through_the_plan() -> None:
    named = {
        "object_tags": {"team": "a b", "größe": "1/2 @:+-=._", "empty": ""},
        "object_metadata": {"job": "7" * 2045},
        "object_acl": "bucket-owner-full-control",
    }
    request = parse({**S3_TO_S3, **named})
    assert request.objects.tags == named["object_tags"]
    assert request.objects.metadata == named["object_metadata"]
    assert request.objects.acl == named["object_acl"]
    assert through_the_ledger(Plan("run", request, DEFAULT_RATES)).request == request


def test_how_buckets_are_asked_goes_through_the_plan_and_is_the_same_of_two_ends_in_one() -> None:
    document = {
        **S3_TO_S3,
        "source_bucket": {"requester_pays": True, "expected_owner": "111122223333"},
        "destination_bucket": {"expected_owner": "444455556666"},
    }
    request = parse(document)
    source = BucketOptions(requester_pays=True, expected_owner="111122223333")
    assert request.bucket_options == {"a-bucket": source, "b-bucket": BucketOptions(expected_owner="444455556666")}
    assert through_the_ledger(Plan("run", request, DEFAULT_RATES)).request == request
    one = parse({**document, "destination": "s3://a-bucket/y/", "destination_bucket": {}})
    assert one.bucket_options == {"a-bucket": source}


def test_files_get_the_content_type_of_their_name_unless_told_otherwise() -> None:
    to_s3 = {"source": "efs:///a", "destination": "s3://a-bucket/"}
    assert parse(to_s3).objects.content_type is ContentType.GUESS
    assert parse({**to_s3, "content_type": "none"}).objects.content_type is ContentType.NONE


def test_filters_and_a_manifest_go_through_the_plan() -> None:
    document = {
        **GOOD,
        "include": ["*.txt"],
        "exclude": ["tmp/"],
        "min_size": 1,
        "max_size": "10 MiB",
        "modified_after": "1970-01-01T01:00:01+01:00",
        "modified_before": "1970-01-01T00:00:02.000001Z",
        "manifest": "s3://lists/a/b.csv.gz",
    }
    request = parse(document)
    assert request.filters == Filters(("*.txt",), ("tmp/",), 1, 10 * 1024 * 1024, 1_000_000_000, 2_000_001_000)
    assert request.manifest == ManifestLocation("lists", "a/b.csv.gz")
    assert through_the_ledger(Plan("run", request, DEFAULT_RATES)).request == request


def test_ages_go_through_the_plan_with_their_moment() -> None:
    request = request_at(parse({**GOOD, "older_than": "90m", "newer_than": "2w"}), 10**18)
    seconds = 1_000_000_000
    expected = Filters(newer_than_ns=14 * 86_400 * seconds, older_than_ns=5_400 * seconds, ages_from_ns=10**18)
    assert request.filters == expected
    assert through_the_ledger(Plan("run", request, DEFAULT_RATES)).request == request
