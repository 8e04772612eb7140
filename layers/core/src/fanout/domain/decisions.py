"""Whether an entry that stands at both ends is copied.

| kinds            | compare   | sizes  | destination written after the source changed | decision  |
|------------------|-----------|--------|----------------------------------------------|-----------|
| no destination   | any       |        |                                              | copy      |
| differ           | any       |        |                                              | conflict  |
| both files       | always    | any    | any                                          | copy      |
| both files       | size-mtime| differ | any                                          | copy      |
| both files       | size-mtime| same   | no, or less than the margin                  | copy      |
| both files       | size-mtime| same   | yes, by the margin                           | unchanged |
| both symlinks    | as for files                                                                 |
| both directories | as for files, without sizes: copying one sets its attributes                 |

"Written" and "changed" are the stores' own times (ctime, Last-Modified), which
an owner can not set back, so a file that was replaced by an older one is seen.
The margin covers Last-Modified's whole seconds; within it the entry is copied
again. An object may be a symlink (its body the target), so a symlink on a file
system and an object compare by time alone.
"""

from __future__ import annotations

from enum import StrEnum

from fanout.domain.entries import Entry, Kind

MARGIN_NS = 1_000_000_000


class Compare(StrEnum):
    """How entries at both ends are compared."""

    SIZE_MTIME = "size-mtime"
    ALWAYS = "always"


class Decision(StrEnum):
    """What is to be done with an entry of the source."""

    COPY = "copy"
    UNCHANGED = "unchanged"
    CONFLICT = "conflict"


def decide(source: Entry, destination: Entry | None, compare: Compare) -> Decision:
    """The decision for one source entry; the module's table is its contract."""
    if destination is None:
        return Decision.COPY
    if not _may_be_same_kind(source.kind, destination.kind):
        return Decision.CONFLICT
    same_size = source.size == destination.size
    written_after = destination.changed_ns - source.changed_ns > MARGIN_NS
    if compare is Compare.SIZE_MTIME and same_size and written_after:
        return Decision.UNCHANGED
    return Decision.COPY


def _may_be_same_kind(source: Kind, destination: Kind) -> bool:
    plain = (Kind.FILE, Kind.SYMLINK)
    return source is destination is Kind.DIRECTORY or (source in plain and destination in plain)
