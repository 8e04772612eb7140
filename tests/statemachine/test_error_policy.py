"""What the file says about errors: the one Retry table, and where each caught error goes."""

from __future__ import annotations

from typing import Any

import pytest

from fanout.facts import aws
from fanout.model.errors import TASK_ERRORS

from .definition import State, load, states, tasks

STATES = states(load())
TASKS = tasks(load())
MAPS = [state for state in STATES if state.body["Type"] == "Map"]

# Names, first interval, attempts, longest interval. The interval doubles, and full jitter spreads it.
RETRY_TABLE: tuple[tuple[tuple[str, ...], int, int, int], ...] = (
    (("Throttled", "Transient"), 2, 6, 60),
    # An account may have a concurrency of 10: its invocations take turns, some 4 hours in the mean.
    (("Lambda.TooManyRequestsException",), 5, 500, 60),
    (
        (
            "Lambda.EC2ThrottledException",
            "Lambda.EC2UnexpectedException",
            "Lambda.SubnetIPAddressLimitReachedException",
            "Lambda.ENILimitReachedException",
            "Lambda.ENINotReadyException",
            "Lambda.ResourceNotReadyException",
            "Lambda.EFSIOException",
            "Lambda.EFSMountTimeoutException",
            "Lambda.EFSMountConnectivityException",
            "Lambda.S3FilesMountTimeoutException",
            "Lambda.S3FilesMountConnectivityException",
            # A function that was idle for weeks wakes up, which takes up to a minute.
            "Lambda.ResourceConflictException",
            "Lambda.ClientExecutionTimeoutException",
        ),
        5,
        8,
        120,
    ),
    (("Lambda.ServiceException", "Lambda.AWSLambdaException", "Lambda.SdkClientException"), 2, 4, 60),
    (("Lambda.Unknown", "Runtime.ExitError", "Stalled"), 1, 6, 10),
    (("Runtime.OutOfMemory",), 1, 2, 10),
    (("States.Timeout", "Sandbox.Timedout"), 1, 1, 10),
)
# Only the plan waits for another run that writes to the same tree: 500 times 150 s on average, about 21 hours.
WAIT_TABLE = ((("DestinationBusy",), 30, 500, 300),)
# Of what paces: nobody waits for it longer than for a run's own end, and it goes on trying while others have all the
# concurrency that there is.
PACING_TABLE = tuple(
    (names, min(interval_seconds, 2), 300 if "Lambda.TooManyRequestsException" in names else attempts, 10)
    for names, interval_seconds, attempts, _ in RETRY_TABLE
)
PACING = ("PaceCopy", "EndPacing")
# One that has begun may be at work, so only what has not is tried again; the account's concurrency, and what wakes up.
BEGIN_TABLE = tuple(
    (tuple(name for name in names if name != "Lambda.ClientExecutionTimeoutException"), interval, attempts, longest)
    for names, interval, attempts, longest in RETRY_TABLE
    if {"Lambda.TooManyRequestsException", "Lambda.ENINotReadyException"} & {*names}
)
# A Map is run again where its list or its results could not be read or written; what is done stays done.
MAP_RETRY_TABLE = ((("States.ItemReaderFailed", "States.ResultWriterFailed"), 2, 3, 30),)


def retry_of(table: tuple[tuple[tuple[str, ...], int, int, int], ...]) -> list[Any]:
    return [
        {
            "ErrorEquals": list(names),
            "IntervalSeconds": interval_seconds,
            "BackoffRate": 2.0,
            "MaxAttempts": attempts,
            "MaxDelaySeconds": longest_seconds,
            "JitterStrategy": "FULL",
        }
        for names, interval_seconds, attempts, longest_seconds in table
    ]


