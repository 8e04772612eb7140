"""The ports of what copies whole entries without blocks passing through the use case."""

from __future__ import annotations

from typing import Protocol

from fanout.model.deadline import Deadline
from fanout.model.entry import Entry


class EntryCopier(Protocol):
    """Copies entries between two trees of one store, which moves the bytes itself."""

    def copy(self, entry: Entry, deadline: Deadline) -> str | None:
        """Copy the entry, pinned to what was listed, with all its attributes.

        Visible as a whole or not at all. Returns the store's own CRC64NVME of the copy, as S3
        writes it, or ``None`` if it keeps none. Raises ``TimeUp`` where it had to stop.
        """


class SmallFiles(Protocol):
    """Copies small files between two trees of one kind, in fewer steps than by a source and a target."""

    def copy(self, entry: Entry) -> int | None:
        """Copy a file of less than ``tuning.BLOCK_BYTES_FREE``, with all that a source and a target promise.

        Returns the checksum of its bytes; ``None`` where the source is not one for this way, or not as it was listed:
        the general way says what it is.
        Raises ``ItemError`` where it cannot be written; nothing of it is visible then.
        """
