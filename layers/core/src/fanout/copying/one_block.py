"""One block from a source to a target: whole, or in pieces as they come."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import closing

from fanout.model.checksum import crc64nvme
from fanout.model.errors import ItemError
from fanout.model.outcome import Reason
from fanout.ports.tree import Source


def copy_block(
    source: Source, offset: int, length: int, checksum: int, write: Callable[[int, bytes, int], object], *, pieces: bool
) -> int:
    """Hand the bytes from ``offset`` on to ``write``, each with its offset and the checksum up to its end.

    Returns the checksum of what ``checksum`` covers and the block. Raises ``ItemError`` for a source that is shorter.
    """
    at = offset
    with closing(source.stream(offset, length) if pieces else _whole(source, offset, length)) as data:
        for piece in data:
            checksum = crc64nvme(piece, checksum)
            write(at, piece, checksum)
            at += len(piece)
    if at != offset + length:
        raise _shorter()
    return checksum


def _whole(source: Source, offset: int, length: int) -> Generator[bytes]:
    data = source.read(offset, length)
    if len(data) != length:
        raise _shorter()
    yield data


def _shorter() -> ItemError:
    return ItemError(Reason.SOURCE_CHANGED, "the entry ends before its listed size")
