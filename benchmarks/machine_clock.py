"""The machine's clock, for steps that a benchmark runs."""

from __future__ import annotations

import time


class MachineClock:
    """See ``ports.tree.Clock``."""

    def now(self) -> float:
        """See ``ports.tree.Clock``."""
        return time.time()

    def sleep(self, seconds: float) -> None:
        """See ``ports.tree.Clock``."""
        time.sleep(seconds)
