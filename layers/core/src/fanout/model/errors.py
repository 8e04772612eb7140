"""The closed list of errors.

A task error ends or repeats a whole task: the name of its class is the Step
Functions error name and says what to do. An ``ItemError`` is about one entry
and becomes an outcome row, never a failed task.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec import Struct

from fanout.model.document import json_value
from fanout.model.outcome import Reason


class FanoutError(Exception):
    """Base of the task errors."""


class InvalidRequest(FanoutError):
    """The request cannot be carried out as it is; never retried.

    The message names the field, what is wrong with it, and what is allowed.
    """

    def __init__(self, field: str, problem: str, allowed: str) -> None:
        super().__init__(f"{field}: {problem}; {allowed}" if allowed else f"{field}: {problem}")
        self.field, self.problem, self.allowed = field, problem, allowed

    def of_field(self, field: str) -> InvalidRequest:
        """The same about another field: an adapter that names a bucket does not know which field named it."""
        return InvalidRequest(field, self.problem, self.allowed)


class AccessDenied(FanoutError):
    """A permission is missing; never retried. The message ends with the remedy.

    ``place`` is a directory of the target. ``denied`` is the permission and its resource, where the service says them.
    """

    def __init__(
        self, operation: str, target: str, remedy: str, *, place: str = "", denied: tuple[str, str] | None = None
    ) -> None:
        self.denied = denied
        where = f"in {place} at {target}" if place else f"on {target}"
        super().__init__(f"{operation} {where} is not permitted; {remedy}")


class Held(AccessDenied):
    """An object cannot be read before it is brought back from where it lies; always about one entry."""


class CustomerKey(AccessDenied):
    """An object is encrypted with a key of its customer (SSE-C), which no request can name; always about one entry."""


class Throttled(FanoutError):
    """A service asks for fewer requests; retried with back-off and full jitter."""


class Transient(FanoutError):
    """A failure that may pass by itself (time-out, reset, 5xx, EIO); retried."""


class Stalled(FanoutError):
    """A task showed no progress for longer than its slowest step may take; retried as a function that was lost is.

    ``last`` says what moved last.
    """

    def __init__(self, task: str, seconds: float, last: str) -> None:
        found = f"{task} showed no progress for {seconds:.0f} s; what moved last: {last}"
        way_on = "it is tried again; if it stalls each time, see which end does not answer"
        super().__init__(f"{found}; {way_on}")


class Unreachable(FanoutError):
    """A service does not answer from where the function runs; never retried. The message ends with the remedy."""


class NotFound(FanoutError):
    """An object, bucket or file that was named does not exist; the caller decides what it means.

    ``code`` is the store's own word for what is missing, if it has one.
    """

    def __init__(self, message: str, code: str = "") -> None:
        super().__init__(message)
        self.code = code


class PreconditionFailed(FanoutError):
    """A condition of a request (If-Match, If-None-Match) did not hold; the caller decides."""


class LedgerBroken(FanoutError):
    """The ledger lacks or contradicts something that an earlier state must have written; never retried."""


class DeleteRefused(FanoutError):
    """A sync or a move would delete more than it may; nothing was deleted, nor by a sync copied. Never retried."""


class DestinationBusy(FanoutError):
    """Another run that writes to the same tree has to end first; the state is retried for about a day.

    ``holder`` is that run, in a ``mode``; ``held`` is what it writes: the destination, or what lies above or in it.
    ``field`` is the end of the request that is meant: of a move it may be the source.
    """

    def __init__(self, end: str, run_id: str, mode: str, held: str = "", field: str = "destination") -> None:
        self.holder, self.mode, self.held = run_id, mode, held or end
        problem = f"the run {run_id} (mode {mode}) writes there, and it is another transfer than this one"
        super().__init__(f"{field}: {end} is in use: {problem}; start again when it has ended, or stop it")


class Superseded(FanoutError):
    """A later run has taken the right to write from this one, which writes nothing more. Never retried."""

    def __init__(self, run_id: str, what: str = "") -> None:
        """``what`` happened, where it is known: a place of the run is another's, so no attempt can go on."""
        self.swapped = bool(what)
        who = what or "a later run that writes there, or somebody, removed its staging directory"
        super().__init__(f"the run {run_id} writes nothing more: {who}")


class OutOfTime(FanoutError):
    """The run has used the time that its request gives it; what is done stays. Never retried.

    The summary says how to go on.
    """

    def __init__(self, max_seconds: float) -> None:
        super().__init__(f"limits.max_seconds: the run stops after {max_seconds:g} s")


