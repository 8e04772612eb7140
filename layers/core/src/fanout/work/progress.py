"""Shows that a task makes progress, and decides whether it has stalled: one rule for all that may hang.

Whatever ends a step of its own calls ``moved``: bytes on a connection, an operation of a file system, a message of
another process, a bounded wait that the request asks for. A task that shows nothing for longer than its slowest step
may take (``tuning.SILENT_STEPS``) has stalled. Who waits for a thread of the same task needs no timeout: the silence of
that thread shows here. Who waits for a process gives up by itself (``Patience``), and is heard by no lock of it.
"""

from __future__ import annotations

import mmap
from collections.abc import Callable

NETWORK, FILES, MESSAGES, PAUSES = range(4)
_WORDS = ("a connection", "a file system", "another process of the function", "a pause for the limits of the run")

# Anonymous memory that every process shares which is forked after this import. Two writers at once may count as one;
# only whether it changed is ever asked.
_counts = mmap.mmap(-1, len(_WORDS))


def moved(what: int) -> None:
    """Show that a step has ended, or that bytes have come."""
    _counts[what] = (_counts[what] + 1) & 255


def shown() -> bytes:
    """The counts until now: they differ where anything moved in between."""
    return _counts[:]


class Patience:
    """Counts the seconds in which a task showed nothing. ``last`` says in words what moved last.

    Seconds are those of the looks, not of a clock: a process that was frozen has had one look, however long it took.
    Of seconds in which the processor worked for the task, or was wanted by it, only ``BUSY_SHARE`` count.
    """

    BUSY_SHARE = 0.25

    def __init__(self, most_seconds: float, shown: Callable[[], bytes] = shown) -> None:
        self._most, self._shown = most_seconds, shown
        self._before = shown()
        self.seconds = 0.0
        self.last = "nothing yet"

    def look(self, seconds: float, busy_seconds: float = 0.0) -> bool:
        """Whether the task has stalled, so many seconds after the last look, of which it was busy for some."""
        now = self._shown()
        if now != self._before:
            changed = [said for said, here, before in zip(_WORDS, now, self._before, strict=False) if here != before]
            self.last = changed[0] if changed else _WORDS[FILES]  # what a caller shows besides: see runtime.watch
            self._before, self.seconds = now, 0.0
            return False
        self.seconds += seconds - min(seconds, busy_seconds) * (1 - self.BUSY_SHARE)
        return self.seconds > self._most
