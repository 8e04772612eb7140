"""Copying entries with many operations in flight."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Container, Generator, Iterable, Iterator, Sequence
from contextlib import closing, nullcontext

from msgspec.structs import replace

from fanout.copying.source_directories import SourceTreeDirectories
from fanout.facts import aws, tuning
from fanout.listing.deciding.unread import unread
from fanout.model.checksum import NO_BYTES, append_zeros, crc64nvme, to_base64
from fanout.model.deadline import PASSED, Deadline
from fanout.model.entry import Entry, Kind, MadeEntry, Place
from fanout.model.entry_outcome import Outcome
from fanout.model.errors import AccessDenied, InvalidRequest, ItemError, TimeUp, problem_of
from fanout.model.outcome import Reason, Result
from fanout.ports.limiter import NO_LIMITS, Limiter
from fanout.ports.tree import EntryCopier, OpensEntries, Source, Target, WritesEntries
from fanout.request.parts.symlinks import Symlinks
from fanout.shards.made_directories import SeenDirectory
from fanout.work.overlapping import overlap_on
from fanout.work.parallel import work_on
from fanout.work.threads import ByteBudget

_NOT_COUNTED = nullcontext()


def never_same(_entry: Entry) -> str | None:
    """None: the listing has decided, and the entry is copied."""
    return None


class Copier:
    """Copies entries from one tree to another.

    ``deadline`` says when to stop; ``directories`` collects the attributes of the directories that were made, to be set
    when their content is there, and where entries were put, to be looked at then. With ``within``
    the store that holds both trees copies, and no byte passes through here. ``same`` gives the
    checksum of an entry that the destination holds already, and is then all that is done. ``limiter`` holds back.
    ``block_bytes`` is the size to read and write in, where the destination does not ask for its own.
    An entry with a reason of ``left_out`` is skipped. ``now`` counts seconds. ``above`` sees entries whose place has
    another path.
    """

    def __init__(
        self,
        source: OpensEntries,
        destination: WritesEntries,
        deadline: Deadline,
        symlinks: Symlinks = Symlinks.KEEP,
        within: EntryCopier | None = None,
        same: Callable[[Entry], str | None] = never_same,
        buffer_bytes: int = tuning.BUFFER_BYTES,
        block_bytes: int | None = None,
        limiter: Limiter = NO_LIMITS,
        *,
        left_out: Container[Reason] = (),
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._source, self._destination = source, destination
        self._overlaps = source.overlaps or destination.overlaps
        self._symlinks = symlinks
        self._within = within
        self._small = destination.small_files_from(source) if within is None else None
        self._same = same
        self._limiter = limiter
        self._left_out = left_out
        self._now = now
        self._deadline = deadline
        self._budget = ByteBudget(buffer_bytes)
        self._block_bytes = block_bytes
        self.directories: list[SeenDirectory] = []
        self.above: SourceTreeDirectories | None = None
        self._noting = threading.Lock()
        self.unfinished: list[tuple[int, Entry]] = []
        self.left_out = 0

    def take_made(self) -> Sequence[MadeEntry]:
        """The copies in a destination that is a version, since the last call; see ``FileSystem.take_made``."""
        files = self._destination.file_system
        return () if files is None else files.take_made()

    def copy_all(self, entries: Iterable[tuple[int, Entry]], threads: int) -> Iterator[tuple[int, Outcome]]:
        """Copy entries in their order, at most ``threads`` at a time; yields outcomes as they come.

        Entries that the time did not reach have no outcome; ``unfinished`` holds those that
        it cut off.
        """
        if self._overlaps:
            return overlap_on(
                entries, self._timed, threads, self._may_wait, self._deadline, self.unfinished, self._admit
            )
        admit = lambda: self._limiter.admit(self._deadline)  # noqa: E731
        return work_on(entries, self._done, threads, self._deadline, self.unfinished, admit)

    def _done(self, entry: Entry) -> Outcome:
        """Runs one copy to its end; used where operations do not overlap."""
        steps = self._timed(entry)
        while True:
            try:
                next(steps)
            except StopIteration as end:
                outcome: Outcome = end.value
                return outcome

    def _copied_small(self, entry: Entry) -> int | None:
        """The checksum of a small file that the short way took."""
        if self._small is None or entry.kind is not Kind.FILE or entry.size >= tuning.BLOCK_BYTES_FREE:
            return None
        self._limiter.read(entry.size, self._deadline)
        return self._small.copy(entry)

    def _admit(self, entry: Entry, waits: bool) -> bool:
        size = entry.size if self._is_paid_first(entry) else 0
        return self._limiter.admit(self._deadline if waits else PASSED, size=size)

    def _is_paid_first(self, entry: Entry) -> bool:
        """Whether all bytes are asked for before the entry is begun: S3 sends such an object in one answer."""
        return self._overlaps and entry.size <= tuning.BLOCK_BYTES and self._within is None

    def _may_wait(self, entry: Entry) -> bool:
        """Small entries wait side by side; of a larger one a thread holds the bytes, and so it holds no other's."""
        return self._overlaps and entry.size <= tuning.BLOCK_BYTES_FREE

    def _timed(self, entry: Entry) -> Generator[None, None, Outcome]:
        began = self._now()
        outcome = yield from self._outcome(entry)
        self._note_places()
        return replace(outcome, seconds=max(0.0, self._now() - began))

    def _note_places(self) -> None:
        """Note where entries were put, before any of them has its outcome."""
        files = self._destination.file_system
        if files is not None:
            with self._noting:
                self.directories.extend(files.take_places())

    def _outcome(self, entry: Entry) -> Generator[None, None, Outcome]:
        said: dict[str, str] = {}
        if entry.target and self.above is not None:
            self.above.see(entry)
        try:
            checksum = self._same(entry)
            if checksum is not None:
                return Outcome.because(entry, Reason.SAME, crc64nvme=checksum or None)
            checksum = yield from self._copy(entry, said)
        except (AccessDenied, InvalidRequest) as error:
            return Outcome.because(entry, Reason.DESTINATION_DENIED, str(error))
        except Exception as error:  # noqa: BLE001 - see problem_of
            problem = problem_of(error)
            return Outcome.because(entry, problem.reason, problem.message, left_out=self._left_out)
        outcome = Outcome.done(entry, Result.COPIED, checksum)
        return replace(outcome, unread=tuple(said.items())) if said else outcome

    def _copy(self, entry: Entry, said: dict[str, str]) -> Generator[None, None, str | None]:
        if entry.kind is Kind.DIRECTORY and not entry.path.endswith("/"):
            raise ItemError(Reason.SOURCE_CHANGED, "a directory without / at its end")
        if self._within is not None:
            return self._within.copy(entry, self._deadline)
        small = self._copied_small(entry)
        if small is not None:
            return to_base64(small)
        with self._budget.take(entry.size) if self._is_held(entry) else _NOT_COUNTED:
            return (yield from self._copy_opened(entry, said))

    def _is_held(self, entry: Entry) -> bool:
        """Whether S3's end holds all bytes of the entry at once: an object of one block, from its request on."""
        return self._overlaps and tuning.BLOCK_BYTES_FREE < entry.size <= tuning.BLOCK_BYTES

    def _copy_opened(self, entry: Entry, said: dict[str, str]) -> Generator[None, None, str | None]:
        source = self._source.open(entry)
        try:
            if self._source.overlaps:
                yield
            checksum = None
            if entry.kind is Kind.DIRECTORY:
                self._make_directory(entry, source)
            elif entry.kind is Kind.SYMLINK or source.attributes.is_symlink:
                self._symlinks.check_opened()
                checksum = self._make_symlink(entry, source)
            else:
                checksum = yield from self._copy_file(entry, source)
            said.update(unread(source.attributes))
            return checksum
        finally:
            source.close()

    def _make_directory(self, entry: Entry, source: Source) -> None:
        """Make a directory, and note which one gets the attributes: the one that was listed, or that the run made."""
        placed, files = entry.placed, self._destination.file_system
        self._destination.make_directory(placed, source.attributes)
        place = Place(placed.path, "") if files is None else files.place_of(placed)
        if place.inode and placed.replaces not in ("", place.inode):
            raise ItemError(Reason.DESTINATION_CHANGED, "another directory was put in the place of the listed one")
        inode = place.inode if placed.replaces or place.is_own else ""
        self.directories.append((replace(placed, inode=inode), source.attributes))

    def _make_symlink(self, entry: Entry, source: Source) -> str:
        if not 0 < entry.size <= aws.SYMLINK_TARGET_BYTES:
            raise ItemError(Reason.LINK_NO_TARGET, f"{entry.size:,} bytes")
        target = source.read(0, entry.size)
        checksum = crc64nvme(target, NO_BYTES)
        source.confirm(checksum)
        if b"\0" in target:
            raise ItemError(Reason.LINK_NO_TARGET, "NUL in the target")
        self._destination.make_symlink(entry.placed, target, source.attributes)
        return to_base64(checksum)

    def _copy_file(self, entry: Entry, source: Source) -> Generator[None, None, str]:
        target = self._destination.create(entry.placed, source.attributes)
        try:
            checksum = self._copy_blocks(entry, source, target)
            source.confirm(checksum)
            if self._destination.overlaps:
                target.send(checksum)
                yield
            target.commit(checksum)
        finally:
            target.abort()
        return to_base64(checksum)

    def _copy_blocks(self, entry: Entry, source: Source, target: Target) -> int:
        block_bytes = self._block_bytes or self._destination.block_bytes(entry)
        checksum, offset = NO_BYTES, 0
        while offset < entry.size:
            zeros = _whole_holes(entry, source, target, offset, block_bytes)
            if zeros:
                checksum, offset = append_zeros(checksum, zeros), offset + zeros
                continue
            if offset and self._deadline.passed:
                raise TimeUp
            wanted = min(block_bytes, entry.size - offset)
            if not self._is_paid_first(entry):
                self._limiter.read(wanted, self._deadline)
            is_counted = wanted > tuning.BLOCK_BYTES_FREE and not self._is_held(entry)
            with self._budget.take(wanted) if is_counted else _NOT_COUNTED:
                write = lambda at, data, _: target.write(at, data)  # noqa: E731
                checksum = copy_block(source, offset, wanted, checksum, write, pieces=target.takes_pieces)
            offset += wanted
        return checksum


def _whole_holes(entry: Entry, source: Source, target: Target, offset: int, block_bytes: int) -> int:
    """Bytes of whole blocks from ``offset`` that are a hole; asked only where a block could be one."""
    if not target.keeps_holes or entry.size - offset < block_bytes:
        return 0
    zeros = source.zeros_at(offset)
    return zeros - zeros % block_bytes


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
