"""A gate that threads wait at, of this process and of those forked from it."""

from __future__ import annotations

import os
import select

from fanout.model.errors import TimeUp

# Chosen: how often a process that waits looks whether its parent is there.
_LOOK_MILLISECONDS = 1_000


class Gate:
    """Closed until ``open``; made before the processes are forked that wait at it, and closed for good after them."""

    def __init__(self) -> None:
        self._reading, self._writing = os.pipe()  # what is written to it is never read, so that all see it
        self._maker = os.getpid()
        self._is_open = False

    def open(self) -> None:
        """Let everybody pass from now on."""
        os.write(self._writing, b"\0")

    def wait(self) -> None:
        """Wait until it is open. Raises ``TimeUp`` in a process whose parent has gone."""
        if self._is_open:
            return
        poll = select.poll()
        poll.register(self._reading, select.POLLIN)
        while not poll.poll(_LOOK_MILLISECONDS):
            if self._maker not in (os.getpid(), os.getppid()):
                raise TimeUp
        self._is_open = True

    def close(self) -> None:
        """Give its pipe back."""
        os.close(self._reading)
        os.close(self._writing)