# Tasks of child workflows that catch nothing, and what holds their failure instead.
WITHOUT_CATCH = {
    "ListDestination": "the Map has no tolerance: one failed segment fails the listing",
    "DigestShard": "the Map tolerates the child; what it did not compare is a difference in the summary",
    "ListSegment": "the Map has no tolerance: one failed segment fails the listing",
    "FinishShard": "the Map tolerates the child; what it left FinishTree finishes, or fails",
    "LookAtSource": "the Map tolerates the child; what has no outcome is a failure in the summary",
    "DeleteShard": "the Map tolerates the child; what has no outcome is a failure in the summary",
    "VerifyShard": "the Map tolerates the child; what it did not compare is a difference in the summary",
    "RecordShardFailure": "the Map tolerates the child; its entries have no outcome, so the books do not balance",
}
BUSY = {
    "ErrorEquals": ["InvalidRequest", "AccessDenied", "DestinationBusy"],
    "ResultPath": "$.error",
    "Next": "FailedInvalidRequest",
}
CAUGHT_BY: dict[str, list[Any]] = {
    "PlanTransfer": [BUSY, "FailedInfrastructure"],
    "CheckMount": [BUSY, "FailedInfrastructure"],
    "ShortWay": [
        {"ErrorEquals": ["Runtime.ExitError", "Stalled", "Runtime.OutOfMemory", "Sandbox.Timedout"]}
        | {"ResultPath": None, "Next": "TakeOver"},
        {"ErrorEquals": ["States.ALL"], "ResultPath": None, "Next": "WaitForShortWay"},
    ],
    "TakeOver": ["FinishTree"],
    "ListOneSegment": ["FinishTree"],
    "CheckOtherMount": ["FinishTree"],
    "ListTree": ["FinishTree"],
    "GatherSegments": ["FinishTree"],
    "PartitionShards": ["FinishTree"],
    "RestoreObjects": ["FinishTree"],
    "CopyShards": ["AnyPacing?"],
    "CopyInPace": ["FinishTree"],
    "EndPacing": [{"ErrorEquals": ["States.ALL"], "ResultPath": "$.note", "Next": "HowEnded?"}],
    "PaceCopy": [{"ErrorEquals": ["States.ALL"], "ResultPath": "$.note", "Next": "PacingFailed"}],
    "CopyShard": ["RecordShardFailure"],
    "DigestDestination": ["RecordShardFailure"],
    "PackShard": ["RecordShardFailure"],
    "UnpackShard": ["RecordShardFailure"],
    "FinishTree": ["ToPublish?"],
    "PublishVersion": ["SummariseTransfer"],
    "FinishShards": ["FinishTree"],
    "BeginDeletion": ["RemoveDirectories"],
    "LookAtDirectories": ["RemoveDirectories"],
    "DeleteShards": ["RemoveDirectories"],
    "RemoveDirectories": ["SummariseTransfer"],
    "BeginVerification": ["ToPublish?"],
    "ComputeChecksums": [{"ErrorEquals": ["States.ALL"], "ResultPath": "$.note", "Next": "VerifyShards"}],
    "VerifyShards": ["ToPublish?"],
    "SummariseTransfer": ["FailedInfrastructure"],
}
LAMBDA_TIMEOUT_SECONDS = aws.FUNCTION_SECONDS_MOST
# The function ends first, so that no attempt runs on beside the one that replaces it.
GRACE_SECONDS = 30


def by_name(state: State) -> str:
    return state.name


@pytest.mark.parametrize("task", TASKS, ids=by_name)
def test_every_task_retries_by_the_one_table(task: State) -> None:
    waits = WAIT_TABLE if task.name == "PlanTransfer" else ()
    if task.name == "ShortWay":
        assert task.body["Retry"] == retry_of(BEGIN_TABLE)
    else:
        assert task.body["Retry"] == retry_of(PACING_TABLE if task.name in PACING else (*waits, *RETRY_TABLE))


@pytest.mark.parametrize("state", MAPS, ids=by_name)
def test_every_map_is_run_again_where_its_files_failed(state: State) -> None:
    assert state.body["Retry"] == retry_of(MAP_RETRY_TABLE)


def test_the_table_names_no_catch_all_and_no_error_twice() -> None:
    names = [name for names, *_ in RETRY_TABLE for name in names]
    assert "States.ALL" not in names and "States.TaskFailed" not in names
    assert len(set(names)) == len(names)


@pytest.mark.parametrize(("_names", "interval_seconds", "attempts", "longest_seconds"), (*WAIT_TABLE, *RETRY_TABLE))
def test_a_longest_interval_leaves_room_for_the_backoff(
    _names: tuple[str, ...], interval_seconds: int, attempts: int, longest_seconds: int
) -> None:
    assert interval_seconds < longest_seconds
    assert attempts >= 1


@pytest.mark.parametrize("task", TASKS, ids=by_name)
def test_every_task_has_a_timeout_that_a_function_can_reach(task: State) -> None:
    assert 0 < task.body["TimeoutSeconds"] <= LAMBDA_TIMEOUT_SECONDS + GRACE_SECONDS


def test_every_name_without_a_dot_is_an_error_of_the_domain() -> None:
    handlers = [handler for state in STATES for key in ("Retry", "Catch") for handler in state.body.get(key, [])]
    names = {name for handler in handlers for name in handler["ErrorEquals"] if "." not in name}
    assert names == {"Throttled", "Transient", "Stalled", "InvalidRequest", "AccessDenied", "DestinationBusy"}
    assert names <= {error.__name__ for error in TASK_ERRORS}


@pytest.mark.parametrize("state", [*TASKS, *MAPS], ids=by_name)
def test_every_task_and_map_has_a_catch_or_a_reason_for_none(state: State) -> None:
    assert ("Catch" in state.body) != (state.name in WITHOUT_CATCH)


@pytest.mark.parametrize("state", [state for state in STATES if "Catch" in state.body], ids=by_name)
def test_a_caught_error_keeps_its_name_and_goes_to_its_place(state: State) -> None:
    expected = [
        {"ErrorEquals": ["States.ALL"], "ResultPath": "$.error", "Next": target} if isinstance(target, str) else target
        for target in CAUGHT_BY[state.name]
    ]
    assert state.body["Catch"] == expected


TOLERANT = ("CopyShards", "FinishShards", "DeleteShards", "VerifyShards")


def test_only_the_listing_does_not_tolerate_failed_children() -> None:
    tolerance = {
        state.name: {key: value for key, value in state.body.items() if key.startswith("ToleratedFailure")}
        for state in MAPS
    }
    tolerant = {"ToleratedFailurePercentage": 100}
    assert tolerance == {"ListTree": {}, **dict.fromkeys(TOLERANT, tolerant)}
