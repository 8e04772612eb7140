"""A schedule of a stack: its name, its document at EventBridge Scheduler, and what changes make of that."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from fanout.facts.aws import EXECUTION_NAME_CHARACTERS, SCHEDULE_INPUT_BYTES
from fanout.model.errors import InvalidRequest
from fanout_cli.runs.run_ids import scheduled_run_id
from fanout_cli.schedules.times import ScheduleExpression, known_times

ENABLED, DISABLED = "ENABLED", "DISABLED"
# EventBridge Scheduler writes its id of the call in this place of an input, at most as long as a UUID.
CALL_ID = "<aws.scheduler.execution-id>"
CALL_ID_CHARACTERS = 36
NAME_CHARACTERS = EXECUTION_NAME_CHARACTERS - CALL_ID_CHARACTERS - len(scheduled_run_id("", ""))
# UpdateSchedule sets every field that it is not given to its default: these are all that it takes.
FIELDS = (
    *("Name", "GroupName", "Description", "State", "StartDate", "EndDate", "KmsKeyArn", "ActionAfterCompletion"),
    *("ScheduleExpression", "ScheduleExpressionTimezone", "FlexibleTimeWindow", "Target"),
)
# As the template's own schedule does.
_RETRIES = {"MaximumRetryAttempts": 10, "MaximumEventAgeInSeconds": 3600}
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")
_SHOWN_TIMES = 3


@dataclass(frozen=True)
class Schedule:
    """A schedule as it is at EventBridge Scheduler; ``document`` is the answer to GetSchedule."""

    document: Mapping[str, Any]

    @property
    def name(self) -> str:
        """Its name, which its runs carry."""
        return str(self.document["Name"])

    @property
    def state(self) -> str:
        """``ENABLED`` or ``DISABLED``."""
        return str(self.document["State"])

    @property
    def expression(self) -> str:
        """Its times: ``cron(...)``, ``rate(...)`` or ``at(...)``."""
        return str(self.document["ScheduleExpression"])

    @property
    def time_zone(self) -> str:
        """The time zone in which the expression is meant."""
        return str(self.document.get("ScheduleExpressionTimezone") or "UTC")

    @property
    def window_minutes(self) -> int:
        """Minutes after its time within which a run may start; 0 for at once."""
        return int(self.document["FlexibleTimeWindow"].get("MaximumWindowInMinutes", 0))

    @property
    def request(self) -> Any:
        """The request that it starts. Raises ``InvalidRequest`` for a target that another tool has set."""
        try:
            return json.loads(json.loads(self.document["Target"]["Input"])["Input"])
        except (KeyError, TypeError, ValueError) as error:
            raise InvalidRequest(
                self.name, "its target is none of `fanout schedule add`", "add it again, with --replace"
            ) from error

    def upcoming(self, now: datetime) -> tuple[datetime, ...]:
        """The next times; none while it is disabled, or where its expression is not understood here.

        A start and an end, which another tool may have set, bound them.
        """
        if self.state != ENABLED:
            return ()
        try:
            times = known_times(self.expression, self.time_zone)
        except InvalidRequest:
            return ()
        begin, end = self.document.get("StartDate"), self.document.get("EndDate")
        after = now if begin is None else max(now, begin - timedelta(seconds=1))
        found = times.upcoming(after, begin or self.document["CreationDate"], _SHOWN_TIMES)
        return tuple(time for time in found if end is None or time <= end)

    def with_state(self, state: str) -> dict[str, Any]:
        """The arguments of UpdateSchedule that set the state and leave all else."""
        return {**_kept(self.document), "State": state}


def check_name(name: str) -> None:
    """Raise ``InvalidRequest`` for a name that no schedule can have.

    A run's id is the name, two hyphens and the service's id of the call; Step Functions allows 80 characters.
    """
    if not _NAME.fullmatch(name) or len(name) > NAME_CHARACTERS or "--" in name or name.endswith("-"):
        allowed = (
            f"take 1 to {NAME_CHARACTERS} of A-Z, a-z, 0-9, - and _, a letter or a digit first, no -- and no - last"
        )
        raise InvalidRequest("NAME", f"{name[:80]!r} is no name of a schedule", allowed)


def input_of(arn: str, name: str, request: Any) -> str:
    """The input with which a schedule starts a request: what StartExecution takes.

    Raises ``InvalidRequest`` for a request that is too big, or that holds a sign which the service would replace.
    """
    asked = json.dumps(request, separators=(",", ":"))
    if "<aws.scheduler." in asked:
        problem = "it holds '<aws.scheduler.', where EventBridge Scheduler writes something else"
        raise InvalidRequest("REQUEST.json", problem, "start such a request by hand")
    started = {"StateMachineArn": arn, "Name": scheduled_run_id(name, CALL_ID), "Input": asked}
    found = json.dumps(started, separators=(",", ":"))
    if len(found.encode()) > SCHEDULE_INPUT_BYTES:
        raise InvalidRequest(
            "REQUEST.json",
            f"it makes an input of {len(found.encode()):,} bytes, and a schedule takes {SCHEDULE_INPUT_BYTES:,}",
            "shorten its longest list, or put its entries in a manifest",
        )
    return found


def new_document(
    name: str, group: str, times: ScheduleExpression, window_minutes: int, target: Mapping[str, str], description: str
) -> dict[str, Any]:
    """The arguments of CreateSchedule; ``target`` has the role and the input."""
    # Its partition is that of the role. The call has the name of the run, which the target for state machines lacks.
    partition = target["RoleArn"].split(":")[1]
    return {
        "Name": name,
        "GroupName": group,
        "Description": description,
        "State": ENABLED,
        "ScheduleExpression": times.expression,
        "ScheduleExpressionTimezone": times.zone.key,
        "FlexibleTimeWindow": (
            {"Mode": "FLEXIBLE", "MaximumWindowInMinutes": window_minutes} if window_minutes else {"Mode": "OFF"}
        ),
        "Target": {
            "Arn": f"arn:{partition}:scheduler:::aws-sdk:sfn:startExecution",
            **target,
            "RetryPolicy": _RETRIES,
        },
    }


def _kept(document: Mapping[str, Any]) -> dict[str, Any]:
    return {name: document[name] for name in FIELDS if document.get(name) not in (None, "")}
