"""Walks a state machine in this process, as Step Functions does: for tests, and where no engine is needed.

It knows what statemachine/*.yaml uses of the states language: Task (lambda:invoke), Choice, Wait, Pass, Succeed, Fail,
Parallel, Map inline and distributed, Retry, Catch, and JSONPath. Branches and items come one after the other. What is
not walked: time-outs, the size of data, and the results that a ResultWriter writes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from fanout.flow.paths import NotThere, filled, find, holds, put
from fanout.model.document import Json
from fanout.ports.clock import Clock

FailureOf = Callable[[Exception], "StateFailed | None"]
# What no state catches or retries, whatever it names.
FATAL = ("States.Runtime", "States.DataLimitExceeded")


class StateFailed(Exception):
    """A state failed with an error, as ``Retry`` and ``Catch`` name it, and a cause."""

    def __init__(self, error: str, cause: str = "") -> None:
        super().__init__(f"{error}: {cause}")
        self.error, self.cause = error, cause

    def output(self) -> Json:
        """The data that a Catch hands on."""
        return {"Error": self.error, "Cause": self.cause}


def by_class(error: Exception) -> StateFailed | None:
    """An exception as Lambda reports it: by the name of its class."""
    return StateFailed(
        type(error).__name__, json.dumps({"errorMessage": str(error), "errorType": type(error).__name__})
    )


def never(_error: Exception) -> StateFailed | None:
    """Treats no exception as a state's failure: the caller of ``walk`` gets it."""
    return None


