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

Two transfers are the same if their requests are (``request.same_transfer``), and if they read the same input: a list of
entries is read once, so another version of it is another transfer.
"""

from __future__ import annotations

from enum import Enum

from fanout.model.location import nest
from fanout.ports.turns import Writer
from fanout.request.course import Mode


class Meeting(Enum):
    """The decision for a run that meets another one."""

    APART = "apart"
    SAME = "same"
    WAITS = "waits"


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
