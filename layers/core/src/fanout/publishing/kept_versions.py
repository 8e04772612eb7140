"""Decides which versions go once a new one is published.

| a version                                       | then  |
|-------------------------------------------------|-------|
| is the one that the link names                  | stays |
| is among the newest, ``keep`` with that one     | stays |
| was live within ``keep_hours``                  | stays |
| is any other that was published                 | goes  |
| was never published: its run did not succeed    | goes  |

A version that was never published goes, because the tree that its run was to publish is older than the one that is
published now. A run that resumes it is refused then. A rollback counts as a publication of the version that it switches
to. A version is live from its publication to that of the next one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Annotated

from msgspec import Meta, Struct

from fanout.model.books import Count
from fanout.model.path_rules import PlainName, PlainNameOrNone
from fanout.request.parts.publish import Publish

SECONDS_PER_HOUR = 3600.0
# The end of the year 9999, with which Python's calendar ends.
LAST_SECOND = 253_402_300_799


class VersionNote(Struct, frozen=True):
    """A version: the run that published it, when (seconds since 1970), from what, and how much it holds.

    ``own`` is what was copied for it, and not linked; ``None`` where its run resumed another one and cannot tell.
    ``number`` counts the versions of the tree as they were published, whatever a clock said then.
    """

    version: PlainName
    run_id: PlainName
    published_at: Annotated[float, Meta(ge=0, le=LAST_SECOND)]
    source: str
    held: Count
    own: Count | None = None
    number: Annotated[int, Meta(ge=0, le=2**53)] = 0


class PublishedTree(Struct, frozen=True):
    """The versions of a tree, the newest first, and the one that its link names."""

    destination: str
    link: PlainName
    published: PlainNameOrNone
    versions: list[VersionNote]


def newest_first(notes: Iterable[VersionNote]) -> list[VersionNote]:
    """The versions in the order in which they were published, the last one first."""
    return sorted(notes, key=lambda note: (-note.number, -note.published_at, note.version))


def versions_to_go(
    notes: Mapping[str, VersionNote], unfinished: Iterable[str], published: str, publish: Publish, now: float
) -> list[str]:
    """The versions that go, by the table above, the oldest first; ``now`` is in seconds since 1970."""
    others = [note for note in newest_first(notes.values()) if note.version != published]
    stay = {note.version for note in others[: publish.keep - 1]}
    young = now - publish.keep_hours * SECONDS_PER_HOUR
    live_until = _live_until(newest_first(notes.values()), now)
    old = [note.version for note in reversed(others) if note.version not in stay and live_until[note.version] <= young]
    return [version for version in unfinished if version != published] + old


def _live_until(newest: Sequence[VersionNote], now: float) -> dict[str, float]:
    """When each version was replaced by the one that was published after it; ``now`` for the last one."""
    times = _latest_times(newest, now)
    return {note.version: times[after.version] for after, note in pairwise(newest)} | (
        {newest[0].version: now} if newest else {}
    )


def _latest_times(newest: Sequence[VersionNote], now: float) -> dict[str, float]:
    """When each version was published, at the latest.

    A clock that jumped back gives a version a time before that of an older one: that one's counts. A time in the
    future is wrong: the version was published before the next one.
    """
    times: dict[str, float] = {}
    latest = 0.0
    for note in reversed(newest):
        latest = max(latest, note.published_at if note.published_at <= now else 0.0)
        times[note.version] = latest
    after = now
    for note in newest:
        if note.published_at > now:
            times[note.version] = after
        after = times[note.version]
    return times
