"""The work bucket's policy by IAM's rules: who may write the ledger, by which way, and what operators may do."""

from __future__ import annotations

import json
from itertools import product

import pytest

from fanout.ledger import run_places
from fanout.work.rates import run_limits
from scripts import generate_policies
from scripts.generate_policies import others_of
from scripts.ledger_rights import KINDS, OUTSIDE, READ_OUTSIDE, RUNS, STATE_MACHINE, WRITERS, sample_of, written_by
from tests.functions.kinds_of_runs import WORK
from tests.support.actions import Need
from tests.support.deployed import RIGHTS
from tests.support.resource_policies import Caller, role_of
from tests.support.work_bucket_policy import ACCOUNT, REGION, ROOT, STACK, is_denied, policy_of, session_of
from tests.template.templates import of_type
from tests.template.test_ledger_rights import samples

# service-authorization/latest/reference/list_amazons3.html: what changes, removes or brings an object of a bucket.
WRITES = (
    *("s3:PutObject", "s3:PutObjectAcl", "s3:PutObjectTagging", "s3:PutObjectRetention", "s3:PutObjectLegalHold"),
    *(
        "s3:PutObjectVersionAcl",
        "s3:PutObjectVersionTagging",
        "s3:DeleteObjectTagging",
        "s3:DeleteObjectVersionTagging",
    ),
    *("s3:DeleteObject", "s3:DeleteObjectVersion", "s3:AbortMultipartUpload", "s3:BypassGovernanceRetention"),
    *("s3:RestoreObject", "s3:ReplicateObject", "s3:ReplicateDelete", "s3:ReplicateTags"),
    *("s3:ObjectOwnerOverrideToBucketOwner", "s3:UpdateObjectEncryption", "s3:RenameObject"),
    # What S3 may add.
    "s3:ActionThatThereIsNotYet",
)
READS = ("s3:GetObject", "s3:GetObjectVersion", "s3:GetObjectTagging", "s3:ListMultipartUploadParts")
CONTENT = ("s3:GetObject", "s3:GetObjectVersion", "s3:GetObjectVersionForReplication", "s3:GetObjectTorrent")
ON_BUCKET = ("s3:ListBucket", "s3:ListBucketMultipartUploads", "s3:DeleteBucket", "s3:DeleteBucketPolicy")
OTHERS = {
    "the account's root": ROOT,
    "an administrator": role_of(ACCOUNT, "Administrator"),
    "a role of a neighbour stack that asks for no data": role_of(ACCOUNT, "fanout-b-GatherSegmentsRole"),
    "a role made anew under the name of one": role_of(ACCOUNT, "fanout-CopyShardRole", role_id="AROANEW"),
    "another account": role_of("444455556666", "any"),
    "a service": Caller("", "", {"aws:PrincipalServiceName": "logging.s3.amazonaws.com"}, "logging.s3.amazonaws.com"),
    "nobody by name": Caller("", "", {"aws:userid": "anonymous"}),
}
# What asks for data in another stack, with the tag that tests/template/test_other_account.py finds on every such role.
NEIGHBOURS = {
    tag: role_of(ACCOUNT, "other-CopyShardRole", **{"fanout-stack": tag})
    for tag in (f"{REGION}/{STACK}-b", f"{REGION}/b-{STACK}", f"eu-west-9/{STACK}", "*", "")
}
POINT = f"arn:aws:s3:us-east-1:{ACCOUNT}:accesspoint/reports"
# Keys of no kind that the table has: what somebody leaves for a later version, or a person, to find.
NEW_KINDS = ("new", "runs/new", "runs/x/new.json", "runs/x/new/limits.json", "new/limits.json", "runs/limits.json", "")
ROLES = sorted({f"{one}Role" for one in WRITERS})
LIMITS = f"runs/x/{run_limits.LIMITS}"
SEALS = run_places.SEALS


def everywhere() -> list[str]:
    """A key of every kind, and of kinds that there are not."""
    return sorted({*samples(), *(f"{one.rstrip('/')}/x" if one.endswith("/") else one for one in NEW_KINDS if one)})


@pytest.mark.parametrize("who", OTHERS)
def test_nobody_but_the_stack_s_roles_writes_or_deletes_anything_but_the_limits_of_a_run(who: str) -> None:
    left = {
        (action, key) for action, key in product(WRITES, everywhere()) if not is_denied(OTHERS[who], action, WORK, key)
    }
    assert left == {("s3:PutObject", LIMITS)}


@pytest.mark.parametrize("who", OTHERS)
def test_limits_lie_right_below_a_run_and_nowhere_else(who: str) -> None:
    places = {one.removesuffix("*") for one in KINDS if one.startswith(RUNS) and not one.startswith(f"{RUNS}*/")}
    assert len(places) == 6
    for below in (*places, "runs/x/outcomes/shards/1/", "runs/x/notes/", "runs/x/y/"):
        assert is_denied(OTHERS[who], "s3:PutObject", WORK, f"{below}{LIMITS}"), below


