"""What the file system says of an entry, in the domain's words."""

from __future__ import annotations

import os
import stat

from fanout.domain.entries import Attributes, Entry, Kind


def attributes_of(found: os.stat_result) -> Attributes:
    """What an entry carries beside its bytes."""
    return Attributes(found.st_mode, found.st_uid, found.st_gid, found.st_mtime_ns, found.st_atime_ns)


def entry_of(path: str, found: os.stat_result) -> Entry:
    """What stands at a path, given without ``/`` at its end."""
    mode = found.st_mode
    if stat.S_ISDIR(mode):
        return Entry(f"{path}/", Kind.DIRECTORY, 0, found.st_mtime_ns, found.st_ctime_ns)
    if stat.S_ISREG(mode):
        kind = Kind.FILE
    elif stat.S_ISLNK(mode):
        kind = Kind.SYMLINK
    else:
        kind = Kind.SPECIAL
    size = 0 if kind is Kind.SPECIAL else found.st_size
    return Entry(path, kind, size, found.st_mtime_ns, found.st_ctime_ns)


def inode_of(found: os.stat_result, device: int) -> str:
    """Which file a name belongs to, among those of the file system ``device``; empty if it has one name.

    The number alone, because a client numbers the same NFS file system anew at each mount.
    """
    one_of_many = stat.S_ISREG(found.st_mode) and found.st_nlink > 1 and found.st_dev == device
    return str(found.st_ino) if one_of_many else ""


def is_same_file(first_directory: int, first: str, directory: int, name: str) -> bool:
    """Whether two names, each in its directory, are names of one file; a name that is missing is none."""
    here = os.stat(first, dir_fd=first_directory, follow_symlinks=False)
    try:
        there = os.stat(name, dir_fd=directory, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return (here.st_dev, here.st_ino) == (there.st_dev, there.st_ino)
