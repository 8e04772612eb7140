"""Decides whether an entry that exists at both ends is copied.

| kinds            | compare    | sizes  | times | written after the source changed | decision  |
|------------------|------------|--------|-------|----------------------------------|-----------|
| no destination   | any        |        |       |                                  | copy      |
| differ           | any        |        |       |                                  | conflict  |
| both files       | always     | any    | any   | any                              | copy      |
| both files       | size-mtime | differ | any   | any                              | copy      |
| both files       | size-mtime | same   | any   | no, or less than the margin      | copy      |
| both files       | size-mtime | same   | no    | yes, by the margin               | copy      |
| both files       | size-mtime | same   | yes   | yes, by the margin               | unchanged |
| both files       | checksum   | differ | any   | any                              | copy      |
| both files       | checksum   | same   | any   | any                              | compare   |
| both symlinks    | as for files                                                                 |
| both directories | as size-mtime, without sizes, unless always: copying one sets its attributes |

"Written" and "changed" are the stores' own times (ctime, Last-Modified). An owner
cannot set them back, so a file that was replaced by an older one is detected.
The margin covers Last-Modified's whole seconds; within it the entry is copied
again. "Times" are the owner's (mtime), which a copy preserves. They agree if
they are equal to the nanosecond. If one end is an object they always agree, because
a LIST shows none. They detect two cases that the stores' times miss: a directory renamed
over another brings files whose ctime is old, and another program may have
written the destination. CopyShard carries out ``compare`` and reads both
ends: a listing reads no file. An object may be a symlink (its body the target),
so a symlink on a file system and an object compare by time alone.

Decides whether an entry that is to be copied replaces what is at its place.

| overwrite | at its place                | the source's time    | then         |
|-----------|-----------------------------|----------------------|--------------|
| any       | nothing                     | any                  | is copied    |
| any       | a directory of a mount      | any                  | gets its attributes |
| always    | anything else               | any                  | is replaced  |
| never     | anything else               | any                  | is kept      |
| if-newer  | anything else               | later                | is replaced  |
| if-newer  | anything else               | the same, or earlier | is kept      |

It is asked for what ``decisions`` calls changed: what is unchanged stays so, and another kind of entry a conflict. A
directory of a bucket is an object, and kept like one. Times are the owner's (mtime); an object's is its Last-Modified,
which holds whole seconds, so one at the destination counts as written at the end of its second. What is kept under
``compare: checksum`` is not read.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from itertools import compress, count, islice
from operator import or_, sub

from fanout.model.columns import FileColumns
from fanout.model.entry import MARGIN_NS, Entry, Kind
from fanout.request.options import Compare, Overwrite, latest_of_second, replaces


class Decision(StrEnum):
    """The action for an entry of the source."""

    COPY = "copy"
    COMPARE = "compare"
    UNCHANGED = "unchanged"
    CONFLICT = "conflict"
    KEPT = "kept"


def decide(source: Entry, destination: Entry | None, compare: Compare, wider_ns: int = 0) -> Decision:
    """Return the decision for one source entry; the module's table is its contract.

    ``wider_ns`` is added to the margin: the nanoseconds by which the destination's clock is ahead.
    """
    if destination is None:
        return Decision.COPY
    if not may_be_same_kind(source.kind, destination.kind):
        return Decision.CONFLICT
    if compare is Compare.ALWAYS or source.size != destination.size:
        return Decision.COPY
    if compare is Compare.CHECKSUM and source.kind is not Kind.DIRECTORY:
        return Decision.COMPARE
    written_after = destination.changed_ns - source.changed_ns > MARGIN_NS + wider_ns
    return Decision.UNCHANGED if written_after and times_agree(source, destination) else Decision.COPY


def may_be_same_kind(source: Kind, destination: Kind) -> bool:
    """Whether one may be a copy of the other; an object may hold a symlink."""
    plain = (Kind.FILE, Kind.SYMLINK)
    return source is destination is Kind.DIRECTORY or (source in plain and destination in plain)


def times_agree(source: Entry, destination: Entry) -> bool:
    """Whether the owner's times agree. An object, which has an ETag, shows no such time in a LIST."""
    return bool(source.etag or destination.etag) or source.mtime_ns == destination.mtime_ns


def unchanged_lengths(
    source: FileColumns,
    destination: FileColumns,
    unproven: Sequence[bool] | None = None,
    wider_ns: int = 0,
) -> list[int]:
    """Lengths of alternating runs of files with the same names: unchanged, then not, and so on.

    The rule is ``decisions.decide`` under ``size-mtime``; files of ``unproven`` do not count as unchanged.
    """
    margin_ns = MARGIN_NS + wider_ns
    known = not (source.etags or destination.etags)
    same_times = not known or source.mtimes_ns == destination.mtimes_ns
    written = list(map(sub, destination.changed_ns, source.changed_ns))
    if unproven is None and same_times and source.sizes == destination.sizes and min(written) > margin_ns:
        return [len(source)]
    changed = [
        here != there or after <= margin_ns or (known and mtime != mtime_there)
        for here, there, after, mtime, mtime_there in zip(
            source.sizes, destination.sizes, written, source.mtimes_ns, destination.mtimes_ns, strict=True
        )
    ]
    if unproven is not None:
        changed = list(map(or_, changed, unproven))
    return alternating(changed)


def alternating(states: Sequence[bool]) -> list[int]:
    """How many follow each other that are false, then that are true, and so on."""
    lengths, position, state = [], 0, False
    while position < len(states):
        end = next(compress(count(position), map(state.__ne__, islice(states, position, None))), len(states))
        lengths.append(end - position)
        position, state = end, not state
    return lengths


def with_overwrite(decision: Decision, source: Entry, destination: Entry | None, overwrite: Overwrite) -> Decision:
    """The decision as the request's policy has it; the module's table is its contract."""
    if destination is None or decision not in (Decision.COPY, Decision.COMPARE):
        return decision
    if source.kind is Kind.DIRECTORY and not destination.etag:
        return decision
    latest_ns = latest_of_second(destination.mtime_ns) if destination.etag else destination.mtime_ns
    return decision if replaces(overwrite, source.mtime_ns, latest_ns) else Decision.KEPT
