"""An entry of a tree, and its attributes."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from enum import StrEnum

from msgspec import Struct, field
from msgspec.structs import replace

from fanout.model.outcome import Reason

# No ETag: each has quotes around it.
NOTHING_THERE = "-"
SECOND_NS = 1_000_000_000
# Under these names ``Attributes.unreadable`` holds a mode whose set-id bits were left out, by the reason: the request
# does not ask for them, the stack allows none, they are root's. Under the last, an owner that the stack does not allow.
SET_IDS, STACK_SET_IDS, ROOT_SET_IDS, OWNERS = "set_ids", "stack_set_ids", "root_set_ids", "owners"
LEFT_OUT = (SET_IDS, STACK_SET_IDS, ROOT_SET_IDS, OWNERS)


class Kind(StrEnum):
    """The kind of an entry; ``UNLISTABLE`` is a directory whose content cannot be read."""

    FILE = "file"
    DIRECTORY = "directory"
    SYMLINK = "symlink"
    SPECIAL = "special"
    UNLISTABLE = "unlistable"


# Not frozen, though nothing changes one: a listing makes two for each file, and a frozen one takes 2.0 µs, not 0.45.
class Entry(Struct, frozen=True, omit_defaults=True):
    """An entry of a tree, as a listing shows it. It is a value: ``replace`` makes a changed copy.

    ``path`` is relative to the tree's root, with ``/`` between components and at
    the end of a directory; bytes that are not UTF-8 are surrogate escapes.
    ``changed_ns`` is when content or attributes last changed by the store's own
    clock (ctime, Last-Modified), ``mtime_ns`` what the owner says; both in
    nanoseconds since 1970. ``etag`` pins an object; ``size``, ``mtime_ns`` and ``changed_ns`` pin a file.
    A directory of a mount that a move has proven bears its ``permissions_of`` as ``etag``.
    ``inode`` tells which names of the same tree are one file or symlink; empty for one with one name. A directory of a
    mounted destination has its own. ``problem`` says why the listing could make no file or directory of a symlink that
    is to be followed.
    ``target`` is the path at the destination where it is another one. ``replaces`` is what the listing saw at its
    place: in a bucket an ETag or ``NOTHING_THERE``, on a mount the inode of a directory; empty where that is not known.
    ``held`` is set where a run brings back what is held: by a listing the kind of store that may hold it, after a look
    at the object the one that does; no row of a shard has it, because ``Shard`` does.
    """

    path: str
    kind: Kind
    size: int = 0
    mtime_ns: int = 0
    changed_ns: int = 0
    etag: str = ""
    inode: str = ""
    problem: Reason | None = None
    target: str = ""
    replaces: str = ""
    held: str = field(default="", name="archive")

    @property
    def placed(self) -> Entry:
        """The entry under its path at the destination."""
        return replace(self, path=self.target, target="") if self.target else self

    @property
    def is_linkable(self) -> bool:
        """Whether it is one name of a regular file with several, which a copy links. Symlinks are copied one by one."""
        return bool(self.inode) and self.kind is Kind.FILE

    @property
    def sort_key(self) -> bytes:
        """The path's bytes: the order in which S3 lists keys."""
        return os.fsencode(self.path)


class Says(StrEnum):
    """An end's word on one attribute of an entry; ``UNREADABLE``: it has a value that means nothing here."""

    TOLD = "told"
    NOT_TOLD = "not told"
    UNREADABLE = "unreadable"


