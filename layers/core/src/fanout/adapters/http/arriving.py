"""Bodies on their way: a large one received into one buffer, or taken in pieces while it arrives."""

from __future__ import annotations

from collections.abc import Callable, Generator
from io import BytesIO
from queue import SimpleQueue

from fanout.facts.units import MIB

# Chosen: what is handed over at once. It is still in the processor's cache then, and NFS writes as much in one request.
PIECE_BYTES = MIB


def room_for(length: int) -> BytesIO:
    """A buffer that holds so many bytes before it grows; what ``getvalue`` returns is not copied."""
    buffer = BytesIO()
    buffer.seek(length - 1)
    buffer.write(b"\0")
    buffer.seek(0)
    return buffer


class Arriving:
    """The body of one response: libcurl's thread adds what comes, the thread that asked takes it in pieces.

    A piece ends where its place in the object is a multiple of ``PIECE_BYTES``. What is not taken yet is held: the
    size that was asked for bounds it.
    """

    def __init__(self, place: int) -> None:
        """``place`` is that of the body's first byte in its object."""
        self._room = PIECE_BYTES - place % PIECE_BYTES
        self._held: list[bytes] = []
        self._pieces: SimpleQueue[list[bytes]] = SimpleQueue()
        self._left: list[bytes] = []
        self._is_over = False
        self.taken_bytes = 0

    def add(self, data: bytes) -> None:
        """Note what came."""
        if len(data) < self._room:
            self._held.append(data)
            self._room -= len(data)
            return
        self._held.append(data[: self._room])
        self._pieces.put(self._held)
        rest = data[self._room :]
        self._held, self._room = [], PIECE_BYTES
        if rest:
            self.add(rest)

    def end(self) -> None:
        """Note that no more comes."""
        self._pieces.put(self._held)
        self._pieces.put([])

    def take(self, holds: Callable[[], bool]) -> Generator[bytes]:
        """The pieces as they come, to the last, if ``holds`` once the first is there; else none."""
        pieces = self._next()
        if not pieces or not holds():
            self._left = pieces
            return
        while pieces:
            piece = b"".join(pieces)
            pieces = []
            self.taken_bytes += len(piece)
            yield piece
            pieces = self._next()

    def left(self) -> bytes:
        """The rest of the body, which has ended."""
        while not self._is_over:
            self._left += self._next()
        return b"".join(self._left)

    def _next(self) -> list[bytes]:
        pieces = self._pieces.get()
        self._is_over = not pieces
        return pieces
