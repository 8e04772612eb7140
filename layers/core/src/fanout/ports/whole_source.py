"""The base of sources that are no file and no object."""

from __future__ import annotations

from collections.abc import Generator


class WholeSource:
    """A ``Source`` that comes in one piece, has no holes, and holds nothing open."""

    def read(self, offset: int, length: int) -> bytes:
        """The bytes; each source says which."""
        raise NotImplementedError

    def stream(self, offset: int, length: int) -> Generator[bytes]:
        """See ``ports.tree.Source``: one piece, which counts when all of it is there."""
        yield self.read(offset, length)

    def zeros_at(self, offset: int) -> int:
        """See ``ports.tree.Source``: no hole is known."""
        return 0

    def confirm(self, crc64nvme: int | None) -> None:
        """See ``ports.tree.Source``: what was read was right when it was read."""

    def close(self) -> None:
        """See ``ports.tree.Source``: nothing is open."""
