"""One table of what each errno of the file system means, and the reasons that follow.

| numbers           | mean, here and on an NFS client                                                              |
|-------------------|----------------------------------------------------------------------------------------------|
| ``GONE``          | nothing has that name                                                                        |
| ``NOTHING``       | the directory holds nothing of that name, or cannot                                          |
| ``STALE``         | another client removed, or replaced, the directory or file that is open here                 |
| ``HOLDS``         | a directory holds something, or the name is taken                                            |
| ``TAKEN``         | a directory has the name of a file                                                           |
| ``HELD``          | this client holds the file open: it was unlinked, has the hidden name ``.nfs...``, and goes  |
|                   | when it is closed                                                                            |
| ``LEADS_AWAY``    | a symlink in the path, or one that leads out of the root                                     |
| ``DENIED``        | the identity may not                                                                         |
| ``NOT_PERMITTED`` | the identity may not, or the server does not know the owner; see user namespaces             |
| ``MAY_PASS``      | the server or the network; asked again it may answer                                         |
"""

from __future__ import annotations

import errno

from fanout.model.errors import ItemError
from fanout.model.outcome import Reason

GONE = frozenset({errno.ENOENT, errno.ENOTDIR})
NOTHING = frozenset({errno.ENOENT, errno.ENAMETOOLONG})
STALE = frozenset({errno.ESTALE})
HOLDS = frozenset({errno.ENOTEMPTY, errno.EEXIST})
TAKEN = frozenset({errno.EISDIR})
HELD = frozenset({errno.EBUSY})
LEADS_AWAY = frozenset({errno.ELOOP, errno.EXDEV})
DENIED = frozenset({errno.EACCES, errno.EPERM})
NOT_PERMITTED = frozenset({errno.EPERM, errno.EINVAL})
MAY_PASS = STALE | {errno.EIO, errno.EREMOTEIO, errno.ETIMEDOUT, errno.EINTR, errno.EAGAIN}

_SOURCE = {
    errno.ENOENT: Reason.SOURCE_VANISHED,
    errno.ENOTDIR: Reason.SOURCE_VANISHED,
    errno.ESTALE: Reason.SOURCE_CHANGED,  # removed or replaced: only a look at the name tells which
    errno.ELOOP: Reason.SOURCE_CHANGED,
    errno.EXDEV: Reason.LINK_OUTSIDE,
    errno.EACCES: Reason.SOURCE_DENIED,
    errno.EPERM: Reason.SOURCE_DENIED,
}
_DESTINATION = {
    errno.EACCES: Reason.DESTINATION_DENIED,
    errno.EPERM: Reason.DESTINATION_DENIED,
    errno.EROFS: Reason.DESTINATION_DENIED,
    errno.ENOSPC: Reason.NO_SPACE,
    errno.EDQUOT: Reason.NO_SPACE,
    errno.EISDIR: Reason.DESTINATION_KIND,
    errno.ENOTDIR: Reason.DESTINATION_KIND,
    errno.ENOTEMPTY: Reason.DESTINATION_KIND,
    errno.EEXIST: Reason.DESTINATION_KIND,
    errno.ENAMETOOLONG: Reason.NAME_TOO_LONG,
    errno.ELOOP: Reason.LINK_IN_PATH,
}


def source_error(operation: str, error: OSError) -> ItemError:
    """The item error of a failed operation at the source."""
    return _item_error(_SOURCE, "source", operation, error)


def destination_error(operation: str, error: OSError) -> ItemError:
    """The item error of a failed operation at the destination."""
    return _item_error(_DESTINATION, "destination", operation, error)


# link(2): EMLINK for too many names, EPERM of a file system without hard links. An NFS server's NOTSUPP arrives as one
# of the other two: Linux has no name for 524 outside of the kernel (include/linux/errno.h).
_NO_ROOM = (errno.EMLINK, errno.EPERM, errno.EOPNOTSUPP, 524)


def no_room_for_name(error: OSError) -> ItemError | None:
    """The item error of a link where the file has no room for another name, or the file system keeps one; or none."""
    if error.errno not in _NO_ROOM:
        return None
    name = errno.errorcode.get(error.errno, str(error.errno))
    return ItemError(Reason.LINK_LIMIT, f"link at the destination: {name}")


def _item_error(reasons: dict[int, Reason], end: str, operation: str, error: OSError) -> ItemError:
    number = error.errno or 0
    name = errno.errorcode.get(number, str(number))
    return ItemError(reasons.get(number, Reason.TRANSIENT), f"{operation} at the {end}: {name}")
