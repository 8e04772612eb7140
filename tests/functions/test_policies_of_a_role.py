"""A role of another account, as docs/how-to/other-account.md has it: without a right each run is refused by name.

The service that gives credentials is moto behind a look at the trust policy; each request that is signed with the
role's credentials is looked up in its own policy.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from io import BytesIO
from typing import Any
from urllib.parse import parse_qs

import pytest
from botocore.awsrequest import AWSPreparedRequest, AWSResponse
from botocore.compat import HTTPHeaders
from botocore.httpsession import URLLib3Session

from fanout.model.errors import FanoutError
from fanout.runtime import clients
from tests.functions.test_policies_of_accounts import CONDITION, listed, policies
from tests.functions.test_policies_of_accounts import ROLE as CALLER
from tests.support.actions import needs
from tests.support.http import Head
from tests.support.iam import Statement, is_allowed
from tests.support.wire import Wire

TRUST, OWN = "trust of fanout-data", "policy of fanout-data"
ASSUMED = "arn:aws:iam::444455556666:role/fanout-data"
DATA, REPORTS = "their-data", "reports"
OWN_KEY = "Credential=testing/"
REQUEST = {"source": f"s3://{DATA}/in/", "destination": f"s3://{REPORTS}/out/", "verify": "all"}
BY_ROLE = {"role": ASSUMED, "external_id": "for-fanout"}
# Each right of each statement, and what it is about: a run is refused without it.
TAKEN = [
    (TRUST, "Assume", "sts:AssumeRole", ASSUMED),
    (OWN, "List", "s3:ListBucket", DATA),
    *((OWN, "Read", f"s3:{name}", DATA) for name in ("GetObject", "GetObjectTagging")),
    *(
        (OWN, "Write", f"s3:{name}", REPORTS)
        for name in ("PutObject", "PutObjectTagging", "GetObject", "AbortMultipartUpload")
    ),
]
# A run passes without these: to look at an upload that nobody answered, and to ask what a note says.
OWNERSHIP = (OWN, "Owner", "s3:GetBucketOwnershipControls")
SPARED = {(OWN, "Write", "s3:ListMultipartUploadParts"), OWNERSHIP}
DENIED = b"<ErrorResponse><Error><Code>AccessDenied</Code><Message>not authorized</Message></Error></ErrorResponse>"


class Denied(BytesIO):
    """A body as botocore reads it."""

    def stream(self) -> Iterator[bytes]:
        yield self.read()


class Role:
    """The role of the page, less one right of its policies."""

    def __init__(self, wire: Wire) -> None:
        self.wire, self.without = wire, ("", "", "")
        self.signed = 0
        self.more: list[dict[str, Any]] = []
        wire.proxy.choose = self.judge

    def statements(self, title: str) -> list[dict[str, Any]]:
        """Those of a policy of the page, each with the actions that are left to it."""
        found = [
            {**one, "Action": [name for name in listed(one["Action"]) if (title, one["Sid"], name) != self.without]}
            for one in policies()[title]
        ]
        return found + self.more * (title == OWN)

    def judge(self, head: Head) -> str:
        """What the role's own policy says to a request that it signs."""
        authorization = head.headers.get("authorization", OWN_KEY)
        if OWN_KEY in authorization:
            is_data = head.target.startswith((f"/{DATA}", f"/{REPORTS}"))
            return "403 AccessDenied" if is_data and "authorization" in head.headers else ""
        self.signed += 1
        own = [
            Statement(OWN, one["Effect"], tuple(listed(one["Action"])), tuple(listed(one["Resource"])), ())
            for one in self.statements(OWN)
        ]
        asked = needs(head.method, f"http://s3{head.target}", dict(head.headers), b"")
        return "" if all(is_allowed(need, own) for need in asked) else "403 AccessDenied Access Denied"

    def lets_in(self, asked: dict[str, str]) -> bool:
        """What its trust policy says to the stack's role that asks for credentials."""
        return asked["RoleArn"] == ASSUMED and any(
            "sts:AssumeRole" in one["Action"]
            and one["Principal"]["AWS"].split(":")[4] == CALLER.split(":")[4]
            and one["Condition"]
            == {**CONDITION, "StringEquals": {"sts:ExternalId": asked.get("ExternalId"), **CONDITION["StringEquals"]}}
            for one in self.statements(TRUST)
        )


