"""The table of cases: which part of a reason's remedy each follows, and between which ends."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from fanout.model.outcome import Reason
from tests.remedies.lab import Lab

Follow = Callable[[Lab], None]


@dataclass(frozen=True)
class Case:
    """One part of a remedy, and what follows it."""

    reason: Reason
    part: str
    source: str
    destination: str
    follow: Follow

    @property
    def name(self) -> str:
        """The case in the names of tests."""
        return f"{self.reason.name}-{self.follow.__name__}"


CASES: list[Case] = []


def parts(remedy: str) -> list[str]:
    """The parts of a remedy, each of which helps by itself."""
    return remedy.split("; or ")


def follows(reason: Reason, part: int = 0, ends: str = "mount mount") -> Callable[[Follow], Follow]:
    """Decorates a case: it follows the part of that number of the reason's remedy, from one kind of end to another."""
    source, destination = ends.split()

    def add(follow: Follow) -> Follow:
        CASES.append(Case(reason, parts(reason.remedy)[part], source, destination, follow))
        return follow

    return add
