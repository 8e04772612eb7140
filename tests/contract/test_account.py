"""Lambda asked about the account: what it answers, and what it answers wrong."""

from __future__ import annotations

import json

import pytest

from fanout.adapters.aws.meter import LambdaAccount
from fanout.model.errors import AccessDenied, FanoutError, Throttled, Transient, Unreachable
from tests.contract.conftest import REGION
from tests.contract.scripted_server import RESET, TRUNCATED, ScriptedServer, answer
from tests.support.s3_servers import KEY


@pytest.fixture(autouse=True)
def credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, KEY)


def settings(**limit: object) -> bytes:
    return json.dumps({"AccountLimit": limit, "AccountUsage": {}}).encode()


def test_what_is_not_reserved_is_what_counts(server: ScriptedServer) -> None:
    server.script = [answer(200, settings(ConcurrentExecutions=1_000, UnreservedConcurrentExecutions=640))]
    assert LambdaAccount(REGION, server.url).unreserved_concurrency() == 640


@pytest.mark.parametrize(
    ("step", "error"),
    [
        (answer(403, b'{"Type": "User", "Message": "not authorized"}'), AccessDenied),
        (answer(429, b"{}"), Throttled),
        (answer(503, b"busy"), Transient),
        (answer(200, b"{}"), Transient),
        (answer(200, settings(ConcurrentExecutions=1_000)), Transient),
        (answer(200, b"no JSON"), Transient),
        (RESET, Unreachable),
        (TRUNCATED, Unreachable),
    ],
)
def test_a_fault_of_lambda_has_the_name_that_says_what_to_do(
    server: ScriptedServer, step: bytes, error: type[FanoutError]
) -> None:
    server.script = [step]
    with pytest.raises(error, match="lambda:GetAccountSettings on the account"):
        LambdaAccount(REGION, server.url).unreserved_concurrency()
