"""Access control lists of POSIX, as Linux keeps them (posix_acl_xattr.h)."""

from __future__ import annotations

import struct

# Who may enter a directory, and who what is made in it.
ACCESS_LISTS = ("system.posix_acl_access", "system.posix_acl_default")


def list_for(user: int) -> bytes:
    """A list by which a user may do all, and others nothing."""
    nobody = 2**32 - 1
    rights = ((1, 7, nobody), (2, 7, user), (4, 5, nobody), (0x10, 7, nobody), (0x20, 0, nobody))
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *one) for one in rights)
