"""Decides which versions go once a new one is published.

| a version                                                       | then  |
|-----------------------------------------------------------------|-------|
| is the one that the link names                                  | stays |
| is among the newest, ``keep`` with that one                     | stays |
| was live within ``keep_hours`` or ``mounts.CACHED_SECONDS``     | stays |
| is any other that was published                                 | goes  |
| was never published: its run did not succeed                    | goes  |

Other NFS clients follow the link as they saw it for ``mounts.CACHED_SECONDS``. A version that stays for that alone goes
when the next one is published.

A version that was never published goes, because the tree that its run was to publish is older than the one that is
published now. A run that resumes it is refused then. A rollback counts as a publication of the version that it switches
to. A version is live from its publication to that of the next one; and whatever the notes say, it was live until a run
switched the link if the link named it then. A note may lie: a publisher dies between its note and its switch, and
somebody switches the link by hand. A version that was passed over so counts as older than all others.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Annotated

from msgspec import Meta, Struct
from msgspec.structs import replace

from fanout.facts.mounts import CACHED_SECONDS
from fanout.ledger.kind import ObjectKind
from fanout.ledger.run_places import VERSIONS, run_prefix
from fanout.model.books import Count
from fanout.model.path_rules import PlainName, PlainNameOrNone
from fanout.request.parts.publish import Publish

SECONDS_PER_HOUR = 3600.0
# The end of the year 9999, with which Python's calendar ends.
LAST_SECOND = 253_402_300_799


class VersionNote(Struct, frozen=True):
    """A version: the run that published it, when (seconds since 1970), from what, and how much it holds.

    ``own`` is what was copied for it, and not linked; ``None`` where its run resumed another one and cannot tell.
    ``number`` counts the versions of the tree as they were published, whatever a clock said then. The link named
    those ``before`` until this one was published; it did not name those ``passed``, which had been published since.
    """

    version: PlainName
    run_id: PlainName
    published_at: Annotated[float, Meta(ge=0, le=LAST_SECOND)]
    source: str
    held: Count
    own: Count | None = None
    number: Annotated[int, Meta(ge=0, le=2**53)] = 0
    before: tuple[PlainName, ...] = ()
    passed: tuple[PlainName, ...] = ()


class PublishedTree(Struct, frozen=True):
    """The versions of a tree, the newest first, and the one that its link names."""

    destination: str
    link: PlainName
    published: PlainNameOrNone
    versions: list[VersionNote]


VERSIONS_OF = ObjectKind(
    "{destination}.json", PublishedTree, by=("FinishTree",), short=False, place=run_prefix(VERSIONS)
)


def newest_first(notes: Iterable[VersionNote]) -> list[VersionNote]:
    """The versions in the order in which they were live, the last one first."""
    known = _by_number(notes)
    passed: set[str] = set()
    for note in reversed(known):  # one that was published again since counts as that
        passed.discard(note.version)
        passed.update(note.passed)
    return sorted(known, key=lambda note: note.version in passed)


def _by_number(notes: Iterable[VersionNote]) -> list[VersionNote]:
    return sorted(notes, key=lambda note: (-note.number, -note.published_at, note.version))


def noted_next(note: VersionNote, notes: Mapping[str, VersionNote], named: Iterable[str]) -> VersionNote:
    """A note of the version that is published next, while the link names, or just named, those of ``named``."""
    others = {version: one for version, one in notes.items() if version != note.version}
    own = notes[note.version].before if note.version in notes else ()
    before = sorted({*named, *own} - {"", note.version})
    latest = max((others[one].number for one in before if one in others), default=None)
    passed = sorted(version for version, one in others.items() if latest is not None and one.number > latest)
    number = 1 + max((one.number for one in others.values()), default=0)
    return replace(note, number=number, before=tuple(before), passed=tuple(passed))


def versions_to_go(
    notes: Mapping[str, VersionNote], unfinished: Iterable[str], published: str, publish: Publish, now: float
) -> list[str]:
    """The versions that go, by the table above, the oldest first; ``now`` is in seconds since 1970."""
    others = [note for note in newest_first(notes.values()) if note.version != published]
    stay = {note.version for note in others[: publish.keep - 1]}
    young = now - max(publish.keep_hours * SECONDS_PER_HOUR, CACHED_SECONDS)
    live_until = _live_until(_by_number(notes.values()), now)
    old = [note.version for note in reversed(others) if note.version not in stay and live_until[note.version] <= young]
    never = [one for one in unfinished if one != published and live_until.get(one, young) <= young]
    return never + old


def _live_until(newest: Sequence[VersionNote], now: float) -> dict[str, float]:
    """When each version was replaced: by the one after it, or by a later one that found it live; ``now`` for the last.

    Of a version that was never published, when it was replaced if it was live all the same.
    """
    times = _latest_times(newest, now)
    replaced = [(note.version, times[after.version]) for after, note in pairwise(newest)]
    replaced += [(version, times[note.version]) for note in newest for version in note.before]
    replaced += [(note.version, now) for note in newest[:1]]
    live_until: dict[str, float] = {}
    for version, at in replaced:
        live_until[version] = max(at, live_until.get(version, 0.0))
    return live_until


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
