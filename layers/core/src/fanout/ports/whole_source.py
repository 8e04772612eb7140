"""The base of sources that are no file and no object."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator


class WholeSource(ABC):
    """A ``Source`` that comes in one piece, has no holes, and holds nothing open."""

    @abstractmethod
    def read(self, offset: int, length: int) -> bytes:
        """Up to ``length`` bytes from ``offset``; fewer only at the end."""

    def stream(self, offset: int, length: int) -> Generator[bytes]:
        """See ``ports.tree.Source``: one piece, which counts when all of it is there."""
        yield self.read(offset, length)

    def zeros_at(self, offset: int) -> int:
        """See ``ports.tree.Source``: no hole is known."""
        return 0

    def confirm(self, crc64nvme: int | None) -> None:  # noqa: B027 - there is nothing to confirm
        """See ``ports.tree.Source``: what was read was right when it was read."""

    def close(self) -> None:  # noqa: B027 - there is nothing to close
        """See ``ports.tree.Source``: nothing is open."""
