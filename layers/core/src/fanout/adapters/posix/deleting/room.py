"""The questions that every deletion on a mount asks before it.

| what goes             | inside       | published | run's backup | right to write | still what was looked at       |
|-----------------------|--------------|-----------|--------------|----------------|--------------------------------|
| a file or symlink     | ``Room``     | the same  | the same     | the same       | kind, size, mtime; at a source |
|                       |              |           |              |                | ctime and inode too            |
| a directory           | ``Room``     | the same  | the same     | the same       | it is empty; at a source the   |
|                       |              |           |              |                | mode and owner too             |
| a version, retired    | ``one_name`` | not live  | has none     | ``look``       | a directory                    |
| a staging directory   | ``one_name`` | no part   | no part      | is the right   | a directory                    |

A question is a method of ``Room`` that raises ``ItemError``; ``ask_by_name`` and ``ask`` ask all of them.
"""

from __future__ import annotations

from fanout.adapters.posix.fencing.fencing_token import FencingToken
from fanout.adapters.posix.paths.directories import Directories
from fanout.adapters.posix.publishing.kept import keep_published
from fanout.model.errors import ItemError
from fanout.model.outcome import Reason
from fanout.model.path_rules import reason_against_file_path

# A path that exists may be deeper than a destination takes.
_HARMLESS = (None, Reason.PATH_TOO_DEEP)


class Room:
    """Where a run deletes: below ``root``, a path of ``directories`` that is empty or ends in ``/``.

    ``kept`` is the request's ``backup_to`` if it lies on the mount, with ``/`` at its end; else empty.
    """

    def __init__(self, directories: Directories, root: str, token: FencingToken, kept: str = "") -> None:
        self.directories, self.root = directories, root
        self.token = token
        self._kept = kept

    def ask_by_name(self, path: str) -> None:
        """Raise ``ItemError`` for a path of the mount that must stay whatever it is; asked before it is looked at."""
        self._is_inside(path)
        self._is_no_backup(path)

    def ask(self, path: str, link: int | None = None) -> None:
        """Raise ``ItemError``, ``Superseded`` or ``OSError`` for what must stay; asked right before it goes.

        ``link`` is the open directory that holds the path, if it is a symlink.
        """
        keep_published(self.directories, path, link)
        self.token.look()

    def _is_inside(self, path: str) -> None:
        """A name may lead out of the mount; the root itself is no entry."""
        below = path.removeprefix(self.root)
        reason = Reason.NAME_ABSOLUTE if not path.startswith(self.root) else reason_against_file_path(below)
        if reason not in _HARMLESS:
            raise ItemError(reason or Reason.NAME_EMPTY, f"/{path} is no entry below /{self.root}")

    def _is_no_backup(self, path: str) -> None:
        if self._kept and (path.startswith(self._kept) or self._kept.startswith(f"{path.removesuffix('/')}/")):
            raise ItemError(Reason.IN_BACKUP, f"this run keeps there what it replaces: /{self._kept}")
