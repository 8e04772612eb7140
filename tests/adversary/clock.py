"""One time for file systems and S3 that can be told to pass.

Nobody can set a ctime, and nobody wants to wait: the adversary maps the kernel's time to its own, in which seconds
pass when the script says so. What looks at files through ``failing_files`` sees that time.
"""

from __future__ import annotations

import time
from bisect import bisect_right

BEGIN_SECONDS = 1_800_000_000
_NS = 1_000_000_000
# A file's time comes from a clock of the kernel's that ticks every 1 to 10 ms.
_TICK_SECONDS = 0.011


class LabClock:
    """The script's time; also a ``ports.tree.Clock``."""

    def __init__(self) -> None:
        began = time.time_ns()
        self._from = [0, began]
        self._offsets = [BEGIN_SECONDS * _NS - began] * 2
        time.sleep(_TICK_SECONDS)

    def virtual_ns(self, real_ns: int) -> int:
        """The script's time of a kernel's."""
        return real_ns + self._offsets[bisect_right(self._from, real_ns) - 1]

    def now_ns(self) -> int:
        """The script's time."""
        return self.virtual_ns(time.time_ns())

    def now(self) -> float:
        """See ``ports.tree.Clock``."""
        return self.now_ns() / _NS

    def sleep(self, seconds: float) -> None:
        """See ``ports.tree.Clock``; nothing waits."""
        if seconds > 0:
            self.wait(seconds)

    def wait(self, seconds: float) -> None:
        """Let time pass."""
        self._from.append(time.time_ns())
        self._offsets.append(self._offsets[-1] + int(seconds * _NS))
        time.sleep(_TICK_SECONDS)
