"""Decides whether an entry that is to be copied replaces what is at its place.

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

from fanout.listing.deciding.decisions import Decision
from fanout.model.entry import Entry, Kind
from fanout.request.options import Overwrite, latest_of_second, replaces


def with_overwrite(decision: Decision, source: Entry, destination: Entry | None, overwrite: Overwrite) -> Decision:
    """The decision as the request's policy has it; the module's table is its contract."""
    if destination is None or decision not in (Decision.COPY, Decision.COMPARE):
        return decision
    if source.kind is Kind.DIRECTORY and not destination.etag:
        return decision
    latest_ns = latest_of_second(destination.mtime_ns) if destination.etag else destination.mtime_ns
    return decision if replaces(overwrite, source.mtime_ns, latest_ns) else Decision.KEPT