@pytest.fixture
def role(wire: Wire, s3: Any, s3_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Role]:
    found = Role(wire)
    send = URLLib3Session.send

    def sending(self: URLLib3Session, request: AWSPreparedRequest) -> Any:
        body = request.body.decode() if isinstance(request.body, bytes) else str(request.body)
        asked = {name: values[0] for name, values in parse_qs(body).items()}
        if asked.get("Action") != "AssumeRole" or found.lets_in(asked):
            return send(self, request)
        return AWSResponse(request.url, 403, HTTPHeaders(), Denied(DENIED))

    for name, value in (("ROLES", ASSUMED), ("WAY_OUT", "buckets")):
        monkeypatch.setenv(f"FANOUT_{name}", value)
    for service in ("STS", "SFN"):
        monkeypatch.setenv(f"AWS_ENDPOINT_URL_{service}", s3_url)
    clients._assumed.cache_clear()
    for bucket in (DATA, REPORTS):
        s3.create_bucket(Bucket=bucket)
    for name in ("a", "d/b"):
        s3.put_object(Bucket=DATA, Key=f"in/{name}", Body=b"x")
    monkeypatch.setattr(URLLib3Session, "send", sending)
    yield found
    for bucket in (DATA, REPORTS):
        for one in s3.list_objects_v2(Bucket=bucket).get("Contents", []):
            s3.delete_object(Bucket=bucket, Key=one["Key"])
        s3.delete_bucket(Bucket=bucket)
    clients._assumed.cache_clear()


def run(role: Role, s3: Any, by_role: dict[str, str], **options: Any) -> tuple[bool, str]:
    """Whether a run succeeds, and all that it says of what failed."""
    try:
        summary = role.wire.flow.run("run", {**REQUEST, "source_bucket": by_role, **options})
    except FanoutError as error:
        return False, str(error)
    found = [
        s3.get_object(Bucket="work-bucket", Key=one["Key"])["Body"].read().decode("utf-8", "replace")
        for one in s3.list_objects_v2(Bucket="work-bucket", Prefix="runs/run/").get("Contents", [])
        if "fail" in one["Key"] or one["Key"].endswith("/summary.json")
    ]
    return summary["status"] == "SUCCEEDED", json.dumps(summary) + "".join(found)


def test_the_policies_of_the_page_are_enough(role: Role, s3: Any) -> None:
    succeeded, said = run(role, s3, BY_ROLE)
    assert succeeded, said
    assert role.signed > 0


@pytest.mark.parametrize(("title", "sid", "action", "what"), TAKEN)
def test_a_right_that_is_taken_away_is_refused_by_name(
    role: Role, s3: Any, title: str, sid: str, action: str, what: str
) -> None:
    role.without = (title, sid, action)
    succeeded, said = run(role, s3, BY_ROLE)
    assert not succeeded
    assert action in said and what in said, said


@pytest.mark.parametrize("external", [{}, {"external_id": "another"}])
def test_without_the_external_id_it_is_refused_by_name(role: Role, s3: Any, external: dict[str, str]) -> None:
    succeeded, said = run(role, s3, {"role": ASSUMED, **external})
    assert not succeeded
    assert "sts:AssumeRole" in said and "external id" in said and ASSUMED in said


def test_without_the_right_to_ask_for_ownership_the_run_goes_on_and_says_what_is_not_known(role: Role, s3: Any) -> None:
    role.without = OWNERSHIP
    succeeded, said = run(role, s3, BY_ROLE)
    assert succeeded, said
    assert "s3:GetBucketOwnershipControls" in said and "444455556666, which writes them, is not known" in said


@pytest.mark.parametrize("allowed", [True, False])
def test_ends_under_one_prefix_need_one_right_more(role: Role, s3: Any, allowed: bool) -> None:
    [write] = [one for one in policies()[OWN] if one["Sid"] == "Write"]
    role.more = [{**write, "Resource": f"arn:aws:s3:::{REPORTS}/in/*"}]
    right = {"Action": "s3:ListBucketMultipartUploads", "Resource": f"arn:aws:s3:::{DATA}"}
    role.more += [{"Sid": "Uploads", "Effect": "Allow", **right}] * allowed
    succeeded, said = run(role, s3, BY_ROLE, destination=f"s3://{REPORTS}/in/")
    assert succeeded is allowed, said
    assert allowed or (right["Action"] in said and DATA in said)


def test_every_right_of_the_page_is_taken_away() -> None:
    said = [(title, one) for title in (TRUST, OWN) for one in policies()[title]]
    known = {(title, one["Sid"], action) for title, one in said for action in listed(one["Action"])}
    assert known == {taken[:3] for taken in TAKEN} | SPARED
