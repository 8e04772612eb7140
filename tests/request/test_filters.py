"""Filters: docs/how-to/filters.md row by row, more rows, and against a matcher that goes name by name."""

from __future__ import annotations

import os
import re
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import convert, to_builtins
from pathspec import PathSpec

from fanout.listing.intake import Intake
from fanout.model.entry import Entry, Kind
from fanout.model.errors import InvalidRequest
from fanout.model.outcome import Reason, Result
from fanout.request.filtering.filters import GLOB_CHARACTERS, Filters
from fanout.request.filtering.globs import compile_globs

DOCS = Path(__file__).parents[2] / "docs"


def table(page: str, *header: str) -> list[list[list[str]]]:
    """The rows of the table with this header: in each cell the texts in backquotes."""
    lines = (DOCS / page).read_text().splitlines()
    start = lines.index(f"| {' | '.join(header)} |") + 2
    rows = []
    for line in lines[start:]:
        if not line.startswith("|"):
            break
        rows.append([re.findall(r"`([^`]+)`", cell) for cell in line.strip("|").split(" | ")])
    return rows


ROWS = [
    *table("how-to/filters.md", "pattern", "matches", "does not match"),
    [["/*.txt"], ["a.txt"], ["d/a.txt"]],
    [["**/d/*.txt"], ["d/a.txt", "x/d/a.txt", "x/y/d/a.txt"], ["d/e/a.txt"]],
    [["**"], ["a", "a/", "a/b"], []],
    [["*"], ["a", "a/b", ".a"], []],
    [["?"], ["a", "x/ü", "b/cd"], ["ab"]],
    [["[a-c]x"], ["ax", "d/cx"], ["dx", "Ax"]],
    [["[!a-c]x"], ["dx"], ["ax", "x"]],
    [["[]x]"], ["]", "x"], ["["]],
    [["[a\\[:]x"], ["ax", "[x", ":x"], ["bx"]],
    [["a\\*b"], ["a*b"], ["axb"]],
    [["a*b*c"], ["abc", "axbxbxc"], ["acb"]],
]


def name_matches(pattern: str, name: str) -> bool:
    """A slow matcher of one name, character by character."""
    if not pattern:
        return not name
    if pattern[0] == "*":
        return any(name_matches(pattern[1:], name[skipped:]) for skipped in range(len(name) + 1))
    if not name:
        return False
    if pattern[0] == "[":
        negated = pattern[1] in "!^"
        start = 1 + negated
        end = pattern.index("]", start + 1)
        items = pattern[start:end]
        ranges = [items[at] for at in range(len(items))]
        if len(items) == 3 and items[1] == "-":
            ranges = [chr(code) for code in range(ord(items[0]), ord(items[2]) + 1)]
        return (name[0] in ranges) is not negated and name_matches(pattern[end + 1 :], name[1:])
    if pattern[0] == "\\":
        return pattern[1] == name[0] and name_matches(pattern[2:], name[1:])
    return pattern[0] in ("?", name[0]) and name_matches(pattern[1:], name[1:])


def names_match(patterns: list[str], names: list[str]) -> bool:
    if not patterns:
        return not names
    if patterns[0] == "**":
        least = 1 if len(patterns) == 1 else 0
        return any(names_match(patterns[1:], names[skipped:]) for skipped in range(least, len(names) + 1))
    return (
        bool(names) and bool(names[0]) and name_matches(patterns[0], names[0]) and names_match(patterns[1:], names[1:])
    )


def reference(pattern: str, path: str) -> bool:
    """Whether the pattern matches the path or a directory above it."""
    directories_only = pattern.endswith("/")
    body = pattern.removesuffix("/")
    patterns = body.removeprefix("/").split("/")
    if "/" not in body:
        patterns = ["**", *patterns]
    names = path.removesuffix("/").split("/")
    for count in range(1, len(names) + 1):
        is_directory = count < len(names) or path.endswith("/")
        if (is_directory or not directories_only) and names_match(patterns, names[:count]):
            return True
    return False


@pytest.mark.parametrize(("patterns", "matching", "others"), ROWS, ids=[row[0][0] for row in ROWS])
def test_the_documented_globs(patterns: list[str], matching: list[str], others: list[str]) -> None:
    [pattern] = patterns
    compiled = compile_globs([pattern])
    for path, expected in [(path, True) for path in matching] + [(path, False) for path in others]:
        assert (compiled.match(path) is not None) is expected, path
        assert reference(pattern, path) is expected, path


