"""Which versions go: the table of ``fanout.publishing.kept_versions`` as literal rows."""

from __future__ import annotations

import pytest

from fanout.facts.mounts import CACHED_SECONDS
from fanout.model.books import Count
from fanout.publishing.kept_versions import VersionNote, newest_first, noted_next, versions_to_go
from fanout.request.parts.publish import Publish

HOUR, NOW = 3600.0, 1_000_000.0


def notes(*ages: float) -> dict[str, VersionNote]:
    """Versions v1, v2 and so on, in the order in which they were published, each so many hours ago."""
    made = [
        VersionNote(f"v{at}", f"v{at}", NOW - hours * HOUR, "s3://b/in/", Count(), None, at)
        for at, hours in enumerate(ages, 1)
    ]
    return {note.version: note for note in made}


@pytest.mark.parametrize(
    ("ages", "unfinished", "published", "keep", "keep_hours", "expected"),
    [
        ((4, 3, 2, 1, 0), [], "v5", 5, 0, []),
        ((4, 3, 2, 1, 0), [], "v5", 2, 0, ["v1", "v2", "v3"]),
        # Its readers followed the link to v4 a moment ago, and other NFS clients do so for a minute.
        ((4, 3, 2, 1, 0), [], "v5", 1, 0, ["v1", "v2", "v3"]),
        ((4, 3, 2, 1, 0.016), [], "v5", 1, 0, ["v1", "v2", "v3"]),
        ((4, 3, 2, 1, 0.017), [], "v5", 1, 0, ["v1", "v2", "v3", "v4"]),
        ((4, 3, 0.01, 0.005, 0), [], "v5", 1, 0, ["v1"]),
        # The one that the link names stays, however old it is: after a rollback too.
        ((4, 3, 2, 1, 0.1), [], "v1", 2, 0, ["v2", "v3", "v4"]),
        # Those that were live lately stay, however many there are.
        ((4, 3, 2, 1, 0), [], "v5", 1, 2.5, ["v1"]),
        ((4, 3, 2, 1, 0), [], "v5", 1, 24, []),
        ((1, 0), [], "v2", 1, 1, []),
        ((3, 1), [], "v2", 1, 1, ["v1"]),
        # What was never published goes; not this run's own.
        ((1, 0), ["x1", "v2"], "v2", 5, 24, ["x1"]),
        # Clocks that were ahead, or behind: the order is that of publishing, and an age is never below nothing.
        ((3, -5, 0.1), [], "v3", 2, 0, ["v1"]),
        ((3, -5, 0.1), [], "v3", 1, 0, ["v1", "v2"]),
        ((3, -5, 0), [], "v3", 1, 1, []),
        ((2, 1, 90), [], "v3", 2, 0, ["v1"]),
        # A clock that was behind makes a version no older than the one before it; one that was ahead no younger than
        # the next one.
        ((0.5, 9_000, 0.2, 0), [], "v4", 1, 1, []),
        ((1.5, 9_000, 0.2, 0), [], "v4", 1, 1, ["v1"]),
        ((5, -9_000, 4, 0), [], "v4", 1, 1, ["v1", "v2"]),
        ((5, -9_000, 0.5, 0), [], "v4", 1, 1, []),
    ],
)
def test_the_table(
    ages: tuple[float, ...], unfinished: list[str], published: str, keep: int, keep_hours: float, expected: list[str]
) -> None:
    publish = Publish("current", keep, keep_hours)
    assert versions_to_go(notes(*ages), unfinished, published, publish, NOW) == expected


def test_the_order_is_that_of_publishing_whatever_the_clocks_said() -> None:
    assert [note.version for note in newest_first(notes(1, -7, 4).values())] == ["v3", "v2", "v1"]


def published_while(named: str, known: dict[str, VersionNote], version: str = "v3") -> dict[str, VersionNote]:
    """Notes after a version was published now, where the link named another one until then."""
    note = VersionNote(version, version, NOW, "s3://b/in/", Count())
    return known | {version: noted_next(note, known, [named])}


def test_what_the_link_named_until_now_stays_and_what_it_never_named_goes_before_it() -> None:
    """The publisher of v2 died between its note and its switch; or an operator went back by hand."""
    found = published_while("v1", notes(4, 3))
    assert (found["v3"].before, found["v3"].passed) == (("v1",), ("v2",))
    assert [note.version for note in newest_first(found.values())] == ["v3", "v1", "v2"]
    assert versions_to_go(found, [], "v3", Publish("current", 1, 0), NOW) == []
    later = NOW + CACHED_SECONDS
    assert versions_to_go(found, [], "v3", Publish("current", 2, 0), later) == ["v2"]
    assert versions_to_go(found, [], "v3", Publish("current", 1, 0), later) == ["v2", "v1"]
    assert versions_to_go(found, [], "v3", Publish("current", 1, 1), NOW + HOUR - 1) == []


def test_a_version_that_was_never_published_stays_while_others_may_follow_the_link_to_it() -> None:
    """Somebody switched the link to it by hand."""
    found = published_while("begun", notes(4, 3))
    assert versions_to_go(found, ["begun", "other"], "v3", Publish("current", 5, 0), NOW) == ["other"]
    assert versions_to_go(found, ["begun"], "v3", Publish("current", 5, 0), NOW + CACHED_SECONDS) == ["begun"]


def test_a_version_that_is_published_again_is_passed_over_no_more() -> None:
    found = published_while("v1", notes(4, 3))
    found = published_while("v3", found, "v2")
    assert [note.version for note in newest_first(found.values())] == ["v2", "v3", "v1"]


def test_an_attempt_that_publishes_again_keeps_what_the_one_before_found_live() -> None:
    found = published_while("v1", notes(4, 3))
    assert noted_next(found["v3"], found, ["v3"]).before == ("v1",)
