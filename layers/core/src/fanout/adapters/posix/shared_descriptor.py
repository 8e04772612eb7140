"""A descriptor that several threads write through."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class _Opened:
    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self.users = 0


class SharedDescriptor:
    """A descriptor that several threads write through. The first that uses it after ``close`` opens it.

    No lock is held while others write.
    """

    def __init__(self, open_file: Callable[[], int]) -> None:
        self._open_file = open_file
        self._changed = threading.Condition()
        self._opened: _Opened | None = None

    @contextmanager
    def use(self) -> Iterator[int]:
        """The descriptor, which stays open meanwhile. Raises ``OSError`` of opening it."""
        with self._changed:
            if self._opened is None:
                self._opened = _Opened(self._open_file())
            opened = self._opened
            opened.users += 1
        try:
            yield opened.descriptor
        finally:
            with self._changed:
                opened.users -= 1
                self._changed.notify_all()

    def close(self) -> None:
        """Close it when those that use it now have done so. Raises ``OSError``, which is that of their writes."""
        with self._changed:
            opened, self._opened = self._opened, None
            if opened is None:
                return
            while opened.users:
                self._changed.wait()
        os.close(opened.descriptor)