pattern_names = st.one_of(
    st.just("**"),
    st.text(alphabet="ab*?.\udcff", min_size=1, max_size=4),
    st.sampled_from(["[ab]*", "[!a]", "a[a-c]", "\\*", "*\\?b"]),
).filter(lambda name: name == "**" or ("**" not in name and name not in (".", "..")))
patterns = st.builds(
    lambda first, names, last: first + "/".join(names) + last,
    st.sampled_from(["", "/"]),
    st.lists(pattern_names, min_size=1, max_size=4),
    st.sampled_from(["", "/"]),
)
paths = st.builds(
    lambda names, last: "/".join(names) + last,
    st.lists(st.text(alphabet="abc.*\udcff", min_size=1, max_size=4), min_size=1, max_size=5),
    st.sampled_from(["", "/"]),
)


@given(st.lists(patterns, min_size=1, max_size=3), paths)
def test_the_expression_matches_what_a_matcher_by_names_does(globs: list[str], path: str) -> None:
    expected = any(reference(glob, path) for glob in globs)
    assert (compile_globs(globs).match(path) is not None) is expected


def test_every_short_pattern_and_path_agree() -> None:
    names = ["a", "*", "**", "a*", "?b"]
    globs = ["/".join(parts) + end for size in (1, 2, 3) for parts in product(names, repeat=size) for end in ("", "/")]
    tried = [
        "/".join(parts) + end for size in (1, 2, 3) for parts in product(["a", "ab"], repeat=size) for end in ("", "/")
    ]
    for glob in globs:
        compiled = compile_globs([glob])
        for path in tried:
            assert (compiled.match(path) is not None) is reference(glob, path), (glob, path)


@pytest.mark.parametrize(
    "glob", ["*a" * 30 + "b", "**/*a*/" * 20 + "b", "**/a/" * 30 + "b", "a*" * 30 + "/" + "?*" * 30]
)
def test_no_pattern_takes_exponential_time(glob: str) -> None:
    # An expression that backtracks would not end in the test's time limit.
    for path in ("a" * 1000, "a/" * 500, "aa/" * 300 + "c"):
        assert compile_globs([glob]).match(path) is None


MALFORMED = [
    "",
    "/",
    "//",
    "a//b",
    "//a",
    "../a",
    "a/.",
    "a**",
    "**b/c",
    "[a",
    "a[/]",
    "[",
    "[!]",
    "[z-a]",
    "a\\",
    "a\\/b",
    "\0",
]


