"""Which errors every Task meets again, how often, how far apart, and which it does not."""

from __future__ import annotations

import pytest

from fanout.model.errors import LedgerBroken, Throttled, Transient

from .definition import load, tasks
from .engine import MOTO_ALONE, Engine
from .failing import FailFirst, always
from .lambda_service import Event, Function, NamedError, ServiceError

APART = ["CheckOtherMount", "ListDestination", "DigestDestination", "PackShard", "UnpackShard", "DigestShard"]
APART += ["LookAtSource", "LookAtDirectories"]
# Of them those that such a transfer needs once, not for each of two shards.
ONCE = {"CheckOtherMount", "LookAtSource", "LookAtDirectories"}
# ListOneSegment and ListTree call the same function; what paces is in test_pacing.py, because no run fails by it, and
# the short way in test_short_way.py, because a run that is taken over goes the ordinary one.
ELSEWHERE = {"ListOneSegment", "PaceCopy", "EndPacing", "ShortWay", "TakeOver"}
TASKS = sorted({task.name for task in tasks(load())} - {*APART, *ELSEWHERE})
PASSING_ERRORS: dict[str, Exception] = {
    "Throttled": Throttled("SlowDown"),
    "Transient": Transient("connection reset"),
    "Lambda.TooManyRequestsException": ServiceError(429, "TooManyRequestsException"),
    "Lambda.ResourceConflictException": ServiceError(409, "ResourceConflictException"),
    "Lambda.ServiceException": ServiceError(500, "ServiceException"),
    "Lambda.AWSLambdaException": NamedError("Lambda.AWSLambdaException"),
    "Lambda.SdkClientException": NamedError("Lambda.SdkClientException"),
    "Lambda.Unknown": NamedError("Lambda.Unknown"),
    "Sandbox.Timedout": NamedError("Sandbox.Timedout"),
    "Runtime.ExitError": NamedError("Runtime.ExitError"),
    "Runtime.OutOfMemory": NamedError("Runtime.OutOfMemory"),
}


def with_a_broken_shard(engine: Engine, task: str = "CopyShard") -> None:
    """A transfer that calls every function of its direction: one of its two shards fails for good."""
    apart = task != "CopyShard"
    finishing = () if apart else (("d1",),)
    archived = () if apart else ("whole",)
    engine.transfer(
        shards=("whole", "broken"),
        verify="all",
        two_mounts=apart,
        digests=apart,
        extras=("x",),
        finishing=finishing,
        archived=archived,
        publishes="" if apart else "copy",
        computes=not apart,
    )
    copy = engine.service.functions[task]

    def copy_shard(event: Event) -> Event:
        if event["shard"] == "broken":
            raise LedgerBroken("the shard's file is missing")
        answer: Event = copy(event)
        return answer

    engine.service.functions[task] = copy_shard


@pytest.mark.parametrize("name", PASSING_ERRORS)
def test_every_task_is_called_again_after_an_error_that_passes(engine: Engine, name: str) -> None:
    with_a_broken_shard(engine)
    functions = engine.service.functions
    functions.update({task: FailFirst(function, PASSING_ERRORS[name]) for task, function in functions.items()})
    assert engine.run().error == "FailedWithItems"
    called = engine.service.called()
    twice = {"ListSegment", "GatherSegments", "PartitionShards", "CopyShard", "VerifyShard"}
    often = dict.fromkeys(twice, 4) | {"FinishTree": 4, "FinishShard": 3, "RestoreObjects": 8, "ComputeChecksums": 6}
    assert {task: called.count(task) for task in TASKS} == {task: often.get(task, 2) for task in TASKS}


@pytest.mark.parametrize("name", PASSING_ERRORS)
def test_so_is_every_task_between_two_mounts(engine: Engine, name: str) -> None:
    with_a_broken_shard(engine, "UnpackShard")
    functions = engine.service.functions
    functions.update({task: FailFirst(function, PASSING_ERRORS[name]) for task, function in functions.items()})
    assert engine.run().error == "FailedWithItems"
    called = engine.service.called()
    assert called.count("CopyShard") == 0
    assert {task: called.count(task) for task in APART} == {task: 2 if task in ONCE else 4 for task in APART}