@pytest.mark.parametrize("who", OTHERS)
def test_whoever_may_read_and_remove_the_bucket_is_not_kept_from_it(who: str) -> None:
    """Their own policies decide. Who deletes the bucket deletes its policy first: docs/operate/delete.md."""
    for action, key in product(READS, everywhere()):
        if not (key.startswith(SEALS) and action.startswith("s3:GetObject")):
            assert not is_denied(OTHERS[who], action, WORK, key)
    assert not any(is_denied(OTHERS[who], action, WORK) for action in ON_BUCKET)


@pytest.mark.parametrize("tag", NEIGHBOURS)
def test_a_neighbour_stack_does_nothing_in_the_bucket_whatever_its_parameters_match(tag: str) -> None:
    for action, key in product((*READS, *WRITES), everywhere()):
        assert is_denied(NEIGHBOURS[tag], action, WORK, key)
    assert all(is_denied(NEIGHBOURS[tag], action, WORK) for action in ON_BUCKET)


@pytest.mark.parametrize("who", OTHERS)
def test_nobody_else_reads_the_secret_of_a_run(who: str) -> None:
    """Not even the account's administrators: they could seal what no function made."""
    assert all(is_denied(OTHERS[who], action, WORK, f"{SEALS}x") for action in CONTENT)


@pytest.mark.parametrize("role", sorted(of_type("AWS::IAM::Role")))
def test_a_role_reads_secrets_if_its_stack_needs_it(role: str) -> None:
    function = role.removesuffix("Role")
    beside = {one for group in generate_policies.GROUPS.values() if "ListSegment" in group for one in group}
    for stack in ["", *stacks_with(function)]:
        denied = is_denied(session_of(role, stack), "s3:GetObject", WORK, f"{SEALS}x")
        # Those on a mount come as one list: templates/ledger.yaml denies it to each that does not need it.
        assert denied is (function not in {*READ_OUTSIDE[f"{SEALS}*"], *beside}), stack


def stacks_with(function: str) -> list[str]:
    """The nested stacks that hold the role of a function once more."""
    groups = [group for group, held in generate_policies.GROUPS.items() if function in held]
    return [one.removesuffix("Roles") for group in groups for one in others_of(group, function)]


@pytest.mark.parametrize("role", ROLES)
def test_every_role_still_writes_what_the_table_gives_it(role: str) -> None:
    function = role.removesuffix("Role")
    own = [sample_of(one) for one in written_by(function)] + [
        sample_of(one) for one, who in OUTSIDE.items() if function in who
    ]
    if function == STATE_MACHINE:
        assert not is_denied(session_of(role), "s3:AbortMultipartUpload", WORK, "runs/x/map-results/x")
    for stack, key in product(["", *stacks_with(function)], own):
        assert not is_denied(session_of(role, stack), "s3:PutObject", WORK, key), (stack, key)


@pytest.mark.parametrize("role", sorted(of_type("AWS::IAM::Role").keys() - {*ROLES}))
def test_a_role_that_the_table_does_not_name_writes_nothing(role: str) -> None:
    """Roles of schedules and of what tells people."""
    allowed = {key for key in everywhere() if not is_denied(session_of(role), "s3:PutObject", WORK, key)}
    assert allowed == {LIMITS} | ({"computed/x"} if role == "ChecksumJobRole" else set())


@pytest.mark.parametrize("role", ROLES)
def test_what_s3_computed_is_written_by_its_jobs_alone(role: str) -> None:
    assert is_denied(session_of(role), "s3:PutObject", WORK, "computed/x")


@pytest.mark.parametrize("caller", [ROOT, *(session_of(role) for role in ROLES)], ids=lambda one: one.arn)
def test_no_request_comes_by_an_access_point(caller: Caller) -> None:
    """S3 asks the bucket's policy too, about the bucket; the stack's own denials name the bucket, not the point."""
    assert of_type("AWS::S3::AccessPoint") == {}
    for action, key in product((*READS, *WRITES), ("runs/x/plan.json", "seals/x", LIMITS, "computed/x")):
        assert is_denied(caller, action, WORK, key, **{"s3:DataAccessPointArn": POINT})
    assert is_denied(caller, "s3:ListBucket", WORK, **{"s3:DataAccessPointArn": POINT})


@pytest.mark.parametrize("caller", [ROOT, *(session_of(role) for role in ROLES)], ids=lambda one: one.arn)
def test_no_request_comes_without_tls(caller: Caller) -> None:
    for action, key in product((*READS, *WRITES), ("runs/x/plan.json", LIMITS)):
        assert is_denied(caller, action, WORK, key, **{"aws:SecureTransport": "false"})


def test_the_policy_fits() -> None:
    """AmazonS3/latest/userguide/bucket-policies.html: 20 KB. An id of a role has 21 characters, its sessions 23."""
    text = json.dumps(policy_of("b" * 63), separators=(",", ":"))
    ids = text.count("AROA")
    assert len(text) + ids * 23 < 20_480


def test_whole_runs_are_held_against_it_too() -> None:
    """``tests.support.rights`` asks it for every request of a role, so the adversary's runs do."""
    plan = f"arn:aws:s3:::{RIGHTS.work}/runs/x/plan.json"
    assert RIGHTS.allows("PlanTransfer", Need("s3:PutObject", plan))
    assert not RIGHTS.allows("PlanTransfer", Need("s3:PutObject", plan, {"s3:DataAccessPointArn": POINT}))