@pytest.mark.parametrize("glob", MALFORMED)
def test_a_malformed_glob_is_refused_by_its_place(glob: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        Filters(exclude=("*.ok", glob))
    assert caught.value.field == "exclude.1"
    assert "docs/how-to/filters.md" in str(caught.value)


@pytest.mark.parametrize("fields", [("include",), ("exclude",), ("include", "exclude")])
def test_globs_are_bounded_in_their_length_together(fields: tuple[str, ...]) -> None:
    most = GLOB_CHARACTERS // len(fields)
    globs = dict.fromkeys(fields, ("a" * (most - 9), "b" * 9))
    convert(globs, Filters)
    with pytest.raises(InvalidRequest, match=f"have {GLOB_CHARACTERS + 1:,} characters together; at most") as caught:
        convert(globs | {fields[-1]: ("a" * (most - 9), "b" * 10)}, Filters)
    assert caught.value.field == fields[-1]


@given(st.text(alphabet="ab*?[]!^-\\/.\0", max_size=8))
def test_any_text_is_a_glob_or_is_refused(text: str) -> None:
    try:
        Filters(include=(text,))
    except InvalidRequest as error:
        assert error.field == "include.0"


def file(path: str, size: int = 0, mtime_ns: int = 0) -> Entry:
    return Entry(path, Kind.DIRECTORY if path.endswith("/") else Kind.FILE, size, mtime_ns)


BOTH = Filters(include=("docs/", "*.txt"), exclude=("secret*", "docs/old/"))
BOUNDS = Filters(min_size=10, max_size=20, modified_after_ns=100, modified_before_ns=200)
AGES = Filters(newer_than_ns=900, older_than_ns=800, ages_from_ns=1_000)
REASONS = [
    (Filters(), file("a"), None),
    (BOTH, file("docs/a"), None),
    (BOTH, file("x/a.txt"), None),
    (BOTH, file("x/a.jpg"), Reason.NOT_INCLUDED),
    (BOTH, file("x/"), Reason.NOT_INCLUDED),
    (BOTH, file("secret.txt"), Reason.EXCLUDED),
    (BOTH, file("docs/old/a.txt"), Reason.EXCLUDED),
    (BOTH, file("docs/old/"), Reason.EXCLUDED),
    (BOUNDS, file("a", 10, 100), None),
    (BOUNDS, file("a", 20, 199), None),
    (BOUNDS, file("a", 9, 100), Reason.SIZE_FILTERED),
    (BOUNDS, file("a", 21, 100), Reason.SIZE_FILTERED),
    (BOUNDS, file("a", 10, 99), Reason.TIME_FILTERED),
    (BOUNDS, file("a", 10, 200), Reason.TIME_FILTERED),
    (AGES, file("a", 0, 99), Reason.TIME_FILTERED),
    (AGES, file("a", 0, 100), None),
    (AGES, file("a", 0, 199), None),
    (AGES, file("a", 0, 200), Reason.TIME_FILTERED),
    (Filters(older_than_ns=800, modified_after_ns=150, ages_from_ns=1_000), file("a", 0, 149), Reason.TIME_FILTERED),
    (Filters(older_than_ns=800, modified_after_ns=150, ages_from_ns=1_000), file("a", 0, 150), None),
    (BOUNDS, file("d/", 0, 0), None),
    (BOUNDS, Entry("link", Kind.SYMLINK, 3, 0), None),
]


@pytest.mark.parametrize(("filters", "entry", "reason"), REASONS)
def test_an_entry_is_taken_or_skipped_with_its_reason(filters: Filters, entry: Entry, reason: Reason | None) -> None:
    assert filters.reason(entry) is reason
    assert Intake(filters, lambda *_: None).protects(entry) is (reason is not None)
    assert reason is None or reason.result is Result.SKIPPED


@pytest.mark.parametrize(
    ("bounds", "field"),
    [
        ({"min_size": 2, "max_size": 1}, "min_size"),
        ({"modified_after_ns": 2, "modified_before_ns": 1}, "modified_after"),
        ({"modified_after_ns": 2, "modified_before_ns": 2}, "modified_after"),
    ],
)
def test_bounds_that_no_file_can_meet_are_refused(bounds: dict[str, int], field: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        Filters(**bounds)  # type: ignore[arg-type]
    assert caught.value.field == field


def test_ages_are_never_passed_over() -> None:
    """A filter that does not know the moment of its ages must not take every file: a sync would delete by it."""
    filters = Filters(older_than_ns=1)
    assert not filters.take_all
    with pytest.raises(ValueError, match="no moment"):
        filters.reason(file("a"))
    assert filters.at(10).reason(file("a", 0, 8)) is None
    assert filters.at(10).at(None) == filters
    assert BOUNDS.at(10) == BOUNDS


@pytest.mark.parametrize("filters", [Filters(), BOTH, BOUNDS, AGES])
def test_filters_go_through_the_plan(filters: Filters) -> None:
    assert convert(to_builtins(filters), Filters) == filters


@given(st.binary(min_size=1, max_size=6).map(os.fsdecode))
def test_names_that_are_not_utf_8_are_matched(name: str) -> None:
    if "/" not in name and "\0" not in name:
        assert Filters(exclude=("?" * len(name),)).prunes(name)


@pytest.mark.parametrize(
    ("pattern", "path", "ours"),
    [
        ("!a", "!a", True),
        ("#a", "#a", True),
        ("a ", "a ", True),
        ("a/*", "a/b/c", True),
        ("a/**", "a/", False),
        ("a**b", "axb", None),
        ("/", "a", None),
        ("[a", "[a", None),
        ("../x", "../x", None),
    ],
)
def test_the_library_for_gitignores_means_something_else(pattern: str, path: str, ours: bool | None) -> None:
    """Why globs are not given to pathspec: it negates, comments, and takes what is refused here (``None``)."""
    if ours is None:
        with pytest.raises(ValueError, match=r"holds|is empty|has a"):
            compile_globs([pattern])
    else:
        assert (compile_globs([pattern]).match(path) is not None) is ours
    assert PathSpec.from_lines("gitignore", [pattern]).match_file(path) is (not ours)
