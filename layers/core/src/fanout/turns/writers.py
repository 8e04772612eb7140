"""Decides which runs may write at the same time, and which run writes now.

A run that writes (mode copy, sync or move) is entered in the list of its destination's store before it writes
anything. A move is entered in that of its source too, where it deletes. The table applies if another run's place is
the same, inside or above its own:

| the other run                                            | this run                                     |
|----------------------------------------------------------|----------------------------------------------|
| is this run itself, as an earlier attempt entered it     | goes on                                      |
| carries out the same transfer                            | is skipped: the other one does the same work |
| and this one copy, and at least one copies by a manifest | goes on: neither deletes, files appear whole |
| is any other                                             | waits until the other one has ended          |

At two mounts of one file system any two places may be one or lie in each other: a mount hides what lies above it, and
nothing at either end tells where it begins. There the table applies whatever the paths are, and nobody is skipped.

Two transfers are the same if their requests differ only in how they work (``transfer_fields``).
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from enum import Enum
from hashlib import sha256

from msgspec import Struct, to_builtins

from fanout.ledger.documents import document_of, document_row
from fanout.model.json_text import json_value
from fanout.model.location import Location, nest
from fanout.ports.turns import Fence, Writer
from fanout.request.course import Mode
from fanout.request.plan import Plan
from fanout.request.request import request_at
from fanout.request.transfer_fields import Decides, fields_up_to

# Fields that may differ between two runs of the same transfer.
_OF_THE_RUN = fields_up_to(Decides.WORK)


class Writers(Struct, frozen=True):
    """The runs that write to one store."""

    writers: list[Writer]


class Meeting(Enum):
    """The decision for a run that meets another one."""

    APART = "apart"
    SAME = "same"
    WAITS = "waits"


def writer_of(plan: Plan, end: Location, execution: str, now: float) -> Writer:
    """A run as it is entered in the list of an end that it writes."""
    request = plan.request
    same = {name: value for name, value in to_builtins(request_at(request, None)).items() if name not in _OF_THE_RUN}
    digest = sha256(json.dumps(same, sort_keys=True).encode()).hexdigest()
    names = request.manifest is not None
    staged = plan.staging_place if plan.version else ""
    return Writer(plan.run_id, execution, end.place, digest, request.mode.value, names, now, staged=staged)


def place_text(end: Location, place: str) -> str:
    """A place in the store of a destination, for people."""
    return f"s3://{end.bucket}/{place}" if end.is_keyed else f"efs://{end.mount}/{place.rstrip('/')}"


def list_key(end: Location) -> str:
    """Where the work bucket holds the list of those who write to the store of an end, a bucket or a mount."""
    return f"locks/{end.store}.json"


def meeting(writer: Writer, other: Writer) -> Meeting:
    """Decide by the table above, for another active run."""
    if not nest(writer.place, other.place) or writer.run_id == other.run_id:
        return Meeting.APART
    return Meeting.SAME if writer.transfer == other.transfer else _of_two_transfers(writer, other)


def meeting_by_another_mount(writer: Writer, other: Writer) -> Meeting:
    """Decide for another active run that writes by another mount of the same file system."""
    return Meeting.APART if writer.run_id == other.run_id else _of_two_transfers(writer, other)


def _of_two_transfers(writer: Writer, other: Writer) -> Meeting:
    both_copy = writer.mode == other.mode == Mode.COPY.value
    return Meeting.APART if both_copy and (writer.names or other.names) else Meeting.WAITS


def writers_bytes(writers: Iterable[Writer]) -> bytes:
    """The list as it is stored."""
    return json.dumps(document_row(Writers(list(writers))), indent=1).encode()


def writers_from_bytes(data: bytes) -> list[Writer]:
    """The list as it was stored, the one that began first at first; nothing stored is an empty list."""
    found = document_of(json_value(data), Writers).writers if data else []
    return sorted(found, key=lambda writer: writer.since)


def fence_of(writer: Writer) -> tuple[Fence, ...]:
    """The runs to fence when an ended writer is removed: itself, and those that it may not have fenced."""
    return (*writer.fences, Fence(writer.staged or writer.place, writer.run_id))
