"""A Distributed Map that runs."""

from __future__ import annotations

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