# Not frozen either: one is made for each file that is copied.
class Attributes(Struct):
    """The attributes of an entry; ``None`` means that its end does not tell it, or tells it unreadably: see ``says``.

    ``mode`` is the whole ``st_mode``; times are in nanoseconds since 1970. ``modified_ns`` is when an object was
    written: a copy of it gets that time as its mtime where the object's metadata holds none.
    ``headers`` holds an object's own headers (Content-Type, Cache-Control,
    ``x-amz-meta-*``) without those that describe a POSIX file. ``unreadable`` holds the text of attributes that cannot
    be read, by the name of their field. ``tags`` is how many tags an object has, 0 also where the right to read them is
    missing.
    """

    mode: int | None = None
    uid: int | None = None
    gid: int | None = None
    mtime_ns: int | None = None
    atime_ns: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    modified_ns: int | None = None
    unreadable: Mapping[str, str] = field(default_factory=dict)
    tags: int = 0

    def says(self, name: str) -> Says:
        """Whether the end tells the attribute of this field."""
        if getattr(self, name) is not None:
            return Says.TOLD
        return Says.UNREADABLE if name in self.unreadable else Says.NOT_TOLD

    @property
    def copied_mtime_ns(self) -> int | None:
        """The mtime that a copy in a file system gets; ``None`` where nothing tells one."""
        return self.modified_ns if self.mtime_ns is None else self.mtime_ns

    @property
    def is_symlink(self) -> bool:
        """Whether the source says that the bytes are the target of a symlink."""
        return self.mode is not None and stat.S_ISLNK(self.mode)


class Place(Struct, frozen=True):
    """A directory of the destination that a run puts entries into, by its inode.

    ``is_own``: the run made it, or another attempt did that was stopped; for any other, the listing's look counts.
    """

    path: str
    inode: str
    is_own: bool = True


class MadeEntry(Struct, frozen=True):
    """An entry of a version as a run made or linked it; ``target`` is that of a symlink.

    ``mode`` is the whole ``st_mode``, times are in nanoseconds since 1970. ``changed_ns`` is the ctime; 0 for a copy,
    whose ctime the way to its place moved. ``sealed_ns`` is the file system's time after the run's last own change of
    the version, 0 where it said none; no row holds it.
    """

    path: str
    mode: int
    uid: int
    gid: int
    size: int
    mtime_ns: int
    inode: int = 0
    changed_ns: int = 0
    target: str = ""
    sealed_ns: int = 0

    def looks_like(self, now: MadeEntry) -> bool:
        """Whether an entry is this one by all that its owner can see, and set."""
        return replace(now, changed_ns=self.changed_ns, sealed_ns=self.sealed_ns) == self

    def still_is(self, now: MadeEntry) -> bool:
        """Whether an entry is this one, and nobody touched it since: its ctime is known, or no later than the seal."""
        return self.looks_like(now) and (now.changed_ns == self.changed_ns or now.changed_ns <= self.sealed_ns)


def whole_seconds(time_ns: int) -> int:
    """A time as the header Last-Modified shows it; a LIST may show its milliseconds."""
    return time_ns - time_ns % SECOND_NS


class Found(Struct, frozen=True):
    """The answer of one request about a path; ``crc64nvme`` is the store's own checksum of all bytes, if it keeps one.

    ``attributes`` are those that the same answer gave; ``None`` where ``open`` has to be asked. ``others`` are the
    store's checksums of all bytes by other algorithms, as it writes them. ``etag_is_digest`` is false where the store
    makes the ETag of something else than the bytes.
    """

    entry: Entry
    crc64nvme: int | None
    attributes: Attributes | None = None
    others: Mapping[str, str] = field(default_factory=dict)
    etag_is_digest: bool = True

    @property
    def digest(self) -> str:
        """The ETag where it is a digest of all bytes, not of parts; empty where it is none."""
        etag = self.entry.etag
        return etag if self.etag_is_digest and "-" not in etag else ""

    @property
    def mtime_ns(self) -> int | None:
        """The owner's time in an object's metadata (``file-mtime``), ``None`` without."""
        return None if self.attributes is None else self.attributes.mtime_ns

    @property
    def is_symlink(self) -> bool:
        """Whether an object's metadata makes it a symlink."""
        return self.attributes is not None and self.attributes.is_symlink


def permissions_of(mode: int, uid: int | None, gid: int | None) -> str:
    """The mode and owner of a directory as one text, which no entry that comes or goes moves."""
    return f"{stat.S_IMODE(mode):o}:{uid}:{gid}"


# An entry written at the destination less than this after its source changed may hold the bytes before that.
MARGIN_NS = 1_000_000_000


def same_simple_etag(source: str, destination: str) -> bool:
    """Whether two ETags are equal and cover whole bytes; the ETag of a multipart upload holds a hyphen."""
    return bool(source) and source == destination and "-" not in source


def bare(etag: str) -> str:
    """An ETag without its quotes, which some servers and some answers leave out."""
    return etag.strip('"')
