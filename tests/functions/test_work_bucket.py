"""The work bucket where a parameter for data matches it: every role can do there what it could without."""

from __future__ import annotations

from itertools import product

import pytest

from tests.functions.kinds_of_runs import WORK
from tests.functions.test_roles import CONDITIONS, PARAMETERS
from tests.support.actions import Need
from tests.support.iam import Given, is_allowed, statements_of
from tests.template.templates import functions

EVERY_BUCKET = {"ReadBucketArns": "arn:aws:s3:::*", "WriteBucketArns": "arn:aws:s3:::*"}
UNLIMITED = {f"Limits{end}{what}": False for end in ("Read", "Write") for what in ("Objects", "Prefixes")}
WIDE = Given(PARAMETERS | EVERY_BUCKET, CONDITIONS | UNLIMITED)
NARROW = Given(PARAMETERS, CONDITIONS)
PLACES = [
    "runs/r/plan.json",
    "locks/mounts/data.json",
    "locks/s3/bucket.json",
    "probes/data/newest.json",
    "staged/r/1",
    "seals/r",
]
OF_OBJECTS = [
    "s3:GetObject",
    "s3:PutObject",
    "s3:DeleteObject",
    "s3:AbortMultipartUpload",
    "s3:ListMultipartUploadParts",
    "s3:GetObjectTagging",
    "s3:PutObjectTagging",
    "s3:PutObjectAcl",
    "s3:RestoreObject",
]
ACL = {"s3:x-amz-acl": "bucket-owner-full-control"}


def gained(function: str) -> set[tuple[str, str]]:
    """The actions, and the places, that a role has in the work bucket by the parameters for data alone."""
    wide, narrow = statements_of(function, WIDE), statements_of(function, NARROW)
    needs = [Need(action, f"arn:aws:s3:::{WORK}/{place}", ACL) for action, place in product(OF_OBJECTS, PLACES)]
    of_buckets = ("s3:ListBucketMultipartUploads", "s3:GetBucketOwnershipControls")
    needs += [Need(action, f"arn:aws:s3:::{WORK}") for action in of_buckets]
    found = [need for need in needs if is_allowed(need, wide) and not is_allowed(need, narrow)]
    return {(need.action, need.resource.rpartition(f"{WORK}/")[2].partition("/")[0]) for need in found}


@pytest.mark.parametrize("function", sorted(functions()))
def test_no_role_gains_anything(function: str) -> None:
    assert gained(function) == set()


@pytest.mark.parametrize("function", sorted(functions()))
def test_no_role_deletes_from_the_ledger(function: str) -> None:
    for place in (one for one in PLACES if not one.startswith("staged/")):
        assert not is_allowed(Need("s3:DeleteObject", f"arn:aws:s3:::{WORK}/{place}"), statements_of(function, WIDE))


def test_the_ledger_turns_and_staging_stay_allowed() -> None:
    for function in functions():
        wide, narrow = statements_of(function, WIDE), statements_of(function, NARROW)
        for action, place in product(OF_OBJECTS, PLACES):
            need = Need(action, f"arn:aws:s3:::{WORK}/{place}", ACL)
            assert not is_allowed(need, narrow) or is_allowed(need, wide), (function, need)
    for function, action, place in [
        ("CopyShardFunction", "s3:PutObject", "runs/r/outcomes/shards/1/n.json"),
        ("CopyShardFunction", "s3:DeleteObject", "staged/r/1"),
        ("FinishTreeFunction", "s3:DeleteObject", "staged/r/1"),
        ("PlanTransferFunction", "s3:PutObject", "locks/s3/bucket.json"),
        ("PlanTransferFunction", "s3:GetObject", "probes/data/newest.json"),
        ("CheckMountFunction", "s3:GetObject", "locks/mounts/data.json"),
        ("ShortWayFunction", "s3:GetObject", "locks/mounts/data.json"),
        ("ShortWayFunction", "s3:GetObject", "locks/s3/bucket.json"),
        ("VerifyShardFunction", "s3:GetObject", "seals/r"),
        ("PlanTransferFunction", "s3:PutObject", "seals/r"),
        ("DeleteShardFunction", "s3:PutObject", "runs/r/outcomes/shards/1/n.json"),
    ]:
        assert is_allowed(Need(action, f"arn:aws:s3:::{WORK}/{place}"), statements_of(function, WIDE)), (
            function,
            action,
        )
