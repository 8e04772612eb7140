"""Escaped names: a bijection onto its image, and the document's tables."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fanout.listing.naming.escaping import escape_key, escape_path, unescape_key, unescape_path
from fanout.model.outcome import Reason
from fanout.model.path_rules import FilesAbove, key_too_long, reason_against_file_path

DOCUMENT = Path(__file__).parents[2] / "docs/reference/names.md"
IMPOSSIBLE = (Reason.NAME_TOO_LONG, Reason.PATH_TOO_DEEP)

names = st.text(alphabet="ab./^\0-25E", min_size=1, max_size=7) | st.text(min_size=1, max_size=12)
key_sets = st.dictionaries(names, st.booleans(), max_size=12)


def rows(heading: str) -> list[list[str]]:
    """The cells of the table below a heading."""
    section = DOCUMENT.read_text(encoding="utf-8").split(f"\n## {heading}")[1].split("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def spans(cell: str) -> list[str]:
    """The names of a cell, with bytes for their escapes."""
    raw = [span.encode() for span in re.findall("`([^`]+)`", cell)]
    return [os.fsdecode(re.sub(rb"\\x(..)", lambda hit: bytes([int(hit[1], 16)]), name)) for name in raw]


def is_directory(key: str, *, with_bytes: bool) -> bool:
    return key.endswith("/") and not with_bytes


def escaped(keys: dict[str, bool]) -> dict[str, str]:
    """The path of each key; the value of a key says whether it holds bytes."""
    above, paths = FilesAbove(), {}
    for key in sorted(keys, key=str.encode):
        directory = is_directory(key, with_bytes=keys[key])
        paths[key] = escape_key(key, is_directory=directory, files_above=above.parents(key))
        if not directory:
            above.add(key)
    return paths


@pytest.mark.parametrize("row", rows("A key as a file"), ids=lambda row: row[0])
def test_document_shows_what_becomes_of_keys(row: list[str]) -> None:
    keys, paths = spans(row[0]), spans(row[2])
    assert escaped(dict.fromkeys(keys, row[1] == "bytes")) == dict(zip(keys, paths, strict=True))


@pytest.mark.parametrize("row", rows("A file as a key"), ids=lambda row: row[0])
def test_document_shows_what_becomes_of_file_names(row: list[str]) -> None:
    (path,), (key,) = spans(row[0]), spans(row[1])
    assert escape_path(path) == key
    assert unescape_key(key) == path


def test_document_names_the_reasons() -> None:
    assert [spans(row[1])[0] for row in rows("What stays impossible")] == [
        Reason.NAME_TOO_LONG.value,
        Reason.PATH_TOO_DEEP.value,
        Reason.KEY_TOO_LONG.value,
        Reason.NAME_NOT_ESCAPED.value,
    ]


@given(key_sets)
@example({"a/": True, "a//": False, "a//b": True, "/": True, "^": True, "^^/": True})
def test_keys_come_back_and_stay_apart(keys: dict[str, bool]) -> None:
    paths = escaped(keys)
    assert len(set(paths.values())) == len(keys)
    files = {path for path in paths.values() if not path.endswith("/")}
    for key, path in paths.items():
        directory = is_directory(key, with_bytes=keys[key])
        found = unescape_path(path, is_directory=directory)
        assert found is not None
        assert found[0] == key
        assert set(found[1]) <= files
        assert reason_against_file_path(path) in (None, *IMPOSSIBLE)
        assert directory == path.endswith("/")
        components = path.removesuffix("/").split("/")
        assert not any("/".join(components[:depth]) in files for depth in range(1, len(components)))


@example(text="^^", directory=True)
@given(st.text(alphabet="a./^25ED\udcff", min_size=1, max_size=8), st.booleans())
def test_only_what_escape_makes_is_a_key(text: str, directory: bool) -> None:
    path = f"{text.strip('/')}/" if directory else text.strip("/")
    found = unescape_path(path, is_directory=directory)
    if found is not None:
        key, siblings = found
        above = [unescape_path(sibling, is_directory=False) for sibling in siblings]
        assert all(one is not None for one in above)
        files_above = [one[0] for one in above if one is not None]
        assert escape_key(key, is_directory=directory, files_above=files_above) == path


@given(st.binary(min_size=1, max_size=12).filter(lambda raw: b"\0" not in raw), st.binary(min_size=1, max_size=12))
def test_file_names_come_back_and_stay_apart(raw: bytes, other: bytes) -> None:
    name = os.fsdecode(raw)
    key = escape_path(name)
    assert unescape_key(key) == name
    assert key_too_long(key, 0) is None
    assert (escape_path(os.fsdecode(other)) == key) == (raw == other)


@pytest.mark.parametrize("key", ["^", "^4", "^41", "^e9", "^C3^A9", "a^"])
def test_keys_that_escape_never_makes(key: str) -> None:
    assert unescape_key(key) is None


@pytest.mark.parametrize("path", ["a^", "^41", "^", "^2E^2E^2E", "a/.", "^^", "x^/b^", "^5e", "a^^/b"])
def test_paths_that_escape_never_makes(path: str) -> None:
    assert unescape_path(path, is_directory=False) is None
