"""The states of an execution: their words in scripts, and how often each is entered and attempted."""

from __future__ import annotations

from copy import deepcopy
from functools import cache
from typing import Any

from fanout.model.document import Json
from tests.support.definitions import definition

# More often than any state is entered here; and more attempts than scripts trouble.
ENTERED, ATTEMPTS = 1_000, 6
# The words of scripts for states.
LABELS = {
    "PlanTransfer": "plan",
    "CheckMount": "check",
    "CheckOtherMount": "check",
    "ShortWay": "short way",
    "TakeOver": "take over",
    "ListOneSegment": "list",
    "ListSegment": "list",
    "ListDestination": "list destination",
    "GatherSegments": "gather",
    "PartitionShards": "partition",
    "CopyShard": "copy",
    "PackShard": "pack",
    "UnpackShard": "unpack",
    "DigestDestination": "digest",
    "RecordShardFailure": "record",
    "FinishTree": "finish",
    "FinishShard": "finish shard",
    "BeginDeletion": "begin deletion",
    "LookAtSource": "look",
    "DeleteShard": "delete",
    "LookAtDirectories": "look at directories",
    "RemoveDirectories": "remove directories",
    "BeginVerification": "begin verification",
    "ComputeChecksums": "compute",
    "DigestShard": "digest",
    "VerifyShard": "verify",
    "SummariseTransfer": "summarise",
}


class Stopped(Exception):
    """The execution was stopped from outside."""


class Endless(Exception):
    """A state is never done."""


@cache
def bound_definition() -> Json:
    """With few attempts: those that wait for another run would wait for one that does not go on meanwhile."""

    def bound(value: Any) -> None:
        for one in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
            bound(one)
        if isinstance(value, dict) and "MaxAttempts" in value:
            value["MaxAttempts"] = min(value["MaxAttempts"], ATTEMPTS)

    found = deepcopy(definition())
    bound(found)
    return found
