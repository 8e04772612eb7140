"""A run in an account that lets 10 functions run at once, as a new one does, with 100 allowed by the stack."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable

import pytest

from tests.support.long import LONG

from .conftest import REGION
from .engine import MOTO_ALONE, Engine
from .lambda_service import Event, Function, ServiceError

ACCOUNT_CONCURRENCY = 10
MAX_CONCURRENCY = 100
SHARDS = [str(number) for number in range(200 if LONG else 60)]
FUNCTION_SECONDS = 0.3
# What is minutes on AWS is tenths of a second here: as long against a function's seconds, with room for a busy machine.
SHORTER = 400


class Account:
    """Refuses an invocation while too many functions run."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running = 0
        self.most = 0
        self.refused = 0

    def limits(self, function: Function) -> Function:
        def limited(event: Event) -> object:
            with self._lock:
                if self._running == ACCOUNT_CONCURRENCY:
                    self.refused += 1
                    raise ServiceError(429, "TooManyRequestsException")
                self._running += 1
                self.most = max(self.most, self._running)
            try:
                time.sleep(FUNCTION_SECONDS)
                return function(event)
            finally:
                with self._lock:
                    self._running -= 1

        return limited


def jittered(uniform: Callable[[float, float], float]) -> Callable[[float, float], float]:
    return lambda low, high: uniform(low, high) / SHORTER


@MOTO_ALONE
def test_a_run_of_more_shards_than_the_account_has_functions_ends_green_and_records_nothing_as_failed(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("random.uniform", jittered(random.Random(1).uniform))
    # Moto makes a client for each call, which takes longer than the call.
    from moto.stepfunctions.parser.asl.component.state.exec.state_task import lambda_eval_utils
    from moto.stepfunctions.parser.asl.utils.boto_client import boto_client_for

    client = boto_client_for(region=REGION, service="lambda")
    monkeypatch.setattr(lambda_eval_utils, "boto_client_for", lambda **given: client)
    transfer = engine.transfer(shards=SHARDS, max_concurrency=MAX_CONCURRENCY)
    account, tasks = Account(), engine.service.functions
    tasks.update({name: account.limits(function) for name, function in tasks.items()})
    result = engine.run()
    assert (result.status, result.error, result.cause) == ("SUCCEEDED", "", "")
    assert transfer.copied == set(SHARDS)
    assert "RecordShardFailure" not in engine.service.called()
    assert account.most == ACCOUNT_CONCURRENCY
    assert account.refused > ACCOUNT_CONCURRENCY