class BudgetRefused(FanoutError):
    """The forecast is over the dollars that the request gives; nothing was copied or deleted. Never retried."""

    def __init__(self, forecast: float, max_dollars: float) -> None:
        problem = f"the forecast is {_dollars(forecast)}, over the limit of {_dollars(max_dollars)}"
        way_on = "raise it, or take fewer entries (include, exclude, modified_after), and start the request again"
        super().__init__(f"limits.max_dollars: {problem}; nothing was copied or deleted; {way_on}")


class FinishRefused(FanoutError):
    """No plan of the run ends by ``limits.finish_by``; nothing was copied or deleted. Never retried.

    ``nearest`` is what can be typed instead.
    """

    def __init__(self, finish_by: str, problem: str, nearest: str) -> None:
        way_on = f"nothing was copied or deleted; the nearest that a plan reaches is limits.finish_by={nearest!r}"
        super().__init__(f"limits.finish_by: {finish_by!r} is not reached: {problem}; {way_on}")


class OutOfBudget(FanoutError):
    """The run has spent the dollars that its request gives it; what is done stays. Never retried.

    The summary says how to go on.
    """

    def __init__(self, spent: float, max_dollars: float) -> None:
        problem = f"the run has spent {_dollars(spent)} of {_dollars(max_dollars)}, as counted from its ledger"
        super().__init__(f"limits.max_dollars: {problem}, and stops")


def _dollars(value: float) -> str:
    return f"${value:,.2f}" if value >= 1 else f"${value:.4f}"


class ListingIncomplete(FanoutError):
    """A part of a tree could not be listed; the run must not go on as if it were empty."""


TASK_ERRORS: tuple[type[FanoutError], ...] = (
    InvalidRequest,
    AccessDenied,
    Throttled,
    Transient,
    Stalled,
    Unreachable,
    NotFound,
    PreconditionFailed,
    LedgerBroken,
    ListingIncomplete,
    DeleteRefused,
    DestinationBusy,
    Superseded,
    OutOfTime,
    BudgetRefused,
    FinishRefused,
    OutOfBudget,
)


class TimeUp(Exception):
    """The time is up in the middle of an entry; it is left for the tail."""


class ItemError(Exception):
    """A problem with one entry; it becomes the entry's outcome."""

    def __init__(self, reason: Reason, message: str) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message


def problem_of(error: Exception) -> ItemError:
    """Turns an exception into a problem of the entry at work, so that no exception of an entry fails its shard.

    Raises what is about the whole task: no time or memory left, and the task errors but those that a store gives
    about one entry.
    """
    if isinstance(error, ItemError):
        return error
    message = f"{type(error).__name__}: {error}"
    if isinstance(error, Throttled | Transient | NotFound):
        return ItemError(Reason.TRANSIENT, message)
    if isinstance(error, FanoutError | TimeUp | MemoryError):
        raise error
    return ItemError(Reason.TRANSIENT if isinstance(error, OSError) else Reason.UNEXPECTED, message)


INFRASTRUCTURE = "Infrastructure"
_OWN_NAMES = frozenset(error.__name__ for error in TASK_ERRORS)


class RunError(Struct, frozen=True):
    """A name of the closed list (``TASK_ERRORS`` and ``Infrastructure``), and what it says."""

    name: str
    message: str


def run_error(caught: dict[str, Any]) -> RunError:
    """The error of ``{"Error": ..., "Cause": ...}``.

    Names of services (``States.*``, ``Lambda.*``) become ``Infrastructure``: a Fail state
    cannot end with a reserved one. The message keeps them.
    """
    name, message = str(caught.get("Error", "unknown")), cause_message(str(caught.get("Cause", "")))
    if name in _OWN_NAMES:
        return RunError(name, message)
    return RunError(INFRASTRUCTURE, f"{name}: {message}" if message else name)


def cause_message(cause: str) -> str:
    """The message inside the cause of a Lambda error (a JSON object), or the cause itself."""
    before, brace, rest = cause.partition("{")
    try:
        document = json_value(brace + rest)
    except ValueError:
        return cause
    if isinstance(document, dict) and "errorMessage" in document:
        return f"{before}{document['errorMessage']}"
    return cause


def meant(typed: str, known: Iterable[str]) -> str:
    """The known name that is closest to what was typed; empty where none is close."""
    from difflib import get_close_matches  # for the few requests that name what there is not

    return next(iter(get_close_matches(typed, list(known), 1)), "")


def did_you_mean(*names: str) -> str:
    """The question whether names that there are may be meant, with a space behind it; empty without a name."""
    said = ", ".join(name for name in names if name)
    return f"did you mean {said}? " if said else ""
