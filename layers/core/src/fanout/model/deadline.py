"""A deadline: the moment at which work stops beginning anything new."""

from __future__ import annotations

import math
from collections.abc import Callable

from msgspec import Struct


class Deadline(Struct, frozen=True):
    """A moment ``at`` of the clock that ``now`` reads, in seconds since 1970."""

    now: Callable[[], float]
    at: float

    @property
    def passed(self) -> bool:
        """Whether the time is up."""
        return self.now() > self.at


def _no_clock() -> float:
    return 0.0


NEVER = Deadline(_no_clock, math.inf)
PASSED = Deadline(_no_clock, -math.inf)
