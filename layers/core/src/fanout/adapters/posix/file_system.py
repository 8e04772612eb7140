"""The directory of a mount besides the tree in it: staging, links, versions, fencing, what it cannot keep."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Self, TypeVar

from fanout.adapters.posix.attributes import has_hard_links, owner_limitation, time_of_new_file
from fanout.adapters.posix.backup import Backup
from fanout.adapters.posix.deletion import OwnUnlinks, Room, remove_empty
from fanout.adapters.posix.errors import no_room_for_name, source_error
from fanout.adapters.posix.fencing.closing import Closing
from fanout.adapters.posix.fencing.fences import fence_others, find_mark, find_staged, leave_mark
from fanout.adapters.posix.fencing.further_names import link, placed_inode
from fanout.adapters.posix.finished_directories import FinishedDirectories
from fanout.adapters.posix.other_kinds import OtherKinds
from fanout.adapters.posix.paths.beneath import open_beneath
from fanout.adapters.posix.paths.directories import DIRECTORY_FLAGS, Directories
from fanout.adapters.posix.paths.looks import ask_for
from fanout.adapters.posix.paths.places import NotedPlaces
from fanout.adapters.posix.placing import Placing
from fanout.adapters.posix.publishing.linking import MadeFiles, VersionNames, link_from
from fanout.adapters.posix.publishing.protected import published_above
from fanout.adapters.posix.publishing.versions import PosixVersions
from fanout.adapters.posix.staging import Staging
from fanout.model.entry import Attributes, Entry, MadeEntry, Place
from fanout.model.errors import ItemError, Transient
from fanout.model.file_system import Staged
from fanout.model.path_rules import DEFAULT_DIRECTORY_MODE, STAGING_PREFIX, UNFINISHED_MODE
from fanout.ports.file_system import Fenced, fence_any, made_nothing
from fanout.ports.turns import Fence
from fanout.request.options import Overwrite
from fanout.request.parts.allowed_attributes import Allowed
from fanout.work.processes.handed_over import HandedOver

_ALL = Allowed()
T = TypeVar("T")


class PosixFileSystem(HandedOver):
    """The ``FileSystem`` below ``path`` (relative, empty for the whole mount) of the mount at ``mount``.

    Every name is opened relative to the descriptor of its directory, and no symlink is followed, so nothing outside
    the root is read or written.
    """

    def __init__(
        self,
        mount: Path,
        path: str,
        run_id: str,
        nonce: str,
        field: str = "destination",
        *,
        follow: bool = False,
        overwrite: Overwrite = Overwrite.ALWAYS,
        backup_to: str = "",
        stages_at: str | None = None,
        spares: str = "",
        allowed: Allowed = _ALL,
        replaces_kinds: bool = False,
    ) -> None:
        """``backup_to`` is a directory of the mount, with ``/`` at its end, for what is replaced or deleted;
        ``stages_at`` one for the run's staging directory, if that is not in the tree; ``spares`` one in which a source
        deletes nothing. ``allowed`` is what copies may have here, whatever the ledger or a pack says.
        ``replaces_kinds``: copies replace entries of another kind.
        """
        self._root = f"{path}/" if path else ""
        self._stages = self._root if stages_at is None else stages_at
        followed = self._open_followed if follow else None
        self._directories = Directories(str(mount), followed, self._mode_of, self._is_way)
        self._follow, self._field, self._allowed, self._kept_out = follow, field, allowed, ""
        self._backup = Backup(self._directories, self._root, backup_to, run_id) if backup_to else None
        placing = Placing(self._directories, overwrite, self._backup)
        self._copies = None if stages_at is None else MadeFiles(self._root)
        self._staging = Staging(self._directories, self._stages, run_id, nonce, placing, self._copies)
        self._token = self._staging.token
        if self._backup is not None:
            self._backup.stage_in(self._token)
        self.recall, self.staged = self._token.recall, self._token.staged
        self._made = field == "destination"
        opened, marks = self._staging.write_protected, self._staging.marks
        self._closing = Closing(self._token, allowed)
        self.close_by = self._closing.close_by
        self._places = NotedPlaces(self._root, self._token.owner_of_all, marks.is_made_for, self._closing.close)
        self._finished = FinishedDirectories(self._directories, self._token, opened, marks, self._root)
        self._kinds = OtherKinds(self._directories, self._token) if replaces_kinds else None
        if self._made:
            self._directories.on_denied = self._staging.write_protected.open
            self._directories.on_placing = self._places.note
            self._directories.on_entering.append(marks.mark_new)
        if self._kinds is not None:
            self._directories.on_taken = self._kinds.make_way
        self._room = Room(self._directories, self._root, self._token, backup_to or spares)
        self._version_names, self._own_unlinks = VersionNames(), None if self._made else OwnUnlinks()

    def _mode_of(self, path: str) -> int:
        """The mode to make a directory with; nothing is set later on the root and those above it."""
        if self._root.startswith(path):
            return DEFAULT_DIRECTORY_MODE
        if self._backup is not None and self._backup.lies_below(path):
            return stat.S_IRWXU
        return stat.S_IRWXU if path.startswith(self._stages + STAGING_PREFIX) else UNFINISHED_MODE

    def _is_way(self, path: str) -> bool:
        """Whether a directory lies in the run's staging directory."""
        return path.startswith(self._token.path) and path != self._token.path

    def _open_followed(self, path: str) -> int:
        """A directory that a symlink at ``path`` leads to; those of the root's own path are not followed."""
        below = path.removeprefix(self._root)
        if not path.startswith(self._root) or not below:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
        with self._directories.hold(self._root) as root:
            return open_beneath(root, below, DIRECTORY_FLAGS & ~os.O_NOFOLLOW)

    def link(self, entry: Entry, first: str) -> None:
        try:
            link(self._directories, self._staging, self._root, entry, first)
        except OSError as error:
            raise no_room_for_name(error) or self._token.error("link", error) from error

    def placed_inode(self, path: str) -> str:
        try:
            return placed_inode(self._directories, self._staging, self._root + path)
        except OSError as error:
            raise self._token.error("stat", error) from error

    def link_from(self, entry: Entry, place: str, made: Collection[MadeEntry]) -> bool:
        """See ``ports.tree.Tree``; looks at the run's right to write before. What is not allowed now is not linked."""
        try:
            self._token.look()
            if not self._allowed.are_all:
                made = [one for one in made if self._allowed.keeps(one, self._own_user)]
            linked = link_from(self._directories, self._version_names, self._root, entry, place, made)
        except OSError as error:
            raise self._token.error("link", error) from error
        if linked is not None and self._copies is not None:
            self._copies.add(linked)
        return linked is not None

    @cached_property
    def _own_user(self) -> int:
        """The user of what is made here: the owner of the run's staging directory."""
        with self._directories.hold(self._token.path) as staging:
            return os.fstat(staging).st_uid

    def look_anew(self, path: str) -> None:
        ask_for(self._directories, self._root + path.removesuffix("/"))

    def take_made(self) -> Sequence[MadeEntry]:
        return () if self._copies is None else self._copies.take()

    def versions(self, link: str) -> PosixVersions:
        self._staging.works_later()
        return PosixVersions(self._directories, self._staging, self._root, link)

    def place_of(self, entry: Entry) -> Place:
        with self._directories.hold(self._root + entry.path, opens=False) as descriptor:
            return self._places.place_of(entry.path, descriptor)

    def take_places(self) -> Sequence[Place]:
        return self._places.take()

    def require_place(self, entry: Entry) -> None:
        self._finished.require(entry)

    def set_attributes(self, entry: Entry, attributes: Attributes, *, is_closed: bool = True) -> None:
        attributes = self._allowed.of(attributes, is_directory=True, own=self._token.owner_of_all)
        self._finished.set_attributes(entry, attributes, is_closed=is_closed)

    def open_directory(self, entry: Entry, mode: int) -> None:
        self._finished.open(entry, mode)

    def remove_directory(self, entry: Entry) -> None:
        """See ``ports.tree.Tree``; looks at the run's right to write before."""
        remove_empty(self._room, entry, self._backup, at_source=not self._made)

    @property
    def file_system(self) -> Self:
        return self

    def limitations(self) -> tuple[str, ...]:
        """See ``ports.tree.Tree``: whether owners can be kept."""
        found = self._try_staged("trying the owner of a file", owner_limitation)
        return (found,) if found else ()

    def has_hard_links(self) -> bool:
        return self._try_staged("trying a hard link", has_hard_links)

    def clock_ns(self) -> tuple[int, int]:
        """See ``ports.tree.Tree``: the ctime of a file that is made in the staging directory."""
        now_ns = self._try_staged("making a file", time_of_new_file)
        return now_ns, now_ns

    def _try_staged(self, action: str, attempt: Callable[[int, str], T]) -> T:
        """Try something with a new file in the staging directory; ``Superseded`` if that is gone, ``Transient``."""
        with self._passing(f"{action} below /{self._root}"), self._directories.hold(self._token.path) as staged:
            return attempt(staged, self._staging.name())

    @contextmanager
    def _passing(self, action: str) -> Iterator[None]:
        """Failures as ones that may pass. Raises ``Superseded`` where the run's staging directory is gone."""
        try:
            yield
        except OSError as error:
            self._token.confirm(error)
            raise Transient(f"{action}: {error.strerror}") from error
        except ItemError as error:
            raise Transient(f"{action}: {error.message}") from error

    def identity(self) -> str:
        """See ``ports.tree.Tree``: the number of the root's inode, which every client of an NFS server sees."""
        try:
            with self._directories.hold(self._root) as descriptor:
                return str(os.fstat(descriptor).st_ino)
        except OSError as error:
            raise source_error("stat", error) from error

    def keep_out(self, identity: str, refusal: Callable[[str], Exception]) -> None:
        if identity == self._kept_out:
            return
        self._kept_out, self.done_since, root = identity, ("keep_out", identity, refusal), self._root

        def look(path: str, descriptor: int) -> None:  # which holds no tree, so that one that is left is closed at once
            if not root.startswith(path) and str(os.fstat(descriptor).st_ino) == identity:
                raise refusal(path)

        self._directories.on_entering.append(look)
        self._directories.forget("")  # what is open already was not looked at
        if self._backup is not None:
            self._backup.enter()

    def close(self) -> None:
        """See ``ports.tree.Tree``; without it a warm function would run out of descriptors."""
        self._directories.close()

    def published_above(self) -> str | None:
        try:
            return published_above(self._directories, self._root)
        except OSError as error:
            raise Transient(f"looking for a published tree above /{self._root}: {error.strerror}") from error

    def mark(self) -> None:
        with self._passing(f"marking /{self._stages}"):
            leave_mark(self._directories, self._staging.path)

    def marked(self) -> str | None:
        return find_mark(self._directories, self._root, self._staging.name_of_run)

    def staged_above(self, run_ids: Collection[str]) -> str | None:
        return find_staged(self._directories, self._root, run_ids)

    def fence(
        self,
        known: Sequence[Fence],
        concurrent: Callable[[], Collection[str]],
        may_fence: Callable[[str], None] = fence_any,
        made_by: Callable[[str], Collection[Staged]] = made_nothing,
    ) -> Fenced:
        """See ``ports.file_system.FileSystem``: removes the staging directories of the other runs."""
        return fence_others(self._staging, self._stages, known, concurrent, may_fence, made_by)

    def end_copies(self) -> None:
        with self._passing(f"ending the copies below /{self._root}"):
            self._staging.end_copies()

    def clear(self) -> None:
        try:
            self._staging.clear()
        except OSError as error:
            raise Transient(f"removing what was staged below /{self._root}: {error.strerror}") from error

    def close_opened(self) -> None:
        with self._passing(f"closing directories below /{self._root}"):
            self._staging.close_opened()

    def finish(self) -> tuple[str, ...]:
        """See ``ports.tree.Tree``; the run's right to write goes too. Raises ``Transient`` for what stays."""
        try:
            problem = self._staging.remove()
        except ItemError as error:
            problem = f"what was staged could not be removed: {error.message}"
        except OSError as error:
            raise Transient(f"removing what was staged below /{self._root}: {error.strerror}") from error
        return (problem,) if problem else ()
