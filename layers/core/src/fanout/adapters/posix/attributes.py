"""A staged file: made anew, sent to the server, and given owner, mode and times."""

from __future__ import annotations

import errno
import os
import stat

from fanout.adapters.posix.errors import NOT_PERMITTED, no_room_for_name
from fanout.adapters.posix.fencing.own import against_file
from fanout.adapters.posix.paths.held_directory import HeldDirectory
from fanout.model.entry import Attributes


def open_staged(directory: int, name: str, mode: int, owner: int | None = None) -> tuple[int, os.stat_result]:
    """A new file, open for writing, that no other attempt can have made.

    Without O_EXCL, which costs NFS one more operation: the directory and the name belong to this attempt, and a file
    that was there already has bytes, another name, or another ``owner`` than the run's user.
    """
    descriptor = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, mode, dir_fd=directory)
    try:
        found = os.fstat(descriptor)
        if found.st_size or against_file(found, owner):
            raise FileExistsError(errno.EEXIST, "a staged file was there already")
    except OSError:
        os.close(descriptor)
        raise
    return descriptor, found


def send_written(descriptor: int) -> None:
    """Send the server what was written, and keep none of it in memory; an error is the write's.

    To be called before attributes are set. Linux's NFS client doubts what it knows of a file whose attributes it set
    while it held pages of it, and asks ACCESS before it links the file. A change of owner or mode has it ask anyway.
    """
    os.close(os.dup(descriptor))  # closing flushes, as the last one does
    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)


_SET_ID = stat.S_ISUID | stat.S_ISGID


def creation_mode(mode: int, *, uid: int | None, gid: int | None) -> int:
    """The mode to create a staged file with: all of it if its creator is its owner, else what the owner may.

    The file is never more accessible than its source, also before it has its owner.
    """
    created = uid in (None, os.geteuid()) and gid in (None, os.getegid())
    return mode & (0o777 if created else stat.S_IRWXU)


def group_by_place(attributes: Attributes, staged: HeldDirectory, place: HeldDirectory) -> int | None:
    """The group of a staged file that no source and no request gives one: as if it had been made at its place.

    A set-group-id directory gives its own; ``None`` leaves the file what it was made with.
    """
    if attributes.gid is not None:
        return None
    if place.group is None:
        return None if staged.group is None else os.getegid()
    return place.group


def apply_attributes(
    descriptor: int,
    attributes: Attributes,
    default_mode: int,
    found: os.stat_result | None = None,
    group: int | None = None,
) -> None:
    """Owner, mode and times, with no operation for what is right already by ``found``.

    ``group`` is what ``group_by_place`` says.

    Owner first: the mode is the owner's, and a change of owner clears set-id bits. A change that is not permitted is
    left out: an access point that enforces an identity cannot keep owners.
    """
    found = found or os.fstat(descriptor)
    uid = found.st_uid if attributes.uid is None else attributes.uid
    gid = _gid(attributes, found, group)
    if (uid, gid) != (found.st_uid, found.st_gid):
        _change_owner(descriptor, uid, gid)
    mode = default_mode if attributes.mode is None else stat.S_IMODE(attributes.mode)
    if mode & _SET_ID and stat.S_ISREG(found.st_mode):
        _change_set_id_mode(descriptor, mode, attributes)
    elif mode != stat.S_IMODE(found.st_mode) or mode & _SET_ID:
        os.fchmod(descriptor, mode)
    if (mtime_ns := attributes.copied_mtime_ns) is not None:
        os.utime(descriptor, ns=times_of(mtime_ns, attributes.atime_ns))


def _change_set_id_mode(descriptor: int, mode: int, attributes: Attributes) -> None:
    """Set a mode with set-id bits. They act in the name of an owner, so they go where it is not the source's.

    The file system is asked: not every change of an owner that is answered is carried out.
    """
    if _belongs_to(descriptor, attributes):
        os.fchmod(descriptor, mode)
        if _belongs_to(descriptor, attributes):
            return
    os.fchmod(descriptor, mode & ~_SET_ID)


def _belongs_to(descriptor: int, attributes: Attributes) -> bool:
    """Whether a file has the owner and the group that the source gives; not if the source gives only one, or none."""
    found = os.fstat(descriptor)
    return (found.st_uid, found.st_gid) == (attributes.uid, attributes.gid)


def _gid(attributes: Attributes, found: os.stat_result, group: int | None) -> int:
    if attributes.gid is not None:
        return attributes.gid
    return found.st_gid if group is None else group


def apply_link_attributes(directory: int, name: str, attributes: Attributes, group: int | None = None) -> None:
    """Owner and times of a symlink; its mode means nothing on Linux. ``group`` is what ``group_by_place`` says."""
    if attributes.uid is not None or attributes.gid is not None or group is not None:
        found = os.stat(name, dir_fd=directory, follow_symlinks=False)
        uid = found.st_uid if attributes.uid is None else attributes.uid
        gid = _gid(attributes, found, group)
        if (uid, gid) != (found.st_uid, found.st_gid):
            try:
                os.chown(name, uid, gid, dir_fd=directory, follow_symlinks=False)
            except OSError as error:
                if error.errno not in NOT_PERMITTED:
                    raise
    if (mtime_ns := attributes.copied_mtime_ns) is not None:
        times = times_of(mtime_ns, attributes.atime_ns)
        os.utime(name, ns=times, dir_fd=directory, follow_symlinks=False)


def times_of(mtime_ns: int, atime_ns: int | None) -> tuple[int, int]:
    """Access and modification time; the former is the latter where it is not known."""
    return mtime_ns if atime_ns is None else atime_ns, mtime_ns


def owner_limitation(directory: int, name: str) -> str | None:
    """Tries owners on a file made for it, and returns why this file system cannot keep them; ``None`` if they can."""
    descriptor, found = open_staged(directory, name, 0o600)
    try:
        wanted = (found.st_uid + 1, found.st_gid + 1)
        if _change_owner(descriptor, *wanted):
            after = os.fstat(descriptor)
            if (after.st_uid, after.st_gid) == wanted:
                return None
    finally:
        os.close(descriptor)
        os.unlink(name, dir_fd=directory)
    return (
        f"owners cannot be kept: every file at the destination belongs to {found.st_uid}:{found.st_gid}, "
        "which an access point enforces or the function's user is"
    )


def has_hard_links(directory: int, name: str) -> bool:
    """Tries a second name on a file made for it."""
    descriptor, _ = open_staged(directory, name, 0o600)
    os.close(descriptor)
    second = f"{name}-link"
    try:
        os.link(name, second, src_dir_fd=directory, dst_dir_fd=directory, follow_symlinks=False)
        os.unlink(second, dir_fd=directory)
    except OSError as error:
        if no_room_for_name(error) is None:
            raise
        return False
    finally:
        os.unlink(name, dir_fd=directory)
    return True


def time_of_new_file(directory: int, name: str) -> int:
    """The ctime of a file that is made here and removed: the time of who serves the file system."""
    descriptor, found = open_staged(directory, name, 0o600)
    os.close(descriptor)
    os.unlink(name, dir_fd=directory)
    return found.st_ctime_ns


def _change_owner(descriptor: int, uid: int, gid: int) -> bool:
    try:
        os.fchown(descriptor, uid, gid)
    except OSError as error:
        if error.errno not in NOT_PERMITTED:
            raise
        return False
    return True
