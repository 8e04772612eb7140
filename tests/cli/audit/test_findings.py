"""Names and files that S3 Files would hide, refuse, change or make dearer are found."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanout.facts.units import GIB
from fanout.model.entry import Kind
from fanout_cli.audit.findings import FAST_BELOW_BYTES, MANY_BELOW, Audit, Audited, AuditFinding

BIG = FAST_BELOW_BYTES


def found(*entries: Audited, is_keyed: bool = True, prefix_bytes: int = 0) -> dict[str, Any]:
    audit = Audit(is_keyed=is_keyed, prefix_bytes=prefix_bytes)
    for entry in entries:
        audit.add(entry)
    return {row["finding"]: row for row in audit.document()["findings"]}


@pytest.mark.parametrize(
    ("key", "finding"),
    [
        ("a//b", AuditFinding.EMPTY_NAME),
        ("/a", AuditFinding.EMPTY_NAME),
        ("a/./b", AuditFinding.DOT_NAME),
        ("../b", AuditFinding.DOT_NAME),
        ("a\0b", AuditFinding.NUL),
        ("a/" + "x" * 256, AuditFinding.LONG_NAME),
        ("a/" + "\u20ac" * 86, AuditFinding.LONG_NAME),
    ],
)
def test_a_key_that_is_not_shown(key: str, finding: AuditFinding) -> None:
    assert found(Audited(key, size=BIG)).keys() == {finding.name.lower()}


@pytest.mark.parametrize("key", ["a/b", "a/..b", "a/b./c", "x" * 255, "\u20ac" * 85, "a/b/", "^"])
def test_a_key_that_is_shown(key: str) -> None:
    assert found(Audited(key, Kind.DIRECTORY if key.endswith("/") else Kind.FILE, BIG)) == {}


def test_an_archived_object_cannot_be_read() -> None:
    assert found(Audited("a", size=BIG, is_archived=True)).keys() == {"archived"}


def test_an_object_whose_key_is_a_directory_too_is_found_though_other_keys_stand_between() -> None:
    rows = found(*(Audited(key, size=BIG) for key in ("a", "a-b", "a/b", "a/c", "b")))
    assert rows["file_and_directory"]["examples"] == ["a/b", "a/c"]


@pytest.mark.parametrize(
    ("entry", "finding"),
    [
        (Audited("x" * 100, size=BIG), AuditFinding.LONG_KEY),
        (Audited("\udcff", size=BIG), AuditFinding.NOT_UTF8),
        (Audited("s", Kind.SPECIAL), AuditFinding.SPECIAL),
        (Audited("l", Kind.SYMLINK, 4_081), AuditFinding.LONG_TARGET),
        (Audited("h", size=BIG, is_further_name=True), AuditFinding.HARD_LINK),
    ],
)
def test_a_file_that_does_not_become_an_object_as_it_is(entry: Audited, finding: AuditFinding) -> None:
    assert found(entry, is_keyed=False, prefix_bytes=925).keys() == {finding.name.lower()}


def test_a_path_of_1024_bytes_with_its_prefix_fits() -> None:
    assert found(Audited("x" * 99, size=BIG), is_keyed=False, prefix_bytes=925) == {}


def test_a_directory_with_very_many_entries_is_dear_to_rename() -> None:
    audit = Audit(is_keyed=False)
    for number in range(MANY_BELOW):
        audit.add(Audited(f"top/{'few' if number % 2 else 'half'}/f{number}", size=BIG))
    [row] = audit.document()["findings"]
    assert (row["finding"], row["entries"], row["examples"]) == ("rename", 1, ["top/ (10,000 entries)"])


def test_a_month_of_storage() -> None:
    audit = Audit(is_keyed=True)
    audit.add(Audited("big", size=1000 * GIB))
    assert audit.document()["dollars_a_month"] == {
        "efs_standard": 300.0,
        "s3_standard": 23.0,
        "s3_files_all_small_in_use": 23.0,
    }


@given(st.lists(st.text("ab/.", max_size=6), max_size=30), st.integers(0, 3))
def test_every_entry_is_counted_once_and_examples_are_bounded(keys: list[str], most: int) -> None:
    audit = Audit(is_keyed=True, examples=most)
    for key in sorted(keys):
        audit.add(Audited(key, size=BIG))
    document = audit.document()
    assert (document["entries"], document["bytes"]) == (len(keys), BIG * len(keys))
    assert all(len(row["examples"]) == min(most, row["entries"]) for row in document["findings"])
