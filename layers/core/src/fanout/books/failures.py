"""Failures by class: what went wrong, how often, and the first entries of each."""

from __future__ import annotations

from msgspec import Struct, field

from fanout.model.entry_outcome import Outcome
from fanout.model.outcome import Result

# Rows that a class shows, and all classes together; failures.jsonl holds every one.
SHOWN_OF_A_CLASS = 25
SHOWN_IN_ALL = 200


class Failure(Struct, frozen=True):
    """A row of failures.jsonl: what is wrong with an entry and what to do about it."""

    path: str
    outcome: Result
    phase: str
    size: int
    reason: str
    message: str
    remedy: str


def failure_of(outcome: Outcome, phase: str) -> Failure:
    """The row of an outcome that was found in that phase."""
    reason = outcome.reason
    why, remedy = ("", "") if reason is None else (reason.value, reason.remedy)
    return Failure(outcome.path, outcome.result, phase, outcome.size, why, outcome.message, remedy)


class FailureClass(Struct):
    """Failures of one outcome and reason in one phase, counted."""

    phase: str
    outcome: Result
    reason: str
    entries: int
    bytes: int
    remedy: str


class FailureClasses(Struct):
    """Counts failures by class, in memory that the closed list of reasons bounds."""

    _classes: dict[tuple[str, Result, str], tuple[FailureClass, list[Failure]]] = field(default_factory=dict)
    _shown: int = 0

    def add(self, failure: Failure) -> None:
        key = (failure.phase, failure.outcome, failure.reason)
        if key not in self._classes:
            self._classes[key] = FailureClass(*key, 0, 0, failure.remedy), []
        known, shown = self._classes[key]
        known.entries += 1
        known.bytes += failure.size
        if len(shown) < SHOWN_OF_A_CLASS and (self._shown < SHOWN_IN_ALL or not shown):
            shown.append(failure)
            self._shown += 1

    def most_first(self) -> list[tuple[FailureClass, list[Failure]]]:
        """The classes, that of the most entries first, each with its first failures."""
        return sorted(
            self._classes.values(), key=lambda one: (-one[0].entries, one[0].phase, one[0].outcome, one[0].reason)
        )
