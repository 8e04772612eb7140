"""The port of Step Functions that pacing needs."""

from __future__ import annotations

from typing import Protocol

from msgspec import Struct


class MapRun(Struct, frozen=True):
    """A Map and how far it is, in items. ``max_concurrency`` is 0 where it has none."""

    arn: str
    status: str
    max_concurrency: int
    total: int
    waiting: int
    running: int

    @property
    def ended(self) -> bool:
        """Whether the Map has ended, successfully or not."""
        return self.status != "RUNNING"

    @property
    def share_left(self) -> float:
        """The share of the items that are not through, those at work counted whole."""
        return (self.waiting + self.running) / self.total if self.total else 1.0


class Account(Protocol):
    """The account that the functions run in."""

    def unreserved_concurrency(self) -> int:
        """How many functions without a reservation Lambda lets run at once."""


class MapRuns(Protocol):
    """The Distributed Maps of an execution. Raises the errors of ``fanout.model.errors``."""

    def find(self, execution_arn: str, label: str) -> MapRun | None:
        """The newest Map of this label, ``None`` while there is none."""

    def move(self, map_run_arn: str, max_concurrency: int) -> None:
        """Set how many of its items are worked on at once; those at work go on."""
