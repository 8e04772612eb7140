"""The port of a file system that a probe needs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import NamedTuple, Protocol

from fanout.model.file_system import Staged


class ProbeFile(Protocol):
    """A file of a probe. Raises ``ItemError``."""

    def write(self, offset: int, data: bytes | memoryview) -> None:
        """Write all of a block."""

    def read(self, offset: int, length: int) -> int:
        """Read up to so many bytes; returns how many there were."""

    def sync(self) -> None:
        """Wait until what was written is on the server."""

    def forget(self) -> None:
        """Have this client keep nothing of the file, as far as it can, so that what is read comes from the server."""

    def close(self) -> None:
        """Wait until what was written is on the server, as a close does."""


class OtherProbes(NamedTuple):
    """The directories of other probes that are at work, and those that are left, with the reason."""

    at_work: Sequence[str] = ()
    left: Sequence[str] = ()


# The directory that the probe of an id made; ``None`` where its ledger says nothing, or has expired.
MadeByProbe = Callable[[str], Staged | None]


class ProbeDirectory(Protocol):
    """The one directory of a mount that a probe works in; nothing outside it is read, written or removed.

    Paths are relative to it. No symlink is followed. Raises ``ItemError``.
    """

    @property
    def client(self) -> str:
        """Names what caches files: functions of one client see what another one wrote only on the server."""

    def free_bytes(self) -> int:
        """Free bytes by the file system's own account."""

    def begin(self) -> Staged:
        """Make it; what is to be noted before it is used. An error if anything has its name."""

    def enter(self, made: Staged) -> None:
        """Use the directory that was made so, and from now on no other one under its name."""

    def remove_others(self, made_by: MadeByProbe) -> OtherProbes:
        """Remove the directories that stopped probes made, by what ``made_by`` says of each."""

    def claim(self, name: str) -> bool:
        """Make a directory in it; false if it is there already."""

    def make(self, path: str) -> None:
        """Make a directory, unless it is there."""

    def files(self, path: str) -> Sequence[str]:
        """The paths of all files below a directory, in their order; none if it is not there."""

    def create(self, path: str, *, shared: bool = False) -> ProbeFile:
        """A new file, open for writing; where it is ``shared``, another function may have made it."""

    def open(self, path: str) -> ProbeFile:
        """A file, open for reading."""

    def remove(self) -> str:
        """Remove it with all that it holds; one that is not there counts as removed.

        Returns what is wrong if anything else has its name, which is left there.
        """

    def close(self) -> None:
        """Release what is held open."""


# The directory of a probe, of its id and of the path below the mount.
ProbeDirectories = Callable[[str, str], AbstractContextManager[ProbeDirectory]]
