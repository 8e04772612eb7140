"""Which paths a destination can hold, every other one is rejected with its reason; and directories that no entry names.

Those lie above a path: which they are, and what mode each gets.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Sequence
from typing import Annotated, Final

from msgspec import Meta

from fanout.facts import aws
from fanout.model.outcome import Reason

STAGING_PREFIX = ".fanout-staging-"
# Hidden directories of probes and of the doctor; no run stages there.
PROBE_PREFIX = f"{STAGING_PREFIX}probe-"
DOCTOR_PREFIX = f"{STAGING_PREFIX}doctor-"

# The name that Linux gives a file on an NFS mount which is unlinked while a process holds it open: the number of its
# inode and a counter (fs/nfs/unlink.c). It is no entry: its owner removed it, and the client that holds it will.
UNLINKED_PREFIX = ".nfs"
_UNLINKED = re.compile(r"(?:.*/)?\.nfs[0-9a-f]{24}", re.DOTALL)

# What a directory or the kernel reads as something else than an entry in it.
NO_NAMES = {"": Reason.NAME_EMPTY, ".": Reason.NAME_DOT, "..": Reason.NAME_DOT}
# Reasons for which a path could leave its root or reach what is a run's own; the others are limits of a store.
LEADS_ELSEWHERE = frozenset(
    {Reason.NAME_ABSOLUTE, Reason.NAME_NUL, Reason.NAME_EMPTY, Reason.NAME_DOT, Reason.NAME_RESERVED}
)

# A name that a document gives and that becomes part of a path: one component, whatever length a file system takes.
# Who decodes the document refuses any other, so no adapter has to look again.
_PLAIN: Final = r"(?!\.{1,2}\Z)[^/\x00]+\Z"
PlainName = Annotated[str, Meta(pattern=rf"\A{_PLAIN}")]
# The same, or empty where there is none.
PlainNameOrNone = Annotated[str, Meta(pattern=rf"\A(?:\Z|{_PLAIN})")]

DEFAULT_DIRECTORY_MODE = 0o755
# The mode of a new directory until it gets its own. The sticky bit has no effect if no other user may write. It tells
# such a directory from a private one: a stopped run leaves it, and the next run recognizes it.
UNFINISHED_MODE = stat.S_ISVTX | stat.S_IRWXU
# The mode of another user's directory that a run took, until it gets its own: unfinished, and not made by a run.
TAKEN_MODE = stat.S_ISUID | UNFINISHED_MODE


def is_unlinked_file(path: str) -> bool:
    """Whether a path is that of a file which an NFS client unlinked and holds open."""
    return UNLINKED_PREFIX in path and _UNLINKED.fullmatch(path) is not None


def reason_against_file_path(path: str) -> Reason | None:
    """Why a path cannot be an entry of a file system below the root, or ``None``.

    A single ``/`` at the end marks a directory and is not an empty component.
    """
    # Matches nearly every path, in 0.3 µs instead of 1.5: it is too short for a limit, and has no dot that could
    # matter.
    short = len(path) <= (aws.NAME_BYTES if path.isascii() else aws.NAME_BYTES // 4)
    if short and path and path[0] not in "/." and "/." not in path and "//" not in path and "\0" not in path:
        return None
    if path.startswith("/"):
        return Reason.NAME_ABSOLUTE
    if "\0" in path:
        return Reason.NAME_NUL
    parts = path.removesuffix("/").split("/")
    if len(parts) > aws.DIRECTORY_DEPTH:
        return Reason.PATH_TOO_DEEP
    if parts[0].startswith(STAGING_PREFIX):
        return Reason.NAME_RESERVED
    for part in parts:
        if part in NO_NAMES:
            return NO_NAMES[part]
        if len(part) > aws.NAME_BYTES // 4 and len(os.fsencode(part)) > aws.NAME_BYTES:
            return Reason.NAME_TOO_LONG
    return None


def all_plain(names: Sequence[str]) -> bool:
    """Whether names of one directory are such that each has a place if the first and the longest have.

    No rule is about more than their length: they are of one byte a character, have no NUL and begin with no dot.
    """
    together = "/".join(names)
    return together.isascii() and "\0" not in together and "/." not in together and together[0] != "."


def reason_against_name(name: str) -> Reason | None:
    """Why a name is none of an entry in a directory, whatever the length that a file system takes, or ``None``."""
    if name in NO_NAMES:
        return NO_NAMES[name]
    return Reason.NAME_NUL if "\0" in name else Reason.NAME_ABSOLUTE if "/" in name else None


def is_no_place(path: str) -> bool:
    """Whether no entry of a tree can have a path, whatever is there; an empty path is the root itself."""
    return bool(path) and reason_against_file_path(path) in LEADS_ELSEWHERE


def check_file_path(path: str) -> None:
    """Raise ``ValueError`` for a path that would not stay below its root, or would reach what is a run's own."""
    if is_no_place(path):
        raise ValueError(f"{path[:200]!r} is no path of an entry")


