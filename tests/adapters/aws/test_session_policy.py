"""The policy of an assumed role's session, held against the policies of the functions' own roles."""

from __future__ import annotations

import json
import re
from itertools import product
from typing import Any

import pytest

from fanout.adapters.aws.session_policy import NAME_CHARACTERS, RIGHTS, session_name, session_policy
from fanout.model.shard import Rates
from fanout.request.parse import parse_request
from fanout.request.plan import Plan
from tests.functions.test_roles import GIVEN
from tests.support.actions import Need
from tests.support.iam import Given, Statement, is_allowed, statements_in, statements_of

ACCOUNTS = ("123456789012", "444455556666")
ON_OBJECTS = (
    *("GetObject", "GetObjectVersion", "GetObjectTagging", "PutObject", "PutObjectTagging", "PutObjectAcl"),
    *("DeleteObject", "DeleteObjectVersion", "AbortMultipartUpload", "ListMultipartUploadParts", "RestoreObject"),
    *("BypassGovernanceRetention", "PutObjectRetention", "DeleteObjectTagging", "GetObjectAcl", "ReplicateObject"),
)
ON_BUCKETS = (
    *("ListBucket", "ListBucketVersions", "ListBucketMultipartUploads", "GetBucketOwnershipControls"),
    *("PutBucketPolicy", "DeleteBucket", "PutLifecycleConfiguration", "PutBucketAcl", "GetBucketPolicy"),
)
KMS = ("Decrypt", "GenerateDataKey", "CreateGrant", "ScheduleKeyDeletion", "Encrypt", "ReEncryptFrom")
ENDS = (("src", "in/"), ("dst", "out/"))
S3_OF = {"kms:ViaService": "s3.us-east-1.amazonaws.com"}


def plan_of(mode: str = "copy", run_id: str = "run-1", **fields: Any) -> Plan:
    """The plan of a run between two buckets, by a role."""
    document = {"source": "s3://src/in/", "destination": "s3://dst/out/", "mode": mode, **fields}
    if mode not in ("verify", "plan"):
        document = {"object_acl": "bucket-owner-full-control", **document}
    moved = 0.0 if mode == "move" else None
    return Plan(run_id, parse_request(document, ("data",), 10), Rates(0.01, 1e8), move_began=moved)


def session(function: str, plan: Plan) -> list[Statement]:
    return statements_in(json.loads(session_policy(ACCOUNTS, function, plan, "aws", "us-east-1")))


def own_role(function: str, mode: str) -> list[Statement]:
    """Of a stack that reads the source and writes the destination; both ends of a move are written."""
    also = {"bucket": ",arn:aws:s3:::src", "objects": ",arn:aws:s3:::src/in/*", "prefixes": ",in/*"}
    more = also if mode == "move" else dict.fromkeys(also, "")
    parameters = {
        "ReadBucketArns": "arn:aws:s3:::src",
        "ReadObjectArns": "arn:aws:s3:::src/in/*",
        "ReadPrefixes": "in/*",
        "WriteBucketArns": "arn:aws:s3:::dst" + more["bucket"],
        "WriteObjectArns": "arn:aws:s3:::dst/out/*" + more["objects"],
        "WritePrefixes": "out/*" + more["prefixes"],
    }
    conditions = {**GIVEN.conditions, "AssumesRoles": True}
    return statements_of(f"{function}Function", Given({**GIVEN.parameters, **parameters}, conditions))


def allowed(statements: list[Statement]) -> set[tuple[str, str]]:
    """The actions that are allowed, each on the source's or the destination's bucket."""
    context = {"aws:ResourceAccount": ACCOUNTS[0], "s3:x-amz-acl": "bucket-owner-full-control"}
    found = set()
    for bucket, prefix in ENDS:
        asked = [(action, f"{bucket}/{prefix}x") for action in ON_OBJECTS] + [(action, bucket) for action in ON_BUCKETS]
        for action, resource in asked:
            need = Need(f"s3:{action}", f"arn:aws:s3:::{resource}", {**context, "s3:prefix": prefix})
            found |= {(bucket, action)} if is_allowed(need, statements) else set()
    key = GIVEN.parameters["KmsKeyArns"]
    return found | {("key", one) for one in KMS if is_allowed(Need(f"kms:{one}", key, S3_OF), statements)}


