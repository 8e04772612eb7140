"""Closes directories that were there before the run, before anything is put into them.

A directory that the run makes is closed until it gets its attributes. One that is there already may let in users whom
its source keeps out: the source was closed since, or another user made it. What its source will give it is asked for
once, where it lets anybody in at all:

| it is of                                    | the source gives it    | before the first entry                        |
|---------------------------------------------|------------------------|-----------------------------------------------|
| anybody                                     | no mode                | stays as it is                                |
| root, the run's user, or its owner to be    | a mode                 | loses what group and others do not get there  |
| another user, and the run's user is root    | an owner and a mode    | is taken: nothing of its maker stays          |
| another user, and the run cannot be root    | an owner and a mode    | as in the second row                          |

A taken one is as the run would have made it: root's, with the group and the set-gid bit of what is made there, without
access control lists, and with the mode of a taken one. An owner that the stack refuses is the function's user.

Nothing is ever opened here. FinishTree gives a taken directory its attributes only if the listing saw it; otherwise it
stays closed, and the run fails. Whether a run ended meanwhile, its mode tells the next one.
"""

from __future__ import annotations

import errno
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
# The access control lists of POSIX: who may enter a directory, and who what is made in it (acl(5)).
_LISTS = ("system.posix_acl_access", "system.posix_acl_default")
_NO_LIST = frozenset({errno.ENODATA, errno.EOPNOTSUPP})
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
            wanted = self._allowed.of(wanted, is_directory=True, own=self._token.owner_of_all)
            found = self._close(path, descriptor, found, wanted, is_told=told is not None)
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
            found = self._take(path, descriptor, found)
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

    def _take(self, path: str, descriptor: int, found: os.stat_result) -> os.stat_result:
        """Make a directory root's, and closed. The mode first: its owner may set it, and by it a next run notices it.

        Nothing of its maker stays: its group and set-gid bit are those of a directory that the run makes there, and
        no access control list lets anybody into it, or into what is made in it.

        Raises ``OSError``, and ``ItemError`` where it did not become root's.
        """
        place = f"/proc/self/fd/{descriptor}"
        _set_mode(descriptor, TAKEN_MODE)
        above = os.stat("..", dir_fd=descriptor)
        inherits = above.st_mode & stat.S_ISGID
        group = above.st_gid if inherits else self._token.group_here()
        os.chown(place, _ROOT, group)
        _remove_lists(place)
        _set_mode(descriptor, TAKEN_MODE | inherits)
        after = os.fstat(descriptor)
        if (after.st_uid, after.st_gid) != (_ROOT, group) or after.st_mode & _OTHERS:
            problem = f"{path} belongs to user {found.st_uid}, and could not be taken: look who makes directories there"
            raise ItemError(Reason.DESTINATION_DENIED, problem)
        return after


def _remove_lists(place: str) -> None:
    """Remove the access control lists of a directory. A file system may have none, as EFS. Raises ``OSError``."""
    for name in _LISTS:
        try:
            os.removexattr(place, name)
        except OSError as error:
            if error.errno not in _NO_LIST:
                raise


def _access(found: os.stat_result) -> tuple[int, ...]:
    return found.st_ino, found.st_mode, found.st_uid, found.st_gid


def _set_mode(descriptor: int, mode: int) -> None:
    """Also of a directory that was only entered (``O_PATH``), where fchmod(2) is refused."""
    Path(f"/proc/self/fd/{descriptor}").chmod(stat.S_IMODE(mode))
