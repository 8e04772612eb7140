"""A tree below a directory of a mount."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from functools import partial

from fanout.adapters.posix.attributes import apply_link_attributes, group_by_place
from fanout.adapters.posix.deletion import delete_listed
from fanout.adapters.posix.errors import GONE, STALE, source_error
from fanout.adapters.posix.fencing.own import NotOursError
from fanout.adapters.posix.file_system import PosixFileSystem
from fanout.adapters.posix.listing.cuts import cuts_of_directories
from fanout.adapters.posix.listing.listing import list_segment
from fanout.adapters.posix.paths.beneath import open_beneath
from fanout.adapters.posix.paths.follow import find_destination, find_followed, find_source
from fanout.adapters.posix.paths.made_root import first_missing, unmake
from fanout.adapters.posix.small_files import PosixSmallFiles
from fanout.adapters.posix.source import (
    FILE_FLAGS,
    DirectorySource,
    FileSource,
    LinkSource,
    is_as_followed,
    open_source,
)
from fanout.adapters.posix.target import FileTarget, StagedBlocks
from fanout.facts import tuning
from fanout.model.columns import Listed, one_by_one
from fanout.model.entry import Attributes, Entry, Found, Kind
from fanout.model.errors import AccessDenied, InvalidRequest, ItemError
from fanout.model.outcome import Reason
from fanout.model.path_rules import parent_of
from fanout.model.segment import Prunes, Segment, no_pruning
from fanout.ports.tree import OpensEntries


class PosixTree(PosixFileSystem):
    """The ``Tree`` below the root of a ``PosixFileSystem``.

    With ``follow``, for a source alone, symlinks are followed as long as they stay below the root.
    """

    # See ``ports.file_system.FileSystem``.
    made_root = ""

    def unmake(self, made: str) -> None:
        unmake(self._directories, self._root, made)

    def list(self, segment: Segment, prunes: Prunes = no_pruning) -> Iterator[Entry]:
        return one_by_one(self.list_columns(segment, prunes))

    def list_columns(self, segment: Segment, prunes: Prunes = no_pruning) -> Iterator[Listed]:
        return list_segment(self._directories, self._root, segment, prunes, follow=self._follow, made=self._made)

    def cuts(self, segment: Segment, ways: int) -> Sequence[str]:
        """By directories and, where one holds very many names, by names."""
        return cuts_of_directories(self._directories, self._root, segment, ways)

    def find_stored(self, path: str) -> Found | None:
        """See ``ports.tree.Tree``; a file system keeps no checksum."""
        find = find_destination if self._made else find_source
        entry = find(self._directories, self._root, path.removesuffix("/"))
        return None if entry is None else Found(entry, None)

    def find(self, path: str) -> Entry | None:
        asked = (self._directories, self._root, path.removesuffix("/"))
        if self._made and not self._follow:  # what a run kept and did not replace has a second name
            entry = find_destination(*asked, tells_names=self._backup is not None)
        else:
            entry = find_followed(*asked) if self._follow else find_source(*asked)
        return entry if entry is not None and entry.path == path else None

    def open(self, entry: Entry) -> FileSource | LinkSource | DirectorySource:
        """See ``ports.tree.Tree``; an entry has vanished where the server, asked again, has none of its name either."""
        try:
            try:
                return self._open(entry)
            except OSError as error:
                if error.errno not in GONE | STALE:
                    raise
            self._directories.renew(parent_of(self._root + entry.path))
            return self._open(entry)
        except ItemError as error:
            if error.reason is Reason.LINK_IN_PATH:
                raise ItemError(Reason.SOURCE_CHANGED, "a directory of the path became a symlink") from error
            raise
        except OSError as error:
            raise source_error("open", error) from error

    def _open(self, entry: Entry) -> FileSource | LinkSource | DirectorySource:
        parent, separator, name = (self._root + entry.path).rpartition("/")
        is_gone = partial(self._is_gone, entry.path)
        if self._follow and entry.kind is Kind.FILE:
            with self._directories.hold(self._root) as root:
                descriptor = open_beneath(root, entry.path, FILE_FLAGS)
                return FileSource(descriptor, entry, is_same=is_as_followed, is_gone=is_gone)
        with self._directories.hold(parent + separator) as directory:
            return open_source(directory, name, entry, is_gone)

    def _is_gone(self, path: str) -> bool:
        """Whether the server, asked anew, has nothing of that name; not where it cannot be asked."""
        self._directories.renew(parent_of(self._root + path))
        try:
            return self.find(path) is None
        except ItemError:
            return False

    def create(self, entry: Entry, attributes: Attributes) -> FileTarget:
        attributes = self._allowed.of(attributes, is_directory=False, own=self._token.owner_of_all)
        return FileTarget(self._directories, self._staging, self._root + entry.path, entry, attributes)

    def begin_blocks(self, entry: Entry, attributes: Attributes) -> str:
        """See ``ports.tree.Tree``; the staged file is made by its first block, where the mount can be written."""
        return self._staging.name()

    def open_blocks(self, entry: Entry, token: str) -> StagedBlocks:
        place = self._root + entry.path
        return StagedBlocks(self._directories, self._staging, token, place, entry, self._allowed)

    def make_directory(self, entry: Entry, attributes: Attributes) -> None:
        """See ``ports.tree.Tree``; its attributes are set when its content is there."""
        self._closing.tell(entry.path, attributes)
        try:
            with self._directories.hold(self._root + entry.path, create=True, opens=False) as descriptor:
                self._closing.heed(entry.path, descriptor)
        except OSError as error:
            raise self._token.error("mkdir", error) from error

    def make_symlink(self, entry: Entry, target: bytes, attributes: Attributes) -> None:
        path = self._root + entry.path
        attributes = self._allowed.of(attributes, is_directory=False, own=self._token.owner_of_all)
        staged_directory, staged_name = self._staging.place()
        try:
            held = self._directories.hold(staged_directory, create=True)
            with held as staged:
                os.symlink(target, staged_name, dir_fd=staged)  # first: a run that was fenced makes no directory for it
                place = self._staging.above(path)
                with place as directory:
                    group = group_by_place(attributes, held, place)
                    apply_link_attributes(staged, staged_name, attributes, group)
                    self._staging.move(staged, staged_name, directory, path)
        except (OSError, ValueError) as error:
            if isinstance(error, ValueError):
                error = OSError(22, "the target of the symlink holds NUL")
            raise self._token.error("symlink", error) from error

    @property
    def delete_batch(self) -> int:
        """1: every file takes an operation."""
        return 1

    def delete(self, entries: Sequence[Entry]) -> dict[str, ItemError]:
        """See ``ports.tree.Tree``; looks at the run's right to write before."""
        return delete_listed(self._room, entries, self._backup, self._own_unlinks)

    def small_files_from(self, source: OpensEntries) -> PosixSmallFiles | None:
        """See ``ports.tree.Tree``; not where the source's symlinks are followed."""
        if not isinstance(source, PosixTree) or source._follow:
            return None
        here, there = (self._directories, self._root), (source._directories, source._root)
        return PosixSmallFiles(there, here, self._staging)

    @property
    def overlaps(self) -> bool:
        """See ``ports.tree.Tree``; a system call waits."""
        return False

    def block_bytes(self, entry: Entry) -> int:
        return tuning.BLOCK_BYTES

    def check(self, *, writing: bool) -> None:
        """See ``ports.tree.Tree``. Writing is tried by making the run's staging directory, which stays."""
        where = f"/{self._root}"
        try:
            if writing:
                self.made_root = self.made_root or first_missing(self._directories, self._root)
                with self._staging.made():
                    if self._stages != self._root:
                        self._directories.hold(self._root, create=True).let_go()
                    if self._backup is not None:
                        self._backup.check()
                    if self._kinds is not None:
                        self._kinds.begin()
                return
            with self._directories.hold(self._root) as descriptor:
                os.scandir(descriptor).close()
        except (FileNotFoundError, NotADirectoryError) as error:
            raise InvalidRequest(self._field, f"{where} is not a directory of the mount", "name one that is") from error
        except NotOursError as error:
            remedy = "remove it, or start the run under another name"
            raise InvalidRequest(self._field, f"{error}, and a run stages in what it made", remedy) from error
        except ItemError as error:
            raise InvalidRequest(self._field, f"{where}: {error.message}", "name its real path") from error
        except OSError as error:
            action = "writing" if writing else "reading"
            remedy = "check the access point's identity and the directory's mode and owner"
            raise AccessDenied(action, f"the {self._field}", f"{remedy} ({error.strerror})", place=where) from error