@pytest.mark.parametrize("function", RIGHTS)
def test_a_session_for_a_sync_has_the_rights_of_the_function_s_own_role(function: str) -> None:
    own = allowed(own_role(function, "sync"))
    found = allowed(session(function, plan_of("sync")))
    # Every role may use the keys of what is written; the session of one that writes nothing may not.
    assert own - found <= {("key", "GenerateDataKey"), ("key", "Decrypt")}
    assert found <= own
    assert (("key", "GenerateDataKey") in found) is (("dst", "PutObject") in found)
    assert (("key", "Decrypt") in found) is bool({("src", "GetObject"), ("dst", "PutObject")} & found)


@pytest.mark.parametrize(("function", "mode"), product(RIGHTS, ["copy", "move", "verify", "plan"]))
def test_a_session_has_no_right_that_the_function_s_own_role_lacks(function: str, mode: str) -> None:
    found = allowed(session(function, plan_of(mode)))
    assert found <= allowed(own_role(function, mode))
    more = found - allowed(session(function, plan_of("sync")))
    deletes = {("src", "DeleteObject")} if RIGHTS[function].deletes else set()
    proves = {("src", "GetObjectTagging")} if RIGHTS[function].proves else set()
    assert more == (deletes | proves if mode == "move" else set())
    assert ("dst", "DeleteObject") not in found


@pytest.mark.parametrize(
    "resource",
    ["other", "other/in/x", "src/elsewhere", "src/inside", "dst/in/x", "dst/outer", "src-2/in/x"],
)
@pytest.mark.parametrize("mode", ["sync", "move"])
@pytest.mark.parametrize("function", RIGHTS)
def test_a_session_uses_no_other_bucket_and_no_other_prefix(function: str, mode: str, resource: str) -> None:
    statements = session(function, plan_of(mode))
    for action in (*ON_OBJECTS, *ON_BUCKETS):
        context = {"aws:ResourceAccount": ACCOUNTS[1], "s3:prefix": "elsewhere/"}
        assert not is_allowed(Need(f"s3:{action}", f"arn:aws:s3:::{resource}", context), statements)


@pytest.mark.parametrize("function", RIGHTS)
def test_a_session_lists_what_is_below_its_prefix_and_sees_that_an_object_is_missing(function: str) -> None:
    statements = session(function, plan_of("sync"))
    account = {"aws:ResourceAccount": ACCOUNTS[1]}
    for bucket, prefix in ENDS:
        for asked, may in ((prefix, True), (f"{prefix}d/", True), ("", False), ("i", False), (None, True)):
            context = account if asked is None else {**account, "s3:prefix": asked}
            assert is_allowed(Need("s3:ListBucket", f"arn:aws:s3:::{bucket}", context), statements) is may


@pytest.mark.parametrize("function", RIGHTS)
def test_a_session_uses_no_bucket_of_another_account_and_no_key_but_as_s3_uses_it(function: str) -> None:
    statements = session(function, plan_of("sync"))
    third = {"aws:ResourceAccount": "999999999999", "s3:prefix": "in/"}
    assert not is_allowed(Need("s3:ListBucket", "arn:aws:s3:::src", third), statements)
    for via in (
        {},
        {"kms:ViaService": "s3.eu-west-1.amazonaws.com"},
        {"kms:ViaService": "ec2.us-east-1.amazonaws.com"},
    ):
        assert not any(is_allowed(Need(f"kms:{one}", "arn:aws:kms:::key/k", via), statements) for one in KMS)


def test_keys_are_used_in_the_region_of_each_bucket() -> None:
    plan = plan_of()
    far = Plan("run-1", plan.request, plan.rates, regions={"dst": "cn-north-1"})
    statements = session("CopyShard", far)
    may = {
        (action, via)
        for action in KMS
        for via in ("s3.us-east-1.amazonaws.com", "s3.cn-north-1.amazonaws.com.cn")
        if is_allowed(Need(f"kms:{action}", "k", {"kms:ViaService": via}), statements)
    }
    china = "s3.cn-north-1.amazonaws.com.cn"
    assert may == {("Decrypt", "s3.us-east-1.amazonaws.com"), ("Decrypt", china), ("GenerateDataKey", china)}


