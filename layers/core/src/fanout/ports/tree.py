"""The ports: what the use cases need of the outside, in few methods.

Entry-level problems are raised as ``ItemError``; task-level ones as the errors
of ``fanout.model.errors``. Adapters translate vendor errors once.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Protocol

from msgspec import Struct

from fanout.model.columns import Listed
from fanout.model.document import Json
from fanout.model.entry import Attributes, Entry, Found
from fanout.model.errors import ItemError
from fanout.model.file_system import Described, Readings
from fanout.model.segment import Prunes, Segment, no_pruning
from fanout.model.shard import Receipt
from fanout.ports.copying import SmallFiles
from fanout.ports.turns import Fence


class Source(Protocol):
    """An entry opened for reading, pinned to what was listed."""

    @property
    def attributes(self) -> Attributes:
        """What the entry carries beside its bytes."""

    def read(self, offset: int, length: int) -> bytes:
        """Up to ``length`` bytes from ``offset``; fewer only at the end of the entry."""

    def zeros_at(self, offset: int) -> int:
        """How many bytes from ``offset`` are known to be zero without reading them; 0 where that cannot be told."""

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

    def write(self, offset: int, data: bytes) -> None:
        """Write a block. Blocks come in order, each but the last of ``block_bytes``.

        Where ``keeps_holes``, whole blocks of zeros may be left out.
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

        Returns the destination's word for it, which ``complete`` wants back.
        """

    def sync(self) -> None:
        """Return when all that was written stays; raises ``ItemError`` if any of it does not."""

    def complete(self, receipts: Sequence[Receipt], crc64nvme: int, attributes: Attributes) -> None:
        """Make the whole file visible at once; ``receipts`` are of all its blocks in order."""

    def discard(self) -> None:
        """Remove what was written; never raises."""


class Tree(Protocol):
    """A tree of entries below one root."""

    def list(self, segment: Segment, prunes: Prunes = no_pruning) -> Iterator[Entry]:
        """The entries of the segment in the order of their ``sort_key``.

        Of a directory that ``prunes`` tells of, the directory stands for all that it holds.
        A missing root is an empty tree. Raises ``ListingIncomplete`` where a part cannot be read.
        """

    def list_columns(self, segment: Segment, prunes: Prunes = no_pruning) -> Iterator[Listed]:
        """As ``list``, but plain files may come in columns, which costs less than an entry for each."""

    def cuts(self, segment: Segment, ways: int) -> Sequence[str]:
        """Paths, of entries or of none, that cut the segment into about ``ways`` parts of like size, in order.

        Fewer, or none, where little is left. Takes a bounded number of requests; raises as ``list`` does.
        """

    def find(self, path: str) -> Entry | None:
        """The entry of one path as the listing shows it, or ``None`` where it is certain that there is none.

        A directory stands under a path that ends in ``/``, everything else under one that does not.
        Raises ``AccessDenied``, ``Throttled`` or ``Transient`` where the store gives no answer, and ``ItemError`` where
        what stands above the path is no directory, or not the one that it was.
        """

    def find_stored(self, path: str) -> Found | None:
        """What stands at one path, of whatever kind, with the store's own checksum if it keeps one.

        Raises as ``find``.
        """

    @property
    def overlaps(self) -> bool:
        """Whether ``open`` and ``Target.send`` ask a server and do not wait for it, so that a thread may ask again."""

    def small_files_from(self, source: Tree) -> SmallFiles | None:
        """What copies small files from another tree to this one; ``None`` where only the general way leads."""

    def open(self, entry: Entry) -> Source:
        """Open a file or symlink for reading."""

    def create(self, entry: Entry, attributes: Attributes) -> Target:
        """Begin to write a file of ``entry.size`` bytes."""

    def begin_blocks(self, entry: Entry, attributes: Attributes) -> str:
        """Begin a big file; returns the token by which every function finds it."""

    def open_blocks(self, entry: Entry, token: str) -> BlockTarget:
        """A big file that was begun."""

    def make_directory(self, entry: Entry, attributes: Attributes) -> None:
        """Make the directory, and those above it, if they are not there; closed until ``set_attributes``."""

    def make_symlink(self, entry: Entry, target: bytes, attributes: Attributes) -> None:
        """Make a symlink that holds ``target``, replacing a file or symlink."""

    def link(self, entry: Entry, first: str) -> None:
        """Make the path of ``entry`` a further name of the file at the path ``first``, replacing a file or symlink.

        Raises ``ItemError`` if that file has not the size and the mtime (0: any) of ``entry``, as its copy has.
        Asked of a file system alone; a store without hard links raises ``ItemError`` too.
        """

    def set_attributes(self, entry: Entry, attributes: Attributes) -> None:
        """Set the attributes of a directory that has its content."""

    def open_directory(self, entry: Entry, mode: int) -> None:
        """Give a directory that a run made, and no entry stands for, its mode.

        One that has another mode than it is made with stays as it is; one that is not there is left out.
        """

    @property
    def delete_batch(self) -> int:
        """How many entries ``delete`` wants at once."""

    def delete(self, entries: Sequence[Entry]) -> dict[str, ItemError]:
        """Delete files, symlinks, specials or objects that still are what was listed (ETag, or size and mtime).

        Returns, by path, why others stay. What is not there counts as deleted.
        """

    def remove_directory(self, entry: Entry) -> None:
        """Remove a directory that is empty; one that is not there counts as removed.

        Raises ``ItemError`` with ``Reason.NOT_EMPTY`` for one that is not. Asked of a file system alone.
        """

    def block_bytes(self, entry: Entry) -> int:
        """The size in which ``create`` wants the entry's blocks."""

    def check(self, *, writing: bool) -> None:
        """Raise ``InvalidRequest`` or ``AccessDenied`` if the root cannot be read or written.
        A run that has not done this with ``writing`` can write nothing."""

    def limitations(self) -> tuple[str, ...] | None:
        """What this tree cannot keep of what it is given, a sentence each, found out by trying.

        ``None`` if this function does not see the tree.
        """

    def clock_ns(self) -> tuple[int, int]:
        """The store's own time now, as the earliest and the latest that it may be; a file system makes a file for it.

        Raises ``Transient`` where the store does not tell.
        """

    def identity(self) -> str:
        """What tells the root from another one that stands in its place later; empty where nothing can.

        Raises ``ItemError`` if it cannot be told.
        """

    def close(self) -> None:
        """Release what is held open; the tree is not used after."""

    def fence(self, known: Sequence[Fence], beside: Callable[[], Collection[str]]) -> bool:
        """Take the right to write from ``known`` runs and from others that staged here, but not from those ``beside``.

        ``beside`` is asked after they were looked for. Returns whether all were reached; raises ``AccessDenied`` or
        ``Transient`` for one that may write where this run does."""

    def clear(self) -> None:
        """Remove what this run staged; it may go on writing."""

    def finish(self) -> tuple[str, ...]:
        """Remove what this run staged; it writes nothing more. Returns what had to be left, a sentence each."""


