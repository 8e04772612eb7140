"""An open directory of ``Directories``."""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Callable
from types import TracebackType

_NOT_ASKED = -1  # no group has this number


class HeldDirectory:
    """A directory that stays open while ``with`` holds it; several may. No generator: each file enters some.

    ``asked_at`` is when the server was last asked for it and, before, for those above it (``time.monotonic``). One that
    is opened by its name is as old as the one above, of which the client may know that name. See ``looks``.
    ``is_noted``: ``Directories.on_placing`` knows it, and those above it; ``noting`` is held meanwhile.
    """

    __slots__ = (
        "_group",
        "_inode",
        "_release",
        "asked_at",
        "asking",
        "descriptor",
        "is_kept",
        "is_noted",
        "is_opened",
        "noting",
        "users",
    )

    def __init__(
        self, descriptor: int, release: Callable[[HeldDirectory], None], *, is_opened: bool, asked_at: float
    ) -> None:
        self.descriptor = descriptor
        self.asked_at = asked_at
        self.asking, self.noting = threading.Lock(), threading.Lock()
        self.users = 0
        self.is_kept = True
        self.is_noted = False
        self.is_opened = is_opened
        self._release = release
        self._group: int | None = _NOT_ASKED
        self._inode = 0

    @property
    def inode(self) -> int:
        """The number of its inode. Asked for once."""
        self._inode = self._inode or os.fstat(self.descriptor).st_ino
        return self._inode

    @property
    def group(self) -> int | None:
        """The group that files made here get if the directory is set-group-id, else ``None``. Asked for once."""
        if self._group == _NOT_ASKED:
            found = os.fstat(self.descriptor)
            self._group = found.st_gid if found.st_mode & stat.S_ISGID else None
        return self._group

    def __enter__(self) -> int:
        return self.descriptor

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._release(self)

    def let_go(self) -> None:
        """End what ``hold`` began, for those that hold it longer than a ``with``."""
        self._release(self)
