"""Decides whether a sync may delete the extras that it found.

Only entries in scope count, at both ends: entries that the filters take. The source's entry decides for a pair.

| condition, in this order                              | verdict |
|-------------------------------------------------------|---------|
| nothing is extra                                      | allowed |
| a part of either end could not be listed              | refused |
| the source holds nothing in scope                     | refused |
| all that the destination holds in scope is extra      | refused |
| more than ``max_count`` entries are extra             | refused |
| over ``max_percent`` of the destination's are extra   | refused |
| else                                                  | allowed |

No limit in the request lifts the first three refusals.
"""

from __future__ import annotations

from msgspec import Struct

from fanout.request.parts.limits import DEFAULT_PERCENT, DeleteGuard


class Scope(Struct, frozen=True):
    """The counts of both ends in scope; ``filtered`` says that filters narrow the scope."""

    source: int
    destination: int
    extra: int
    complete: bool
    filtered: bool = False


def refusal(found: Scope, guard: DeleteGuard) -> str:
    """Why nothing may be deleted, with the way out; empty if it may. The module's table is its contract."""
    if not found.extra:
        return ""
    if not found.complete:
        return "a part of the source or the destination could not be listed; see failures.jsonl"
    if not found.source:
        return empty_source(found)
    scope = " that the filters take" if found.filtered else ""
    what = f"{found.extra:,} of the destination's {found.destination:,} entries{scope} are not at the source"
    if found.extra >= found.destination:
        return f"{what}: all of them; check the ends of the request, or empty the destination by hand"
    if guard.max_count is not None and found.extra > guard.max_count:
        return f"{what}, over delete_guard.max_count {guard.max_count:,}; {_WAY_OUT}"
    percent = 100 * found.extra / found.destination
    most = DEFAULT_PERCENT if guard.max_percent is None else guard.max_percent
    if percent > most:
        return f"{what}: {percent:.1f} %, over delete_guard.max_percent {most:g}; {_WAY_OUT}"
    return ""


def empty_source(found: Scope) -> str:
    """The error of a sync whose source holds nothing in scope."""
    if found.filtered:
        return "the source holds nothing that the filters take; such a sync is always refused"
    return "the source holds nothing; a sync from an empty source is always refused"


_WAY_OUT = "look at them with mode plan, then raise the guard if they may go"
