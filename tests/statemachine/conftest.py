"""An engine for each test, without waits: the walker; where asked for, moto's interpreter and a Lambda service."""

from __future__ import annotations

from collections.abc import Iterator

import boto3  # type: ignore[import-untyped,unused-ignore]
import pytest
from moto import mock_aws

from tests.support.long import LONG

from .engine import Engine, WalkedEngine
from .lambda_service import LambdaService

REGION = "eu-west-1"


@pytest.fixture(scope="session")
def boto_session() -> boto3.Session:
    """One session for all tests: a new one reads the models of the services again, which takes most of a test."""
    return boto3.Session(aws_access_key_id="test", aws_secret_access_key="test", region_name=REGION)


@pytest.fixture
def service() -> Iterator[LambdaService]:
    """The functions of a test; nothing serves them over HTTP."""
    service = LambdaService()
    yield service
    service.close()


@pytest.fixture(params=["walker", "moto"] if LONG else ["walker"])
def engine(request: pytest.FixtureRequest, service: LambdaService) -> Engine:
    """Each test is walked; ``FANOUT_LONG=1`` runs it in moto's interpreter too, and both must end alike."""
    found: Engine = WalkedEngine(service) if request.param == "walker" else request.getfixturevalue("moto_engine")
    return found


@pytest.fixture
def moto_engine(
    service: LambdaService, boto_session: boto3.Session, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Engine]:
    """Moto's interpreter, which calls the functions over HTTP.

    Full jitter waits anything between nothing and the back-off's interval; here it always
    draws nothing. So the definition keeps the file's own intervals and no test waits for them,
    and each interval that the interpreter computed is at hand in ``engine.waits``.
    """
    from . import made_once, map_tolerance  # these import the interpreter, which takes long at collection

    monkeypatch.setenv("AWS_DEFAULT_REGION", REGION)
    monkeypatch.setenv("AWS_ENDPOINT_URL_LAMBDA", service.serve())
    with mock_aws(config={"stepfunctions": {"execute_state_machine": True}}):
        monkeypatch.setattr(boto3, "DEFAULT_SESSION", boto_session)  # the interpreter's clients come from it
        engine = Engine(service)

        def draw_nothing(low: float, high: float) -> float:
            engine.waits.append(high)
            return low

        map_tolerance.enforce(monkeypatch)
        made_once.keep(monkeypatch)
        monkeypatch.setattr("random.uniform", draw_nothing)
        yield engine
