"""Credentials of an assumed role: renewed before they end, and refused in words."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError
from moto.server import ThreadedMotoServer

from fanout.adapters.aws import assumed_role
from fanout.adapters.aws.assumed_role import AGAIN_SECONDS, LEAST_SECONDS, RENEW_SECONDS, AssumedRole
from fanout.adapters.aws.session_policy import session_policy
from fanout.model.errors import AccessDenied, FanoutError

ROLE = "arn:aws:iam::444455556666:role/theirs"


class Service:
    """An STS that gives credentials for an hour, numbered."""

    def __init__(self) -> None:
        self.asked: list[dict[str, str]] = []
        self.time = 1_000_000.0
        self.refuses = ""

    def assume_role(self, **given: str) -> Any:
        self.asked.append(given)
        if self.refuses:
            answer: Any = {"Error": {"Code": self.refuses}, "ResponseMetadata": {"HTTPStatusCode": 403}}
            raise ClientError(answer, "AssumeRole")
        ends = datetime.fromtimestamp(self.time, UTC) + timedelta(hours=1)
        key = f"key-{len(self.asked)}"
        return {"Credentials": {"AccessKeyId": key, "SecretAccessKey": "s", "SessionToken": "t", "Expiration": ends}}


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Service:
    found = Service()
    monkeypatch.setattr(assumed_role, "client", lambda *_: found)
    return found


@pytest.mark.parametrize("external_id", ["", "for-fanout"])
def test_credentials_are_kept_until_shortly_before_they_end(service: Service, external_id: str) -> None:
    role = AssumedRole("us-east-1", ROLE, external_id, now=lambda: service.time)
    assert [role().access_key_id, role().access_key_id] == ["key-1", "key-1"]
    service.time += 3600 - RENEW_SECONDS - 1
    assert role().access_key_id == "key-1"
    service.time += 2
    assert role().access_key_id == "key-2"
    external = {"ExternalId": external_id} if external_id else {}
    assert (
        service.asked == [{"RoleArn": ROLE, "RoleSessionName": "fanout", "Policy": session_policy(()), **external}] * 2
    )


def test_a_role_that_does_not_let_the_stack_in_is_told_with_what_is_needed(service: Service) -> None:
    service.refuses = "AccessDenied"
    with pytest.raises(AccessDenied, match=f"sts:AssumeRole on {ROLE}.*AssumableRoleArns.*trust policy.*external id"):
        AssumedRole("us-east-1", ROLE, "")()


@pytest.mark.parametrize("refuses", ["Throttling", "AccessDenied"])
def test_credentials_that_hold_are_used_while_no_new_ones_are_given(service: Service, refuses: str) -> None:
    role = AssumedRole("us-east-1", ROLE, "", now=lambda: service.time)
    assert role().access_key_id == "key-1"
    service.refuses = refuses
    service.time += 3600 - RENEW_SECONDS
    assert [role().access_key_id for _ in range(3)] == ["key-1"] * 3
    assert len(service.asked) == 2
    service.time += RENEW_SECONDS - LEAST_SECONDS
    with pytest.raises(FanoutError, match="sts:AssumeRole"):
        role()
    service.refuses, service.time = "", service.time + AGAIN_SECONDS
    assert role().access_key_id == "key-4"


def test_a_refusal_holds_for_everybody_who_asks_within_seconds(service: Service) -> None:
    role = AssumedRole("us-east-1", ROLE, "", now=lambda: service.time)
    service.refuses = "AccessDenied"
    for _ in range(1_000):
        with pytest.raises(AccessDenied):
            role()
    assert len(service.asked) == 1
    service.refuses, service.time = "", service.time + AGAIN_SECONDS
    assert role().access_key_id == "key-2"


def test_a_session_without_a_policy_may_do_nothing(service: Service) -> None:
    AssumedRole("us-east-1", ROLE, "")()
    assert json.loads(service.asked[0]["Policy"])["Statement"] == [{"Effect": "Deny", "Action": "*", "Resource": "*"}]


def test_a_session_has_the_policy_and_the_name_that_it_is_given(service: Service) -> None:
    AssumedRole("us-east-1", ROLE, "", policy="a policy", name="fanout.CopyShard.run-1")()
    assert service.asked == [{"RoleArn": ROLE, "RoleSessionName": "fanout.CopyShard.run-1", "Policy": "a policy"}]


@pytest.fixture
def url(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A server of AWS's services."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


def test_they_are_of_the_role_s_account(url: str) -> None:
    found = AssumedRole("us-east-1", ROLE, "for-fanout", url)()
    make: Any = boto3.client
    sts = make(
        "sts",
        endpoint_url=url,
        region_name="us-east-1",
        aws_access_key_id=found.access_key_id,
        aws_secret_access_key=found.secret_access_key,
        aws_session_token=found.session_token,
    )
    assert sts.get_caller_identity()["Account"] == "444455556666"