@pytest.mark.parametrize("plan", [None, plan_of()])
@pytest.mark.parametrize("function", ["", "SummariseTransfer", "BeginDeletion"])
def test_without_a_row_a_session_may_do_nothing(function: str, plan: Plan | None) -> None:
    document = json.loads(session_policy(ACCOUNTS, function, plan))
    assert document["Statement"] == [{"Effect": "Deny", "Action": "*", "Resource": "*"}]


MANIFESTS = [
    ("s3://src/lists/a.csv", {"src/lists/a.csv"}),
    ("s3://dst/lists/a.jsonl", {"dst/lists/a.jsonl"}),
    ("s3://third/lists/a.csv", set()),
    ("s3://src/inventory/manifest.json", {"src/lists/a.csv", "src/inventory/data/1.gz"}),
]
READERS = {"PlanTransfer", "ListSegment", "ShortWay"}


@pytest.mark.parametrize(("manifest", "read"), MANIFESTS)
@pytest.mark.parametrize("function", RIGHTS)
def test_a_manifest_in_the_bucket_of_an_end_is_read_by_who_lists(function: str, manifest: str, read: set[str]) -> None:
    statements = session(function, plan_of(manifest=manifest))
    places = {f"{bucket}/{key}" for bucket in ("src", "dst", "third") for key in ("lists/a.csv", "lists/a.jsonl")}
    places |= {"src/inventory/data/1.gz"}
    account = {"aws:ResourceAccount": ACCOUNTS[0]}
    found = {one for one in places if is_allowed(Need("s3:GetObject", f"arn:aws:s3:::{one}", account), statements)}
    assert found & read == (read if function in READERS else set())
    assert found == found & read or manifest.endswith(".json")
    assert not any(one.startswith(("dst", "third")) for one in found - read)


def test_the_session_of_the_function_that_looks_for_the_work_bucket_lists_the_plan_there() -> None:
    account = {"aws:ResourceAccount": ACCOUNTS[0], "s3:prefix": "runs/run-1/plan.json"}
    need = Need("s3:ListBucket", "arn:aws:s3:::src", account)
    assert {one for one in RIGHTS if is_allowed(need, session(one, plan_of()))} == {"CheckMount", "ShortWay"}


METADATA = "hrzrlukc5m36ft7okagglf3gmwluquse1b"
# The beginning of an alias, and how a policy names the point. In 63 characters there may be a part of a longer name.
ALIASES = [
    ("reports-ap", "reports-ap"),
    ("data", "data"),
    ("a" * 19, "a" * 19),
    ("reports-of-the-year-", "reports-of-the-year-*"),
]


@pytest.mark.parametrize(("begin", "name"), ALIASES)
def test_the_alias_of_an_access_point_is_named_as_the_point_and_only_by_way_of_it(begin: str, name: str) -> None:
    plan = plan_of(source=f"s3://{begin}-{METADATA}-s3alias/in/")
    document = json.loads(session_policy((), "CopyShard", plan, "aws", "us-east-1"))
    point, here = (f"arn:aws:s3:{region}:*:accesspoint/{name}" for region in ("*", "us-east-1"))
    by_way = [one for one in document["Statement"] if "accesspoint" in json.dumps(one)]
    assert {json.dumps(one["Condition"]["ArnLike"]) for one in by_way} == {json.dumps({"s3:DataAccessPointArn": here})}
    assert [one["Resource"] for one in by_way] == [
        [point, "arn:aws:s3:::*"],
        [f"{point}/object/in/*", "arn:aws:s3:::*/in/*"],
    ]
    others = [one for one in document["Statement"] if one not in by_way and "kms:" not in json.dumps(one)]
    assert others and all(one["Resource"].startswith("arn:aws:s3:::dst") for one in others)


@pytest.mark.parametrize("function", RIGHTS)
def test_the_name_of_a_session_is_of_function_and_run(function: str) -> None:
    assert session_name(function, "run-1") == f"fanout.{function}.run-1"
    for run_id in ("r" * 80, "A_b-9"):
        assert re.fullmatch(r"[\w+=,.@-]{2,64}", session_name(function, run_id), re.ASCII)
    assert len(session_name(function, "r" * 80)) == NAME_CHARACTERS
