"""How far the Map of a run is, asked so seldom that others can ask too."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from fanout_cli.command_error import code_of

# docs.aws.amazon.com/step-functions/latest/dg/service-quotas.html: DescribeMapRun refills at 1/s for a whole account.
ASK_SECONDS = 5.0
ASK_SECONDS_MAX = 60.0
_THROTTLED = ("ThrottlingException", "Throttling", "TooManyRequestsException", "RequestLimitExceeded")


@dataclass(frozen=True, slots=True)
class MapCounts:
    """A Map's label (its state), and how many of its items are done, failed and being worked on."""

    label: str
    total: int
    done: int
    failed: int
    running: int


class NewestMap:
    """The newest Map of an execution; one request in ``ASK_SECONDS``, fewer when the service asks for that."""

    def __init__(self, stepfunctions: Any, execution_arn: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._stepfunctions, self._execution_arn, self._clock = stepfunctions, execution_arn, clock
        self._ask_seconds = ASK_SECONDS
        self._asked_at = float("-inf")
        self._known: MapCounts | None = None

    def look(self) -> MapCounts | None:
        """The known counts; asks first if it is time to. An answer that does not come changes nothing."""
        from botocore.exceptions import BotoCoreError, ClientError

        if self._clock() - self._asked_at < self._ask_seconds:
            return self._known
        self._asked_at = self._clock()
        try:
            self._ask()
            self._ask_seconds = ASK_SECONDS
        except ClientError as error:
            if code_of(error) in _THROTTLED:
                self._ask_seconds = min(2 * self._ask_seconds, ASK_SECONDS_MAX)
        except BotoCoreError:
            self._ask_seconds = min(2 * self._ask_seconds, ASK_SECONDS_MAX)
        return self._known

    def _ask(self) -> None:
        found = self._stepfunctions.list_map_runs(executionArn=self._execution_arn, maxResults=100)["mapRuns"]
        if not found:
            return
        arn = max(found, key=lambda one: one["startDate"])["mapRunArn"]
        counts = self._stepfunctions.describe_map_run(mapRunArn=arn)["itemCounts"]
        self._known = MapCounts(
            label_of(arn),
            counts["total"],
            counts["succeeded"] + counts["failed"] + counts["timedOut"] + counts["aborted"],
            counts["failed"] + counts["timedOut"] + counts["aborted"],
            counts["running"],
        )


def label_of(map_run_arn: str) -> str:
    """The Map's label in ``arn:...:mapRun:<state machine>/<label>:<id>``."""
    return map_run_arn.rpartition("/")[2].partition(":")[0]
