"""The port of the versions of a published tree, and of the link that names one of them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

from fanout.model.deadline import Deadline
from fanout.model.entry import MadeEntry


class Removal(NamedTuple):
    """Whether versions that were taken away were removed in time, and the directories of others that were left."""

    done: bool
    left: tuple[str, ...] = ()


class Versions(Protocol):
    """The versions next to the one that a run makes, and the link.

    Only functions that see the mount use it. What changes something looks at the run's right to write before, and
    raises ``Superseded`` without it. Raises ``AccessDenied`` or ``Transient`` where the file system refuses, and
    ``InvalidRequest`` where something else is in the place of the versions.
    """

    def claim(self, owner: bytes) -> bytes:
        """Note whose versions these are, unless that is noted; returns what is noted."""

    def begin(self) -> None:
        """Note that a run makes its version, so that a later one may remove it if it is never published."""

    def published(self) -> str:
        """The version that the link names, empty where there is no link.

        Raises ``InvalidRequest`` for anything else that has the link's name.
        """

    def noted(self) -> Mapping[str, bytes]:
        """The versions that were whole when a run published them, each with the note of that run."""

    def unfinished(self) -> Sequence[str]:
        """The versions that were begun and have no note: of runs that did not succeed, and of this one before it does.

        A directory that no run began is none of them.
        """

    def held(self) -> bool | None:
        """Whether the version of the run holds anything; ``None`` where it is not there."""

    def entry_at(self, path: str) -> MadeEntry | None:
        """The entry at a path of the run's version as it is now; ``None`` where there is none."""

    def note(self, data: bytes) -> None:
        """Note of the run's version that it is whole."""

    def switch(self) -> str:
        """Have the link name the run's version, at once; returns the version that it named, empty for none."""

    def retire(self, version: str) -> None:
        """Take a version away at once; one that the link names stays."""

    def note_directories(self, version: str, made: Iterable[tuple[str, int | None]]) -> None:
        """Note the directories that runs made in a version, which are removed with all that they hold.

        Each by its inode, with the owner that it got; ``None`` for the user of the run.
        """

    def with_noted_directories(self) -> Collection[str]:
        """The versions of which that was noted."""

    def remove_retired(self, deadline: Deadline) -> Removal:
        """Remove the content of versions that were taken away, but for directories that others moved into them."""
