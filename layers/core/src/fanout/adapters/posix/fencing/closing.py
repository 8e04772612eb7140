"""Closes directories that were there before the run, before anything is put into them.

A directory that the run makes is closed until it gets its attributes. One that is there already may let in users whom
its source keeps out: the source was closed since, or another user made it. What its source will give it is asked for
once, where it lets anybody in at all:

| it is of                                    | the source gives it    | before the first entry                        |
|---------------------------------------------|------------------------|-----------------------------------------------|
| anybody                                     | no mode                | stays as it is                                |
| root, the run's user, or its owner to be    | a mode                 | loses what group and others do not get there  |
| another user, and the run's user is root    | an owner and a mode    | is taken: root's, of the mode of a taken one  |
| another user, and the run cannot be root    | an owner and a mode    | as in the second row                          |

Nothing is ever opened here. FinishTree gives a taken directory its attributes only if the listing saw it; otherwise it
stays closed, and the run fails. Whether a run ended meanwhile, its mode tells the next one.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from fanout.adapters.posix.fencing.fencing_token import FencingToken
from fanout.model.entry import Attributes
from fanout.model.errors import ItemError
from fanout.model.outcome import Reason
from fanout.model.path_rules import TAKEN_MODE, narrowed_mode
from fanout.ports.file_system import SourceDirectories
from fanout.request.parts.allowed_attributes import Allowed

_OTHERS = stat.S_IRWXG | stat.S_IRWXO
_ROOT = 0
# Chosen: directories in memory that need no second question.
_KNOWN = 10_000


class Closing:
    """Closes directories by their paths below the root of a run; ``allowed`` is what they may have here."""

    def __init__(self, token: FencingToken, allowed: Allowed) -> None:
        self._token, self._allowed = token, allowed
        self._source: SourceDirectories | None = None
        self._told: dict[str, Attributes] = {}
        self._closed: dict[str, tuple[int, ...]] = {}

    def close_by(self, source: SourceDirectories) -> None:
        """Ask ``source`` from now on what directories will get."""
        self._source = source
        self._closed.clear()

    def tell(self, path: str, attributes: Attributes) -> None:
        """Take what a directory will get; it is an entry that is about to be made or entered."""
        self._told[path] = attributes

    def heed(self, path: str, descriptor: int) -> None:
        """Close a directory by what was told of it, if that was after it was entered. Raises as ``close``."""
        if path in self._told:
            self.close(path, descriptor, os.fstat(descriptor))

    def close(self, path: str, descriptor: int, found: os.stat_result) -> None:
        """Close an open directory, if it lets anybody in. Raises ``OSError``, ``ItemError``, and as the source."""
        told = self._told.pop(path, None)
        if not found.st_mode & _OTHERS and not self._is_of_others(found):
            return
        if told is None and (self._source is None or self._closed.get(path) == _access(found)):
            return
        wanted = told if told is not None or self._source is None else self._source.attributes(path)
        if wanted is not None:
            found = self._close(
                path, descriptor, found, self._allowed.of(wanted, is_directory=True), is_told=told is not None
            )
        if len(self._closed) > _KNOWN:
            self._closed.clear()
        self._closed[path] = _access(found)

    def _is_of_others(self, found: os.stat_result) -> bool:
        """Whether a directory is neither root's nor the run's user's, who is root and can take it."""
        return self._token.owner_of_all() == _ROOT and found.st_uid != _ROOT

    def _close(
        self, path: str, descriptor: int, found: os.stat_result, wanted: Attributes, *, is_told: bool
    ) -> os.stat_result:
        if wanted.mode is None:
            return found
        takes = is_told or (self._source is not None and self._source.are_entries)
        if takes and wanted.uid not in (None, found.st_uid) and self._is_of_others(found):
            self._token.look()
            found = _take(path, descriptor, found)
            if not is_told and self._source is not None:
                self._source.taken(path, wanted)
            return found
        mode = narrowed_mode(found.st_mode, wanted.mode, same_group=wanted.gid in (None, found.st_gid))
        if mode == found.st_mode:
            return found
        self._token.look()
        try:
            _set_mode(descriptor, mode)
        except PermissionError as error:
            who = f"it belongs to user {found.st_uid}, whose directories the run cannot close"
            remedy = f"run chmod {stat.S_IMODE(mode):o} on it, or leave it out"
            problem = f"{path} lets in users whom its source keeps out, and {who}: {remedy}"
            raise ItemError(Reason.DESTINATION_DENIED, problem) from error
        return os.fstat(descriptor)


def _take(path: str, descriptor: int, found: os.stat_result) -> os.stat_result:
    """Make a directory root's, and closed. The mode first: a run that ends here is noticed by it; its owner may set it.

    Raises ``OSError``, and ``ItemError`` where it did not become root's.
    """
    mode = TAKEN_MODE | found.st_mode & stat.S_ISGID
    _set_mode(descriptor, mode)
    os.chown(f"/proc/self/fd/{descriptor}", _ROOT, -1)
    _set_mode(descriptor, mode)
    after = os.fstat(descriptor)
    if after.st_uid != _ROOT or after.st_mode & _OTHERS:
        problem = f"{path} belongs to user {found.st_uid}, and could not be taken: look who makes directories there"
        raise ItemError(Reason.DESTINATION_DENIED, problem)
    return after


def _access(found: os.stat_result) -> tuple[int, ...]:
    return found.st_ino, found.st_mode, found.st_uid, found.st_gid


def _set_mode(descriptor: int, mode: int) -> None:
    """Also of a directory that was only entered (``O_PATH``), where fchmod(2) is refused."""
    Path(f"/proc/self/fd/{descriptor}").chmod(stat.S_IMODE(mode))
