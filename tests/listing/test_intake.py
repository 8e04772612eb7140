"""Directories that are not included at the end of a segment."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from fanout.listing.intake import Intake
from fanout.listing.naming.placement import Placement
from fanout.model.entry import Entry, Kind
from fanout.request.filtering.filters import Filters


def settled(paths: list[str], goes_on: Callable[[str], bool]) -> list[tuple[str, bool]]:
    """Paths in the order in which they are settled, each with whether it is taken."""
    found: list[tuple[str, bool]] = []
    intake = Intake(Filters(include=("*.txt",)), lambda source, _, place: found.append((source.path, not place.reason)))
    for path in paths:
        kind = Kind.DIRECTORY if path.endswith("/") else Kind.FILE
        intake.add(Entry(path, kind), None, lambda path=path: Placement(path))  # type: ignore[misc]
    intake.close(goes_on)
    return found


def test_directories_wait_for_what_they_hold() -> None:
    paths = ["a/", "a/b/", "a/b/x.jpg", "a/c/", "a/c/x.txt", "a/c/y.txt", "d/", "d/x.jpg"]
    assert settled(paths, lambda _directory: False) == [
        ("a/b/x.jpg", False),
        ("a/b/", False),
        ("a/", True),
        ("a/c/", True),
        ("a/c/x.txt", True),
        ("a/c/y.txt", True),
        ("d/x.jpg", False),
        ("d/", False),
    ]


@pytest.mark.parametrize("taken", [False, True])
def test_a_directory_that_another_segment_goes_on_in_is_taken(taken: bool) -> None:
    expected = [("d/a.jpg", False), ("d/", taken)]
    assert settled(["d/", "d/a.jpg"], lambda directory: taken and directory == "d/") == expected
