"""Which names may stand at a destination."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanout.model.outcome import Reason
from fanout.model.path_rules import FilesAbove, reason_against_file_path, reason_against_key

TABLE = [
    ("a/b.txt", None),
    ("a/", None),
    ("ü +%/\x01\udcff", None),
    ("a" * 255, None),
    ("ü" * 127, None),
    ("../x", Reason.NAME_DOT),
    ("a/./b", Reason.NAME_DOT),
    ("a/..", Reason.NAME_DOT),
    (".", Reason.NAME_DOT),
    ("/abs", Reason.NAME_ABSOLUTE),
    ("/", Reason.NAME_ABSOLUTE),
    ("a//b", Reason.NAME_EMPTY),
    ("a//", Reason.NAME_EMPTY),
    ("a\0b", Reason.NAME_NUL),
    ("a" * 256, Reason.NAME_TOO_LONG),
    ("ü" * 128, Reason.NAME_TOO_LONG),
    ("x/" * 1000 + "y", Reason.PATH_TOO_DEEP),
    (".fanout-staging-run/x", Reason.NAME_RESERVED),
]


@pytest.mark.parametrize(("path", "reason"), TABLE)
def test_a_path_is_rejected_with_its_reason(path: str, reason: Reason | None) -> None:
    assert reason_against_file_path(path) is reason


@given(st.text(max_size=40))
def test_a_path_that_passes_stays_below_the_root(path: str) -> None:
    if path and reason_against_file_path(path) is None:
        parts = path.removesuffix("/").split("/")
        assert all(part not in ("", ".", "..") and "\0" not in part for part in parts)


@pytest.mark.parametrize(
    ("path", "prefix_bytes", "reason"),
    [
        ("a/b", 10, None),
        ("x" * 1014, 10, None),
        ("x" * 1015, 10, Reason.KEY_TOO_LONG),
        ("\udcff", 0, Reason.KEY_NOT_UTF8),
    ],
)
def test_a_key_is_rejected_with_its_reason(path: str, prefix_bytes: int, reason: Reason | None) -> None:
    assert reason_against_key(path, prefix_bytes) is reason


@given(st.sets(st.text(alphabet="ab-/.", min_size=1, max_size=8), max_size=30))
def test_a_key_below_a_file_is_found_wherever_they_stand(keys: set[str]) -> None:
    above = FilesAbove()
    found = set()
    for key in sorted(keys, key=str.encode):
        if above.covers(key):
            found.add(key)
        else:
            above.add(key)
    files = keys - found
    expected = {key for key in keys if any(key.startswith(f"{name}/") for name in files)}
    assert found == expected


def step(above: FilesAbove, key: str) -> bool:
    covered = above.covers(key)
    if not covered:
        above.add(key)
    return covered


@given(st.sets(st.text(alphabet="ab-/", min_size=1, max_size=6), max_size=20), st.integers(0, 20))
def test_a_listing_that_goes_on_elsewhere_finds_the_same(keys: set[str], cut: int) -> None:
    ordered = sorted(keys, key=str.encode)
    whole, first = FilesAbove(), FilesAbove()
    expected = [step(whole, key) for key in ordered]
    found = [step(first, key) for key in ordered[:cut]]
    second = FilesAbove(first.snapshot())
    found += [step(second, key) for key in ordered[cut:]]
    assert found == expected
