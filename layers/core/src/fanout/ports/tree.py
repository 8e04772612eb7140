"""The ports of a tree: what use cases read, write and delete at an end. ``FileSystem`` is what not every end has.

Entry-level problems are raised as ``ItemError``; task-level ones as the errors
of ``fanout.model.errors``. Adapters translate vendor errors once.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator, Iterator, Sequence
from typing import Protocol

from fanout.model.columns import Listed
from fanout.model.deadline import Deadline
from fanout.model.entry import Attributes, Entry, Found
from fanout.model.errors import ItemError
from fanout.model.segment import Prunes, Segment, no_pruning
from fanout.model.shard import Receipt
from fanout.ports.file_system import FileSystem


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


class Source(Protocol):
    """An entry opened for reading, pinned to what was listed."""

    @property
    def attributes(self) -> Attributes:
        """The attributes of the entry."""

    def read(self, offset: int, length: int) -> bytes:
        """Up to ``length`` bytes from ``offset``; fewer only at the end of the entry."""

    def stream(self, offset: int, length: int) -> Generator[bytes]:
        """The bytes that ``read`` returns, in pieces as they come. Close it where it is not read to its end."""

    def zeros_at(self, offset: int) -> int:
        """How many bytes from ``offset`` are known to be zero without reading them; 0 where that is not known."""

    def confirm(self, crc64nvme: int | None) -> None:
        """Raise ``ItemError`` if the entry is not what was listed or, for a checksum of
        all its bytes, not what the store says it holds."""

    def close(self) -> None:
        """Release what is open; never raises."""


class Target(Protocol):
    """An entry being written; invisible until it is committed."""

    @property
    def keeps_holes(self) -> bool:
        """Whether bytes that are never written become zeros; else every block must be written."""

    @property
    def takes_pieces(self) -> bool:
        """Whether a block may be written in pieces, as in a file system."""

    def write(self, offset: int, data: bytes) -> None:
        """Write a block or, with ``takes_pieces``, a piece of one; they come in order.

        Each block but the last is of ``block_bytes``. Where ``keeps_holes``, whole blocks of zeros may be left out.
        """

    def send(self, crc64nvme: int) -> None:
        """Sends the final request early; ``commit`` waits for its answer. May be a no-op."""

    def commit(self, crc64nvme: int) -> None:
        """Make the whole entry visible at once, replacing what was there."""

    def abort(self) -> None:
        """Remove what was written; never raises, and does nothing after a commit."""


class BlockTarget(Protocol):
    """A big file being written in blocks by several functions; invisible until it is completed.

    Blocks come in any order, also twice; what is written before a ``sync`` is kept when a function ends.
    """

    @property
    def keeps_holes(self) -> bool:
        """Whether a block of zeros need not be written."""

    @property
    def takes_pieces(self) -> bool:
        """Whether a block may be written in pieces, as in a file system."""

    def write(self, index: int, offset: int, data: bytes, crc64nvme: int) -> str:
        """Write a block or, with ``takes_pieces``, a piece of one; the checksum is of the block so far.

        Returns the destination's token for it, which ``complete`` needs.
        """

    def sync(self) -> None:
        """Return when all that was written stays; raises ``ItemError`` if any of it does not."""

    def complete(self, receipts: Sequence[Receipt], crc64nvme: int, attributes: Attributes) -> None:
        """Make the whole file visible at once; ``receipts`` are of all its blocks in order."""

    def discard(self) -> None:
        """Remove what was written; never raises."""


class OpensEntries(Protocol):
    """The source of a copy: entries that can be opened."""

    @property
    def overlaps(self) -> bool:
        """Whether ``open`` and ``Target.send`` ask a server and do not wait for it, so that a thread may ask again."""

    def open(self, entry: Entry) -> Source:
        """Open a file or symlink for reading."""


class ReadTree(OpensEntries, Protocol):
    """A tree of entries below one root, as a source is: listed, looked at and opened."""

    def list(self, segment: Segment, prunes: Prunes = no_pruning) -> Iterator[Entry]:
        """The entries of the segment in the order of their ``sort_key``.

        Pruned directories are listed themselves, and their contents skipped.
        A missing root is an empty tree. Raises ``ListingIncomplete`` where a part cannot be read.
        """

    def list_columns(self, segment: Segment, prunes: Prunes = no_pruning) -> Iterator[Listed]:
        """As ``list``, but plain files may come in columns, which costs less than an entry for each."""

    def cuts(self, segment: Segment, ways: int) -> Sequence[str]:
        """Paths, of entries or of none, that cut the segment into about ``ways`` parts of like size, in order.

        Fewer, or none, where little is left. Takes a bounded number of requests; raises as ``list`` does.
        """

    def find(self, path: str) -> Entry | None:
        """The entry of a path as the listing shows it, or ``None`` if there certainly is none.

        The path of a directory ends in ``/``, and no other path does.
        Raises ``AccessDenied``, ``Throttled`` or ``Transient`` if the store gives no answer. Raises ``ItemError`` if
        a component above the path is no directory, or another one than before.
        """

    def find_stored(self, path: str) -> Found | None:
        """The entry at a path, of whatever kind, with the store's own checksum if it keeps one.

        Raises as ``find``.
        """

    @property
    def file_system(self) -> FileSystem | None:
        """The operations of a file system; ``None`` for a bucket."""

    def check(self, *, writing: bool) -> None:
        """Raise ``InvalidRequest`` or ``AccessDenied`` if the root cannot be read or written.
        A run that has not done this with ``writing`` can write nothing."""

    def clock_ns(self) -> tuple[int, int]:
        """The store's own time now, as the earliest and the latest that it may be; a file system makes a file for it.

        Raises ``Transient`` where the store does not tell, and ``Superseded`` where the run may not write there now.
        """

    def close(self) -> None:
        """Release what is held open; the tree is not used after."""


class BeginsBigFiles(Protocol):
    """Begins files that several functions write."""

    def begin_blocks(self, entry: Entry, attributes: Attributes) -> str:
        """Begin a big file; returns the token by which every function finds it."""


class WritesEntries(Protocol):
    """The destination of a copy: entries that can be made in it."""

    @property
    def overlaps(self) -> bool:
        """The same as ``OpensEntries.overlaps``."""

    @property
    def file_system(self) -> FileSystem | None:
        """The same as ``ReadTree.file_system``."""

    def small_files_from(self, source: OpensEntries) -> SmallFiles | None:
        """Copies small files from another tree to this one; ``None`` where only the general way leads."""

    def create(self, entry: Entry, attributes: Attributes) -> Target:
        """Begin to write a file of ``entry.size`` bytes."""

    def make_directory(self, entry: Entry, attributes: Attributes) -> None:
        """Make the directory, and those above it, if they are not there; closed until ``set_attributes``."""

    def make_symlink(self, entry: Entry, target: bytes, attributes: Attributes) -> None:
        """Make a symlink that holds ``target``, replacing a file or symlink."""

    def block_bytes(self, entry: Entry) -> int:
        """The size in which ``create`` wants the entry's blocks."""


class WriteTree(ReadTree, WritesEntries, BeginsBigFiles, Protocol):
    """A tree that is written, as a destination is; it is looked at before and after."""

    def open_blocks(self, entry: Entry, token: str) -> BlockTarget:
        """A big file that was begun."""


class DeletingTree(ReadTree, Protocol):
    """A tree that a run deletes from: the destination of a sync, the source of a move."""

    @property
    def delete_batch(self) -> int:
        """How many entries ``delete`` wants at once."""

    def delete(self, entries: Sequence[Entry]) -> dict[str, ItemError]:
        """Delete files, symlinks, specials or objects that still are what was listed (ETag, or size and mtime).

        Of a source, which a move deletes from, the time at which the store says it last changed must be the listed one
        too. Returns, by path, why others stay. A missing entry counts as deleted.
        """


class Tree(WriteTree, DeletingTree, Protocol):
    """All of it, as each adapter has it. A use case asks for no more than it needs."""


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
