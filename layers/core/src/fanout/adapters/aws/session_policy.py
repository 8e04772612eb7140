"""The policy of an assumed role's session: the function's own rights, on the request's buckets and prefixes alone.

IAM allows a session what the role's own policies and this one both allow.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence

from msgspec import Struct

from fanout.adapters.aws.endpoint import suffix_of
from fanout.ledger.keys import PLAN
from fanout.ledger.run_places import run_prefix
from fanout.model.document import Json
from fanout.model.errors import InvalidRequest
from fanout.model.location import ACCESS_POINT_ALIAS
from fanout.request.plan import Plan

# STS/latest/APIReference/API_AssumeRole.html: Policy, RoleSessionName.
POLICY_CHARACTERS = 2_048
NAME_CHARACTERS = 64
# IAM/latest/UserGuide/reference_policies_variables.html: how a policy names the characters that mean something in it.
_ESCAPED = {one: f"${{{one}}}" for one in "*?$"}
# No page says how IAM compares a quotation mark, a backslash or what is not ASCII: a wildcard for one character each.
_ONE_CHARACTER = re.compile(r'[^\x20-\x7e]|["\\]')
# Nor whether these are one character or, as in UTF-16, two.
_ONE_OR_TWO = re.compile("[\U00010000-\U0010ffff]")
# AmazonS3/latest/userguide/bucketnamingrules.html; an alias of as many may hold a part of its point's name.
_ALIAS_CHARACTERS = 63
_ON_BUCKETS = frozenset({"ListBucket", "ListBucketMultipartUploads", "GetBucketOwnershipControls"})
_NOTHING: Json = {"Effect": "Deny", "Action": "*", "Resource": "*"}


class SessionRights(Struct, frozen=True):
    """The S3 actions of a function: on the source, on the destination, and on the end where its run deletes.

    ``proves`` are those on a move's source. ``reads_manifest``: it also reads the manifest. ``looks_for_plan``: it
    lists the key of the run's plan, which only the work bucket has.
    """

    source: str
    destination: str
    deletes: str = ""
    proves: str = ""
    reads_manifest: bool = False
    looks_for_plan: bool = False


_READ = "ListBucket GetObject"
_ACL = "PutObjectAcl"
_BEGIN = f"PutObject PutObjectTagging {_ACL} AbortMultipartUpload"
_WRITE = "PutObject AbortMultipartUpload ListMultipartUploadParts"
_COPY = f"{_READ} {_BEGIN} ListMultipartUploadParts"
# As the templates give them to the functions' own roles.
RIGHTS = {
    "PlanTransfer": SessionRights(
        f"{_READ} ListBucketMultipartUploads",
        f"ListBucket {_BEGIN} GetBucketOwnershipControls",
        reads_manifest=True,
    ),
    "CheckMount": SessionRights("ListBucket", f"ListBucket {_BEGIN}", looks_for_plan=True),
    "ListSegment": SessionRights(_READ, f"{_READ} {_BEGIN}", reads_manifest=True),
    "ShortWay": SessionRights(f"{_READ} GetObjectTagging", _COPY, reads_manifest=True, looks_for_plan=True),
    "CopyShard": SessionRights(f"{_READ} GetObjectTagging", _COPY),
    "FinishTree": SessionRights(f"{_READ} RestoreObject", f"{_READ} {_WRITE}"),
    "FinishShard": SessionRights(_READ, f"{_READ} {_WRITE}"),
    "DeleteShard": SessionRights(_READ, _READ, deletes="DeleteObject"),
    "RemoveDirectories": SessionRights(_READ, _READ, deletes="DeleteObject"),
    "VerifyShard": SessionRights(_READ, f"{_READ} GetObjectTagging", proves="GetObjectTagging"),
}


def session_name(function: str, run_id: str) -> str:
    """The name of a session: in CloudTrail it is the end of the ARN of whoever acted."""
    return ".".join(one for one in ("fanout", function, run_id) if one)[:NAME_CHARACTERS]


def session_policy(
    accounts: Sequence[str], function: str = "", plan: Plan | None = None, partition: str = "aws", region: str = ""
) -> str:
    """The policy of a function's session for a run. Without a function that has rights, and a plan, it allows nothing.

    Buckets belong to one of ``accounts``, or to any where there are none. ``region`` is that of a bucket of which the
    plan names none. A long prefix is cut until the policy is short enough: the session may then use more of the bucket,
    and no other one. Raises ``InvalidRequest`` where it has too many characters without any prefix, and for a prefix
    that no pattern is sure to match without matching others of other lengths.
    """
    if plan is None or function not in RIGHTS:
        return _text([_NOTHING])
    longest = POLICY_CHARACTERS
    while True:
        text = _text([*_statements(RIGHTS[function], plan, partition, region, longest), *_of_accounts(accounts)])
        if len(text) <= POLICY_CHARACTERS:
            return text
        if not longest:
            raise _too_long(plan, function, len(accounts), len(text))
        longest = max(0, longest - max(1, (len(text) - POLICY_CHARACTERS) // 10))


def check_sessions(accounts: Sequence[str], plan: Plan, partition: str, region: str) -> None:
    """Raise ``InvalidRequest`` if a function of the table has no policy short enough for a session of this plan."""
    for function in RIGHTS:
        session_policy(accounts, function, plan, partition, region)


def _too_long(plan: Plan, function: str, accounts: int, characters: int) -> InvalidRequest:
    request = plan.request
    problem = (
        f"the policy of a session of {function} between {request.source} and {request.destination}, for buckets of"
        f" {accounts} accounts, has {characters:,} characters, {POLICY_CHARACTERS:,} are allowed"
    )
    remedy = "name fewer accounts in the stack's OtherBucketAccountIds, or buckets by their names instead of aliases"
    return InvalidRequest(request.role_field, problem, remedy)


def _text(statements: list[Json]) -> str:
    return json.dumps({"Version": "2012-10-17", "Statement": statements}, separators=(",", ":"))


def _of_accounts(accounts: Sequence[str]) -> Iterator[Json]:
    if accounts:
        others = {"StringNotEquals": {"aws:ResourceAccount": [*accounts]}}
        yield {"Effect": "Deny", "Action": "s3:*", "Resource": "*", "Condition": others}


def _statements(rights: SessionRights, plan: Plan, partition: str, region: str, longest: int) -> Iterator[Json]:
    request, keys = plan.request, dict[str, list[str]]()
    at_source = f"{rights.source} {rights.deletes} {rights.proves}" if plan.moves else rights.source
    at_destination = f"{rights.destination} {rights.deletes * request.course.deletes_extras}"
    if not request.objects.acl:
        at_destination = at_destination.replace(_ACL, "")
    for field, end, actions in (
        ("source", request.source, at_source),
        ("destination", request.destination, at_destination),
    ):
        if end.is_keyed:
            own = plan.regions.get(end.bucket, region)
            prefixes = [f"{_named_text(field, end.place[:longest])}*"] + [
                f"{run_prefix(plan.run_id)}{PLAN}"
            ] * rights.looks_for_plan
            yield from _on_end(end.bucket, prefixes, actions.split(), partition, own)
            if "PutObject" in actions:
                keys[own] = ["kms:Decrypt", "kms:GenerateDataKey"]
            elif "GetObject" in actions:
                keys.setdefault(own, ["kms:Decrypt"])
    for own, used in keys.items():
        yield _allowed(used, ["*"], {"StringEquals": {"kms:ViaService": f"s3.{own}.{suffix_of(own)}"}})
    yield from _on_looks(rights, plan, partition, region, longest)


def _on_end(bucket: str, prefixes: list[str], actions: list[str], partition: str, region: str) -> Iterator[Json]:
    """The first prefix is the end's own, the others are only listed.

    S3 answers a HEAD of a missing object with 404 only where the session may list, and it has no prefix: ``IfExists``.
    """
    listed = {"StringLikeIfExists": {"s3:prefix": prefixes}}
    through, buckets, objects = _named(bucket, prefixes[0], partition, region)
    yield _allowed([f"s3:{one}" for one in actions if one in _ON_BUCKETS], buckets, listed | through)
    on_objects = [f"s3:{one}" for one in actions if one not in _ON_BUCKETS and one != _ACL]
    if on_objects:
        yield _allowed(on_objects, objects, through)
    if _ACL in actions:
        own = {"StringEquals": {"s3:x-amz-acl": "bucket-owner-full-control"}}
        yield _allowed([f"s3:{_ACL}"], objects, own | through)


def _on_looks(rights: SessionRights, plan: Plan, partition: str, region: str, longest: int) -> Iterator[Json]:
    """The manifest, if an end's bucket holds it; an inventory's data files may lie anywhere in that bucket."""
    manifest, request = plan.request.manifest, plan.request
    ends = [end.bucket for end in (request.source, request.destination) if end.is_keyed]
    if rights.reads_manifest and manifest is not None and manifest.bucket in ends:
        pattern = "*" if manifest.is_inventory else f"{_named_text('manifest', manifest.key[:longest])}*"
        own = plan.regions.get(manifest.bucket, region)
        through, _, objects = _named(manifest.bucket, pattern, partition, own)
        yield _allowed(["s3:GetObject"], objects, through)


def _named(bucket: str, pattern: str, partition: str, region: str) -> tuple[Json, list[str], list[str]]:
    """A condition, and how a policy names the bucket and its objects.

    No policy can name an alias of an access point (AmazonS3/latest/userguide/access-points-naming.html), which begins
    with the point's name, or with a part of a long one. S3 asks for the rights at the point and at its bucket, which
    the alias does not name.
    """
    if not bucket.endswith(ACCESS_POINT_ALIAS):
        arn = f"arn:{partition}:s3:::{bucket}"
        return {}, [arn], [f"{arn}/{pattern}"]
    point = bucket.removesuffix(ACCESS_POINT_ALIAS).rpartition("-")[0] + "*" * (len(bucket) == _ALIAS_CHARACTERS)
    arn, any_bucket = f"arn:{partition}:s3:*:*:accesspoint/{point}", f"arn:{partition}:s3:::*"
    through = {"ArnLike": {"s3:DataAccessPointArn": arn.replace("*", region, 1)}}
    return through, [arn, any_bucket], [f"{arn}/object/{pattern}", f"{any_bucket}/{pattern}"]


def _named_text(field: str, text: str) -> str:
    """The pattern of a text that a policy names: it has as many characters, and those that can be named are these."""
    if _ONE_OR_TWO.search(text):
        problem = f"{text!r} has a character above U+FFFF, which the policy of the session of a role cannot name"
        raise InvalidRequest(field, problem, "name what is above it, or have the bucket's policy let the stack in")
    return _ONE_CHARACTER.sub("?", "".join(_ESCAPED.get(one, one) for one in text))


def _allowed(actions: list[str], resources: list[str], condition: Json) -> Json:
    found = {"Effect": "Allow", "Action": _short(actions), "Resource": _short(resources)}
    return {**found, "Condition": condition} if condition else found


def _short(values: list[str]) -> list[str] | str:
    return values[0] if len(values) == 1 else values
