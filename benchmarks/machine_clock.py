"""The machine's clock, for steps that a benchmark runs."""

from __future__ import annotations

import time


class MachineClock:
    """See ``fanout.ports.Clock``."""

    def now(self) -> float:
        """See ``fanout.ports.Clock``."""
        return time.time()

    def sleep(self, seconds: float) -> None:
        """See ``fanout.ports.Clock``."""
        time.sleep(seconds)
