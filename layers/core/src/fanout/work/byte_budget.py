"""A bound on the bytes that all threads of a function hold at once."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class ByteBudget:
    """Bounds the bytes of blocks that all threads hold at once.

    Blocks up to ``tuning.BLOCK_BYTES_FREE`` need not take: all threads together hold few bytes
    of them, and taking costs more than copying them.
    """

    def __init__(self, total_bytes: int) -> None:
        self._free = total_bytes
        self._total = total_bytes
        self._changed = threading.Condition()

    @contextmanager
    def take(self, wanted_bytes: int) -> Iterator[None]:
        """Wait until so many bytes are free, or all of them if fewer exist."""
        taken = min(wanted_bytes, self._total)
        with self._changed:
            while self._free < taken:
                self._changed.wait()
            self._free -= taken
        try:
            yield
        finally:
            with self._changed:
                self._free += taken
                self._changed.notify_all()