def reason_against_key(path: str, prefix_bytes: int) -> Reason | None:
    """Why a path cannot be a key below a prefix of ``prefix_bytes`` bytes, or ``None``."""
    reason = key_too_long(path, prefix_bytes)
    if reason is not None:
        return reason
    if path.split("/", 1)[0].startswith(STAGING_PREFIX):
        return Reason.NAME_RESERVED
    return None


def key_too_long(path: str, prefix_bytes: int) -> Reason | None:
    """The reason against a path that is no key at all: over 1,024 bytes with its prefix, or not UTF-8."""
    try:
        length = len(path.encode("utf-8"))
    except UnicodeEncodeError:
        return Reason.KEY_NOT_UTF8
    return Reason.KEY_TOO_LONG if length + prefix_bytes > aws.KEY_BYTES else None


class FilesAbove:
    """Finds keys below a key that is a file itself (``a`` and ``a/b``) in one pass in key order.

    Other keys that begin with ``a`` may come between ``a`` and ``a/b``: ``a-b`` sorts before ``a/b``. So a stack
    keeps the files that are a prefix of the current key, at most one for every byte of a key.
    """

    def __init__(self, files: tuple[str, ...] = ()) -> None:
        self._stack = list(files)

    def covers(self, path: str) -> bool:
        """Whether a file seen before is a parent directory of ``path``. Call in key order."""
        return bool(self.parents(path))

    def parents(self, path: str) -> tuple[str, ...]:
        """The files seen before that are parent directories of ``path``. Call in key order."""
        while self._stack and not path.startswith(self._stack[-1]):
            self._stack.pop()
        if not self._stack:
            return ()
        return tuple(name for name in self._stack if path.startswith("/", len(name)))

    def add(self, path: str) -> None:
        """Remember a file; call after ``covers`` for the same path."""
        self._stack.append(path)

    def add_files(self, paths: Sequence[str]) -> None:
        """Remember files of one directory; of them only those matter that begin the last path: see the class."""
        last = paths[-1]
        self.parents(last)
        self._stack += [path for path in paths if last.startswith(path)]

    def snapshot(self) -> tuple[str, ...]:
        """The files that the segment after the current key must know."""
        return tuple(self._stack)


def is_unfinished(mode: int) -> bool:
    """Whether a directory has the mode of a new one; a set-gid bit comes from the directory above."""
    return mode & 0o1777 == UNFINISHED_MODE


def is_taken(mode: int) -> bool:
    """Whether a directory has the mode of one that a run took."""
    return is_unfinished(mode) and bool(mode & stat.S_ISUID)


def narrowed_mode(mode: int, wanted: int, *, same_group: bool) -> int:
    """The ``mode`` of a directory without what group and others do not get by the mode that it is to have.

    ``same_group``: its group will be the same. Otherwise each gets only what both group and others are to have.
    """
    group, others = wanted >> 3 & stat.S_IRWXO, wanted & stat.S_IRWXO
    if not same_group:
        group = others = group & others
    return mode & ~(stat.S_IRWXG | stat.S_IRWXO) | mode & (group << 3 | others)


def mode_not_told(mode: int) -> int:
    """The mode of a directory at the destination that neither source nor request tells one, where it has ``mode`` now.

    A new one gets the default, with the set-gid bit that it has from above; another one keeps its own.
    """
    if is_unfinished(mode):
        return DEFAULT_DIRECTORY_MODE | mode & stat.S_ISGID
    return stat.S_IMODE(mode)


def parent_of(path: str) -> str:
    """The directory that an entry lies in directly; empty for the root."""
    return path[: path.rfind("/", 0, -1) + 1]


def parents_of(path: str) -> Iterator[str]:
    """The directories above a path, topmost first, each with its ``/``."""
    end = path.find("/") + 1
    while 0 < end < len(path):
        yield path[:end]
        end = path.find("/", end) + 1


def mode_without_owner(mode: int | None) -> int:
    """The mode of a directory that the request leaves out, from its ``mode`` at the source: the default, or narrower.

    The function's user owns it, so its group gets only what both group and others have at the source.
    """
    if mode is None:
        return DEFAULT_DIRECTORY_MODE
    shared = mode >> 3 & mode & stat.S_IRWXO
    return DEFAULT_DIRECTORY_MODE & (stat.S_IRWXU | shared << 3 | shared)
