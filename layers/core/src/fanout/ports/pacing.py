"""The port of Step Functions that pacing needs."""

from __future__ import annotations

from typing import Protocol

from fanout.ports.map_run import MapRun


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
