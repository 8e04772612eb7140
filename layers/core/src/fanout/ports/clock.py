"""The port of time."""

from __future__ import annotations

from typing import Protocol


class Clock(Protocol):
    """Time, injected."""

    def now(self) -> float:
        """Seconds since 1970."""

    def sleep(self, seconds: float) -> None:
        """Wait."""
