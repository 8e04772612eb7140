"""Failures by class: what went wrong, how often, and the first entries of each."""

from __future__ import annotations

from msgspec import Struct, field

from fanout.model.document import Json

# Rows that a class shows, and all classes together; failures.jsonl holds every one.
SHOWN_OF_A_CLASS = 25
SHOWN_IN_ALL = 200


class FailureClass(Struct):
    """Failures of one outcome and reason in one phase; ``shown`` are the first rows of failures.jsonl."""

    outcome: str
    reason: str
    phase: str
    remedy: str
    entries: int = 0
    bytes: int = 0
    shown: list[Json] = field(default_factory=list)

    def row(self) -> Json:
        """A row of summary.json."""
        return {
            "phase": self.phase,
            "outcome": self.outcome,
            "reason": self.reason,
            "entries": self.entries,
            "bytes": self.bytes,
            "remedy": self.remedy,
        }


class FailureClasses(Struct):
    """Counts rows of failures.jsonl by class, in memory that the closed list of reasons bounds."""

    _classes: dict[tuple[str, str, str], FailureClass] = field(default_factory=dict)
    _shown: int = 0

    def add(self, row: Json) -> None:
        """Count a row."""
        key = (row["phase"], row["outcome"], row["reason"])
        known = self._classes.get(key)
        if known is None:
            known = FailureClass(row["outcome"], row["reason"], row["phase"], row["remedy"])
            self._classes[key] = known
        known.entries += 1
        known.bytes += row["size"]
        if len(known.shown) < SHOWN_OF_A_CLASS and (self._shown < SHOWN_IN_ALL or not known.shown):
            known.shown.append(row)
            self._shown += 1

    def most_first(self) -> list[FailureClass]:
        """The classes, that of the most entries first."""
        return sorted(self._classes.values(), key=lambda one: (-one.entries, one.phase, one.outcome, one.reason))
