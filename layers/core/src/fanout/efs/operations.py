"""The operations of one file at a file system, with those that options of a request add."""

from __future__ import annotations

from fanout.model.shard import OPERATIONS_PER_FILE
from fanout.request.options import Mode, Overwrite
from fanout.request.request import Request

# The operations of reading one file: a look-up with its attributes, an open, and a read.
READ_OPERATIONS_PER_FILE = 3.0
# Those of linking one: two look-ups with attributes, and the link.
LINK_OPERATIONS_PER_FILE = 3.0
# An owner or a group that the request gives: chown, and chmod, because until then the file is its creator's alone.
GIVEN_OWNER_OPERATIONS = 2.0
# A policy for what stands at the place: a link and a removal instead of a rename (adapters/posix/placing.py).
PLACING_OPERATIONS = 1.0
# Keeping what is replaced: a look-up, and the link; directories of the backup are not counted.
KEEPING_OPERATIONS = 2.0


def operations_per_file(request: Request) -> float:
    """The operations of writing one file at a mounted destination; with a backup as if each file replaced one."""
    given = request.attributes.uid is not None or request.attributes.gid is not None
    keeps, chooses = request.backup_to is not None, request.overwrite is not Overwrite.ALWAYS
    return (
        OPERATIONS_PER_FILE
        + GIVEN_OWNER_OPERATIONS * given
        + PLACING_OPERATIONS * (keeps or chooses)
        + KEEPING_OPERATIONS * keeps
    )


def operations_per_deletion(request: Request) -> float:
    """The operations that change a mount to delete one entry: the removal, and of a sync the link that keeps it."""
    return 1.0 if request.backup_to is None or request.mode is Mode.MOVE else 2.0