@pytest.mark.parametrize("task", APART)
def test_nor_is_one_between_two_mounts_after_an_error_that_no_retry_names(engine: Engine, task: str) -> None:
    with_a_broken_shard(engine, "UnpackShard")
    engine.service.functions[task] = always(LedgerBroken("segments/0.json is missing"))
    assert engine.run().status == "FAILED"
    assert len(engine.service.calls(task)) == (1 if task in {*ONCE, "ListDestination"} else 2)
    assert engine.waits == []


@pytest.mark.parametrize("task", TASKS)
def test_no_task_is_called_again_after_an_error_that_no_retry_names(engine: Engine, task: str) -> None:
    with_a_broken_shard(engine)
    engine.service.functions[task] = always(LedgerBroken("segments/0.json is missing"))
    assert engine.run().status == "FAILED"
    events = engine.service.calls(task)
    assert len(events) == (2 if task in ("CopyShard", "VerifyShard") else 1)
    assert engine.waits == []


@pytest.mark.parametrize(
    ("name", "waits"),
    [
        ("Throttled", [2, 4, 8, 16, 32, 60]),
        ("Transient", [2, 4, 8, 16, 32, 60]),
        ("Lambda.ResourceConflictException", [5, 10, 20, 40, 80, 120, 120, 120]),
        ("Lambda.ServiceException", [2, 4, 8, 16]),
        ("Sandbox.Timedout", [1]),
        ("Runtime.ExitError", [1, 2, 4, 8, 10, 10]),
        ("Runtime.OutOfMemory", [1, 2]),
    ],
)
def test_an_error_that_does_not_pass_is_met_so_often_and_so_far_apart(
    engine: Engine, name: str, waits: list[float]
) -> None:
    engine.transfer()
    engine.service.functions["CheckMount"] = always(PASSING_ERRORS[name])
    result = engine.run()
    assert result.cause.startswith(f"{name}: ")
    assert (result.error, engine.waits) == ("Infrastructure", waits)
    assert len(engine.service.calls("CheckMount")) == len(waits) + 1


def test_shards_wait_while_the_account_has_no_concurrency_left(engine: Engine) -> None:
    """A new account runs 10 functions at once. The wait is minutes here, and up to some 4 hours."""
    with_a_broken_shard(engine)
    refused = [PASSING_ERRORS["Lambda.TooManyRequestsException"]] * 40
    engine.service.functions["ListSegment"] = FailFirst(engine.service.functions["ListSegment"], *refused)
    engine.service.functions["CheckMount"] = FailFirst(engine.service.functions["CheckMount"], *refused)
    assert engine.run().error == "FailedWithItems"
    assert engine.service.called().count("CheckMount") == 41


def hang_first(engine: Engine, function: Function, times: int) -> Function:
    def answer(event: Event) -> object:
        nonlocal times
        times -= 1
        if times >= 0:
            engine.service.hang()
        return function(event)

    return answer


@MOTO_ALONE
@pytest.mark.parametrize("task", ["GatherSegments", "CopyShard"])
def test_a_task_that_runs_into_its_timeout_is_called_again(engine: Engine, task: str) -> None:
    engine.transfer()
    engine.set_timeout(task, seconds=4)  # for the second call on a busy machine
    engine.service.functions[task] = hang_first(engine, engine.service.functions[task], times=1)
    assert engine.run().status == "SUCCEEDED"
    assert len(engine.service.calls(task)) == 2


@MOTO_ALONE
def test_a_task_that_always_runs_into_its_timeout_fails(engine: Engine) -> None:
    """Moto refuses a ``States.*`` name in a Fail state, so the name is looked for where it is caught."""
    engine.transfer()
    engine.set_timeout("GatherSegments", seconds=1)
    engine.service.functions["GatherSegments"] = hang_first(engine, engine.service.functions["GatherSegments"], 99)
    assert engine.run().status == "FAILED"
    assert len(engine.service.calls("GatherSegments")) == 2
    assert engine.service.calls("SummariseTransfer")[0]["state"]["error"]["Error"] == "States.Timeout"


@MOTO_ALONE
def test_a_check_that_always_runs_into_its_timeout_is_not_green(engine: Engine) -> None:
    engine.transfer()
    engine.set_timeout("CheckMount", seconds=1)
    engine.service.functions["CheckMount"] = hang_first(engine, engine.service.functions["CheckMount"], 99)
    assert engine.run().status == "FAILED"
    assert engine.entered()[-1] == "FailedInfrastructure"