@dataclass(frozen=True)
class Walker:
    """One execution of ``definition``.

    - ``invoke`` calls a function by its name with a payload; ``read`` returns the items of a distributed Map by bucket
      and key; ``clock`` passes the waits.
    - ``failure`` says which exceptions of both are a state's failure; all others go through.
    - ``in_order`` puts the branches of a Parallel in the order in which they come.
    - ``entered`` hears of each state.
    """

    definition: Json
    invoke: Callable[[str, Json], Any]
    read: Callable[[str, str], Any]
    clock: Clock
    execution: Json
    failure: FailureOf = by_class
    in_order: Callable[[Sequence[int]], Sequence[int]] = list
    entered: Callable[[str], None] = field(default=lambda _: None)

    def run(self, given: Any) -> Any:
        """The output of a whole execution. Raises ``StateFailed`` as it ends."""
        return self.walk(self.definition["StartAt"], given)[1]

    def walk(self, name: str, data: Any, stops: Container[str] = ()) -> tuple[str, Any]:
        """Go on from a state of the root until one of ``stops`` or the end: its name, and the data there."""
        return self._flow(self.definition["States"], name, data, {"Execution": self.execution}, stops)

    def _flow(self, states: Json, name: str, data: Any, context: Json, stops: Container[str] = ()) -> tuple[str, Any]:
        while name not in stops:
            state = states[name]
            self.entered(name)
            following, data = self._state(state, data, {**context, "State": _Recorded(name, self.clock)})
            if following is None:
                break
            name = following
        return name, data

    def _state(self, state: Json, data: Any, context: Json) -> tuple[str | None, Any]:
        """The state that follows, ``None`` at an end, and what it is given. Raises ``StateFailed``."""
        kind = state["Type"]
        try:
            if kind == "Choice":
                chosen = (rule["Next"] for rule in state["Choices"] if holds(rule, data, context))
                return next(chosen, state["Default"]), data
            if kind == "Fail":
                error, cause = (_of_fail(word, state, data, context) for word in ("Error", "Cause"))
                raise StateFailed(error, cause)
            if kind == "Wait":
                self._wait(state, data, context)
                return _next(state), data
            if kind == "Succeed":
                return None, data
        except NotThere as error:
            raise StateFailed("States.Runtime", str(error)) from error
        return self._with_retries(state, data, context)

    def _with_retries(self, state: Json, data: Any, context: Json) -> tuple[str | None, Any]:
        tried: dict[int, int] = {}
        while True:
            try:
                return _next(state), self._result(state, data, context)
            except StateFailed as failed:
                if not self._is_retried(state, failed, tried):
                    return _caught(state, failed, data)

    def _is_retried(self, state: Json, failed: StateFailed, tried: dict[int, int]) -> bool:
        """Wait for the next attempt, if the first retrier that names the error has one left."""
        for number, retrier in enumerate(state.get("Retry", ())):
            if _names(retrier["ErrorEquals"], failed.error):
                done = tried[number] = tried.get(number, 0) + 1
                if done > retrier.get("MaxAttempts", 3):
                    return False
                wait = retrier.get("IntervalSeconds", 1) * retrier.get("BackoffRate", 2.0) ** (done - 1)
                self.clock.sleep(min(wait, retrier.get("MaxDelaySeconds", wait)))
                return True
        return False

    def _result(self, state: Json, data: Any, context: Json) -> Any:
        """The data that the state hands on. Raises ``StateFailed``."""
        try:
            given = find(state.get("InputPath", "$"), data, context)
            with_parameters = filled(state["Parameters"], given, context) if "Parameters" in state else given
        except NotThere as error:
            raise StateFailed("States.ParameterPathFailure", str(error)) from error
        result = self._work(state, with_parameters, given, context)
        try:
            if "ResultSelector" in state:
                result = filled(state["ResultSelector"], result, context)
            return find(state.get("OutputPath", "$"), put(state.get("ResultPath", "$"), result, data), context)
        except NotThere as error:
            raise StateFailed("States.ParameterPathFailure", str(error)) from error

    def _work(self, state: Json, parameters: Any, given: Any, context: Json) -> Any:
        kind = state["Type"]
        if kind == "Pass":
            return state.get("Result", parameters)
        if kind == "Task":
            return {"Payload": self._tried(self.invoke, parameters["FunctionName"], _copy(parameters["Payload"]))}
        if kind == "Parallel":
            branches = state["Branches"]
            numbers = self.in_order(range(len(branches)))
            results = {number: self._child(branches[number], given, context) for number in numbers}
            return [results[number] for number in range(len(branches))]
        return self._map(state, given, context)

    def _map(self, state: Json, given: Any, context: Json) -> Any:
        is_distributed = state["ItemProcessor"]["ProcessorConfig"]["Mode"] == "DISTRIBUTED"
        items = self._items(state, given, context)
        results, failed = [], 0
        for index, item in enumerate(items):
            inner = {**context, "Map": {"Item": {"Index": index, "Value": item}}}
            try:
                results.append(self._child(state["ItemProcessor"], filled(state["ItemSelector"], given, inner), inner))
            except StateFailed:
                if not is_distributed:
                    raise
                failed += 1
        if failed * 100 > state.get("ToleratedFailurePercentage", 0) * len(items):
            cause = "the number of failed items is over the tolerated threshold"
            raise StateFailed("States.ExceedToleratedFailureThreshold", cause)
        return results

    def _items(self, state: Json, given: Any, context: Json) -> list[Any]:
        if "ItemReader" not in state:
            found: list[Any] = find(state["ItemsPath"], given, context)
            return found
        place = filled(state["ItemReader"]["Parameters"], given, context)
        try:
            items: list[Any] = self._tried(self.read, place["Bucket"], place["Key"])
        except StateFailed as failed:
            raise StateFailed("States.ItemReaderFailed", failed.cause) from failed
        return items

    def _child(self, flow: Json, given: Any, context: Json) -> Any:
        return self._flow(flow["States"], flow["StartAt"], given, context)[1]

    def _tried(self, call: Callable[..., Any], *arguments: Any) -> Any:
        try:
            return _copy(call(*arguments))
        except StateFailed:
            raise
        except Exception as error:
            failed = self.failure(error)
            if failed is None:
                raise
            raise failed from error

    def _wait(self, state: Json, data: Any, context: Json) -> None:
        if "Seconds" in state:
            seconds = state["Seconds"]
        elif "TimestampPath" in state:
            until = datetime.fromisoformat(find(state["TimestampPath"], data, context)).timestamp()
            seconds = until - self.clock.now()
        else:
            seconds = find(state["SecondsPath"], data, context)
        if seconds > 0:
            self.clock.sleep(seconds)


class _Recorded(dict[str, str]):
    """The state of a context: its name, and the time when it is first asked for one."""

    def __init__(self, name: str, clock: Clock) -> None:
        super().__init__(Name=name)
        self._clock = clock

    def __missing__(self, name: str) -> str:
        if name != "EnteredTime":
            raise KeyError(name)
        self[name] = datetime.fromtimestamp(self._clock.now(), UTC).isoformat()
        return self[name]


def _next(state: Json) -> str | None:
    following: str | None = state.get("Next")
    return following


def _of_fail(word: str, state: Json, data: Any, context: Json) -> str:
    path = state.get(f"{word}Path")
    return str(find(path, data, context) if path else state.get(word, ""))


def _names(errors: Sequence[str], error: str) -> bool:
    """Whether a Retry or Catch names an error."""
    if error in FATAL:
        return False
    return error in errors or "States.ALL" in errors or ("States.TaskFailed" in errors and error != "States.Timeout")


def _caught(state: Json, failed: StateFailed, data: Any) -> tuple[str, Any]:
    for catcher in state.get("Catch", ()):
        if _names(catcher["ErrorEquals"], failed.error):
            return catcher["Next"], put(catcher.get("ResultPath", "$"), failed.output(), data)
    raise failed


def _copy(value: Any) -> Any:
    """A value as JSON carries it, so that no two states share it."""
    return json.loads(json.dumps(value))
