"""What PlanTransfer or CheckMount refuses ends the execution before anything is listed."""

from __future__ import annotations

import pytest

from fanout.model.errors import AccessDenied, InvalidRequest, LedgerBroken, Unreachable

from .engine import Engine
from .failing import always
from .lambda_service import NamedError

INVALID = InvalidRequest("source", "'ftp://x' is not a location", "allowed: s3://, efs://")
DENIED = AccessDenied("ListObjectsV2", "s3://bucket/prefix/", "grant s3:ListBucket to the function's role")
TASKS = ("PlanTransfer", "CheckMount")


@pytest.mark.parametrize("error", [INVALID, DENIED], ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("task", TASKS)
def test_a_refusal_ends_with_its_own_name_and_cause(engine: Engine, task: str, error: Exception) -> None:
    engine.transfer()
    engine.service.functions[task] = always(error)
    result = engine.run()
    assert (result.status, result.error) == ("FAILED", type(error).__name__)
    assert str(error) in result.cause
    assert engine.entered()[-2:] == [task, "FailedInvalidRequest"]


@pytest.mark.parametrize("error", [LedgerBroken("plan.json differs"), NamedError("KeyError")], ids=["domain", "any"])
@pytest.mark.parametrize("task", TASKS)
def test_any_other_error_ends_as_infrastructure_and_says_which(engine: Engine, task: str, error: Exception) -> None:
    engine.transfer()
    engine.service.functions[task] = always(error)
    result = engine.run()
    assert (result.status, result.error) == ("FAILED", "Infrastructure")
    assert result.cause.startswith(getattr(error, "error_type", type(error).__name__))
    assert str(error) in result.cause
    assert engine.entered()[-2:] == [task, "FailedInfrastructure"]


@pytest.mark.parametrize("task", TASKS)
def test_nothing_runs_after_a_refusal(engine: Engine, task: str) -> None:
    engine.transfer()
    engine.service.functions[task] = always(INVALID)
    engine.run()
    assert engine.service.called() == list(TASKS[: TASKS.index(task) + 1])


def test_a_function_that_does_not_exist_ends_the_execution(engine: Engine) -> None:
    engine.transfer()
    del engine.service.functions["CheckMount"]
    result = engine.run()
    assert (result.status, result.error) == ("FAILED", "Infrastructure")
    assert result.cause.startswith("Lambda.ResourceNotFoundException")


def test_a_network_without_a_way_to_s3_ends_the_run_at_its_check_and_is_not_tried_again(engine: Engine) -> None:
    engine.transfer()
    engine.service.functions["CheckMount"] = always(Unreachable("S3 cannot be reached from here; add an endpoint"))
    result = engine.run()
    assert (result.status, result.error) == ("FAILED", "Infrastructure")
    assert result.cause.startswith("Unreachable")
    assert "add an endpoint" in result.cause
    assert engine.service.called() == ["PlanTransfer", "CheckMount"]
