"""The port of what a file system does besides holding a tree; a bucket has none of it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple, Protocol

from fanout.model.entry import Attributes, Entry, MadeEntry, Place
from fanout.model.file_system import Staged
from fanout.ports.turns import Fence
from fanout.ports.versions import Versions


def fence_any(_run_id: str) -> None:
    """Any other run that staged here may be fenced."""


def made_nothing(_run_id: str) -> Collection[Staged]:
    """No ledger says that a run made a directory."""
    return ()


class Fenced(NamedTuple):
    """Whether all runs that were to be fenced were reached; and what was left, a sentence each."""

    whole: bool
    left: tuple[str, ...] = ()


class SourceDirectories(Protocol):
    """The directories of a run's source, by their paths at the destination."""

    @property
    def are_entries(self) -> bool:
        """Whether each is an entry of the run, so that FinishTree sets the owner of one that was ``taken``."""

    def attributes(self, path: str) -> Attributes | None:
        """The attributes that a copy of a directory gets; ``None`` where the source has no entry of it.

        Raises ``ItemError``, and errors of the store.
        """

    def taken(self, path: str, attributes: Attributes) -> None:
        """Note a directory that was taken from another user; it is to get these attributes."""


class FileSystem(Protocol):
    """Links, attributes of directories, and the run's staging directory with its right to write.

    Only functions that see the mount use it. Raises ``ItemError`` for an entry.
    """

    def link(self, entry: Entry, first: str) -> None:
        """Make the path of ``entry`` a further name of the file at the path ``first``, replacing a file or symlink.

        Raises ``ItemError`` if that file has not the size and the mtime (0: any) of ``entry``, as its copy has, or is
        not the one that this run put there for an entry with several names.
        """

    def placed_inode(self, path: str) -> str:
        """The inode of the file with several names that this run put at a path. Raises ``ItemError`` for another."""

    def link_from(self, entry: Entry, place: str, made: Collection[MadeEntry]) -> bool:
        """Make the path of ``entry`` a further name of the file at that path below ``place``, another version.

        False where the entry has to be copied: nothing is there, or nothing that still is one of ``made``; or
        the file has no room for another name. ``place`` is relative to the mount, and ends in ``/``.
        """

    def look_anew(self, path: str) -> None:
        """Have the next look at a path be the server's; what cannot be looked at shows then."""

    def take_made(self) -> Sequence[MadeEntry]:
        """The copies that got their place in a version, or were linked into it, since this was called last."""

    def versions(self, link: str) -> Versions:
        """The versions of the tree that this one is a version of, and their link."""

    def place_of(self, entry: Entry) -> Place:
        """A directory that this tree made or found, and puts entries into; its inode is empty where it has none."""

    def close_by(self, source: SourceDirectories) -> None:
        """Close directories that were there, before anything is put into them, to those whom ``source`` keeps out."""

    def take_places(self) -> Sequence[Place]:
        """The directories that entries were put into, or were made for some, since this was called last."""

    def require_place(self, entry: Entry) -> None:
        """Raise ``ItemError`` with ``Reason.DESTINATION_CHANGED`` unless the directory of its inode has its path."""

    def set_attributes(self, entry: Entry, attributes: Attributes, *, is_closed: bool = True) -> None:
        """Set the attributes of a directory that has its content; ``is_closed``: this run made it or closed it.

        Raises ``ItemError`` with ``Reason.DESTINATION_CHANGED`` for another one than that of the entry's inode: the
        content is not there. So it does for one of an owner that a directory which the run closed cannot have.
        """

    def open_directory(self, entry: Entry, mode: int) -> None:
        """Give a directory that a run made, and that is no entry, its mode.

        A directory with another mode than new ones have stays as it is; a missing one is left out. Raises as
        ``set_attributes`` for another one with that mode.
        """

    def remove_directory(self, entry: Entry) -> None:
        """Remove a directory that is empty; one that is not there counts as removed.

        Raises ``ItemError`` with ``Reason.NOT_EMPTY`` for one that is not.
        """

    def limitations(self) -> tuple[str, ...]:
        """Tries what this tree cannot keep of an entry; returns a sentence for each."""

    def has_hard_links(self) -> bool:
        """Tries whether a file can have a second name, where the run stages; S3 Files has none. Raises ``Transient``.

        What was staged goes.
        """

    def identity(self) -> str:
        """Identifies the root, so that another directory in its place shows; empty if nothing can.

        Raises ``ItemError`` if it cannot be read.
        """

    def keep_out(self, identity: str, refusal: Callable[[str], Exception]) -> None:
        """Enter no directory of that identity, at its root or above it aside: raise what ``refusal`` makes of its path.

        The path is relative to the mount.
        """

    def published_above(self) -> str | None:
        """The root of the published tree whose versions hold this one; ``None`` for none. Raises ``Transient``."""

    def mark(self) -> None:
        """Leave a mark of the run at the root, within what it stages. Raises ``AccessDenied`` or ``Transient``."""

    def marked(self) -> str | None:
        """The directory of the mount, at or above the root, that holds the run's mark; ``None`` for none.

        Raises ``Transient`` where that is not known.
        """

    def staged_above(self, run_ids: Collection[str]) -> str | None:
        """One of the runs whose staging directory is in a directory of the mount above the root; ``None`` for none.

        Raises ``Transient``.
        """

    def fence(
        self,
        known: Sequence[Fence],
        concurrent: Callable[[], Collection[str]],
        may_fence: Callable[[str], None] = fence_any,
        made_by: Callable[[str], Collection[Staged]] = made_nothing,
    ) -> Fenced:
        """Take the right to write from ``known`` runs and from others that staged here, but not from ``concurrent``.

        ``concurrent`` is asked after they were looked for; ``may_fence`` raises for one of the others, before any is
        fenced, that must not be. ``made_by`` are the directories that the ledger of a run says it made; what is
        none of them is left. Raises ``AccessDenied`` or ``Transient`` for one that may write where this run does.
        """

    def recall(self, noted: Callable[[], Staged | None]) -> None:
        """Stage in the directory that ``noted`` reads of the ledger, and in no other of its name."""

    def staged(self) -> Staged | None:
        """The run's staging directory: as ``check`` made it, or as it was noted; ``None`` where there is none."""

    def end_copies(self) -> None:
        """Have no other attempt of this run put a copied file in its place from now on; this tree may.

        Asked of a tree that has staged nothing. Raises ``Transient``, and ``Superseded``.
        """

    def clear(self) -> None:
        """Remove what this run staged; it may go on writing."""

    def close_opened(self) -> None:
        """Give back their mode to directories that were made writable for the run. Raises ``Transient``."""

    @property
    def made_root(self) -> str:
        """The first directory on the way to the root that ``check`` made; empty where the root was there."""

    def unmake(self, made: str) -> None:
        """Remove the root, and those above it down from ``made``, as far as they are empty."""

    def finish(self) -> tuple[str, ...]:
        """Remove what this run staged; it writes nothing more. Returns what had to be left, a sentence each."""