class WorkStore(Protocol):
    """The ledger's place: small objects under keys."""

    def put(self, key: str, data: bytes) -> None:
        """Write the object whole; a reader sees the old one or the new one."""

    def get(self, key: str) -> bytes:
        """The object's bytes. Raises ``NotFound``."""

    def list(self, prefix: str) -> Iterator[str]:
        """The keys that start with the prefix, in their order."""

    def remove(self, keys: Sequence[str]) -> None:
        """Remove at most 1,000 objects; one that is not there counts as removed."""


class Versioned(Struct, frozen=True):
    """An object's bytes and the version that pins them; both empty where there is no object."""

    data: bytes = b""
    version: str = ""


class VersionedStore(Protocol):
    """Small objects that several runs change, each only what it has seen."""

    def read_version(self, key: str) -> Versioned:
        """The object as it is now."""

    def write_version(self, key: str, data: bytes, version: str) -> None:
        """Write the object whole if it still has the version, or is not there where the version is empty.

        Of two that write over one version at the same time one succeeds. Raises ``PreconditionFailed`` for the
        other, and for an answer that was lost after the write: read again, and see who has written.
        """


class Executions(Protocol):
    """The executions of the state machine."""

    def running(self, execution: str) -> bool:
        """Whether the execution of the ARN goes on; one that does not exist does not."""


class Starts(Protocol):
    """What starts runs."""

    def start(self, machine: str, run_id: str, request: Json) -> bool:
        """Start a run of the state machine of the ARN; returns false where there is a run of this name already."""


class ObjectFound(Struct, frozen=True):
    """An object's bytes, and the ETag that pins it."""

    size: int
    etag: str


class ObjectReader(Protocol):
    """Single objects that a request names beside its trees."""

    def find(self, bucket: str, key: str) -> ObjectFound:
        """The object's size and ETag. Raises ``NotFound``."""

    def read(self, bucket: str, key: str, etag: str, offset: int, length: int) -> bytes:
        """Up to ``length`` bytes from an ``offset`` below the object's size.

        Raises ``NotFound``, or ``PreconditionFailed`` if the object has another ETag.
        """


class Meter(Protocol):
    """What a file system says about itself. Raises the errors of ``fanout.model.errors``."""

    def describe(self, file_system_id: str) -> Described:
        """Its modes and its size by storage class. Raises ``NotFound``."""

    def readings(self, file_system_id: str, now: float) -> Readings:
        """Its metrics of ``measurement.METRICS`` over the last ``LOOK_BACK_SECONDS``; what has no value is left out."""


class Clock(Protocol):
    """Time, injected."""

    def now(self) -> float:
        """Seconds since 1970."""

    def sleep(self, seconds: float) -> None:
        """Wait."""
