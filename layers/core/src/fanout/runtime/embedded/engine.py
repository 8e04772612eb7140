"""Carries a run out in this process: it walks the committed state machine, and each state's use case works here.

| on AWS                          | here                                                                            |
|---------------------------------|---------------------------------------------------------------------------------|
| Step Functions                  | ``flow.walker`` over ``flow/embedded.json``: retries, catches and waits as there  |
| a function                      | this process; the items of a Map come one after the other                       |
| the short way of a small run    | not gone: it saves functions, and there are none                                |
| ``PaceCopy``, next to the Map   | answers that all is done: nothing here has a concurrency to pace                |
| a run that waits for its turn   | asks again as soon as the run that it waits for has ended                       |
| a task that hangs               | ``runtime.watch`` ends it by name, or this process                              |
| the end of the process          | the end of the execution: a later run fences it                                 |
"""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from fanout import flow
from fanout.adapters.directory.executions import execution_of
from fanout.flow.calls import StackSettings
from fanout.flow.events import check_event
from fanout.flow.short_way import PACING, unpaced
from fanout.flow.steps import STEPS, run_step
from fanout.flow.walker import StateFailed, Walker, by_class
from fanout.model.document import Json, json_value
from fanout.model.errors import DestinationBusy
from fanout.runtime.embedded.parts import Parts
from fanout.runtime.watch import watched

DEFINITION = Path(flow.__file__).with_name("embedded.json")
# Chosen: how soon a run that waits sees that the run before it has ended.
_LOOK_SECONDS = 0.5


class Ended(NamedTuple):
    """The end of an execution, as Step Functions describes it."""

    status: str
    error: str = ""
    cause: str = ""


@cache
def definition() -> Json:
    """The machine of a transfer, as ``make docs`` writes it into the package."""
    found: Json = json.loads(DEFINITION.read_text(encoding="utf-8"))
    return found


class Engine:
    """Carries out runs, one after the other.

    ``entered`` hears of each state; ``failed`` of each error of a task, before the machine retries or catches it.
    """

    def __init__(
        self,
        parts: Parts,
        entered: Callable[[str], None] = lambda _: None,
        failed: Callable[[str, Exception], None] = lambda _, __: None,
    ) -> None:
        self._parts, self._entered, self._failed = parts, entered, failed
        self._holder = self._at = ""
        self._stack = StackSettings(tuple(parts.facts.mounts), 1, parts.bucket)

    def run(self, run_id: str, request: Any) -> Ended:
        """A run from its request to its end. Raises ``InvalidRequest`` while another process carries it out."""
        execution = {"Id": execution_of(run_id), "Name": run_id}
        with self._parts.executions.hold(run_id, request):
            walker = Walker(
                definition(), self._invoke, self._items, self, execution, self._failure, entered=self._enter
            )
            try:
                walker.run(request)
            except StateFailed as failed:
                return Ended("FAILED", failed.error, failed.cause)
            return Ended("SUCCEEDED")

    def now(self) -> float:
        """Seconds since 1970."""
        return self._parts.clock.now()

    def sleep(self, seconds: float) -> None:
        """Wait; a run that waits for another one no longer than that is at work."""
        holder, self._holder = self._holder, ""
        until = self.now() + seconds
        while (left := until - self.now()) > 0:
            if holder and not self._parts.executions.running(execution_of(holder)):
                return
            self._parts.clock.sleep(min(left, _LOOK_SECONDS) if holder else left)

    def _enter(self, state: str) -> None:
        self._at = state
        self._entered(state)

    def _failure(self, error: Exception) -> StateFailed | None:
        self._holder = error.holder if isinstance(error, DestinationBusy) else ""
        self._failed(self._at, error)
        return by_class(error)

    def _items(self, _bucket: str, key: str) -> Any:
        return json_value(self._parts.store.get(key))

    def _invoke(self, _function: str, event: Json) -> Any:
        """The answer of a state's task."""
        name = check_event(event)
        if name in PACING:
            return unpaced(event)
        step = STEPS[name]
        run_id, prefix, sealed = step.place_of(event)
        self._parts.executions.enter(run_id, name, event.get("state"))
        state = step.acts_as or name
        context = self._parts.context(run_id, prefix, state, sealed, step.seals)
        try:
            with watched(_Invocation(self._parts.facts.function.seconds), {"state": state, "run_id": run_id}):
                answer = step.answers(event, run_step(step, event, context, self._stack))
        finally:
            context.ends.release()
            context.limiter.end()
        if name == "PlanTransfer":
            answer.get("run", {}).pop("short", None)
        return answer


class _Invocation:
    """The context of Lambda, as far as a watch asks for it."""

    def __init__(self, seconds: float) -> None:
        self.aws_request_id = secrets.token_hex(4)
        self._until = time.monotonic() + seconds

    def get_remaining_time_in_millis(self) -> int:
        """The milliseconds that are left."""
        return int((self._until - time.monotonic()) * 1000)
