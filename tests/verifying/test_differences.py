"""What two ends hold of one entry beside its bytes: what is equal never differs, what only the source tells does."""

from __future__ import annotations

import stat
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from fanout.facts.holdings import Direction
from fanout.model.entry import Attributes, Kind
from fanout.model.outcome import Reason
from fanout.verifying.differences import ATTRIBUTE_REASONS, Rules, differences, lacks_attributes

KNOWN = Attributes(0o104750, 1, 2, 5, 6, {"content-type": "a/b"})
NOTHING = Attributes()
MOUNTS, NO_OWNERS, BUCKETS = Rules(), Rules(keeps_owners=False), Rules(direction=Direction.INSIDE_S3)
ATTRIBUTES = st.builds(
    Attributes,
    st.none() | st.integers(0, 0o7777).map(lambda mode: stat.S_IFREG | mode),
    st.none() | st.integers(0, 3),
    st.none() | st.integers(0, 3),
    st.none() | st.integers(-(2**63), 2**63 - 1),
    st.none() | st.integers(0, 3),
    st.dictionaries(st.sampled_from(["content-type", "x-amz-meta-a"]), st.text(max_size=90)),
)


def reasons(here: Attributes, there: Attributes, rules: Rules = MOUNTS, kind: Kind = Kind.FILE) -> list[Reason]:
    return [one.reason for one in differences(kind, here, there, rules)]


@pytest.mark.parametrize(
    ("there", "expected"),
    [
        (KNOWN, []),
        (NOTHING, [Reason.MODE_DIFFERS, Reason.OWNER_DIFFERS, Reason.MTIME_DIFFERS]),
        (replace(KNOWN, mode=None), [Reason.MODE_DIFFERS]),
        (replace(KNOWN, mode=None, unreadable={"mode": "0888"}), [Reason.MODE_DIFFERS]),
        (replace(KNOWN, mtime_ns=None), [Reason.MTIME_DIFFERS]),
        (replace(KNOWN, mode=0o100750), [Reason.MODE_DIFFERS]),
        (replace(KNOWN, mode=0o105750), [Reason.MODE_DIFFERS]),
        (replace(KNOWN, uid=9), [Reason.OWNER_DIFFERS]),
        (replace(KNOWN, gid=9), [Reason.OWNER_DIFFERS]),
        (replace(KNOWN, uid=None), [Reason.OWNER_DIFFERS]),
        (replace(KNOWN, mtime_ns=4), [Reason.MTIME_DIFFERS]),
        (replace(KNOWN, atime_ns=4, headers={}), []),
        (Attributes(0, 9, 9, 9), [Reason.MODE_DIFFERS, Reason.OWNER_DIFFERS, Reason.MTIME_DIFFERS]),
    ],
)
def test_what_differs_is_named_the_worst_first(there: Attributes, expected: list[Reason]) -> None:
    assert reasons(KNOWN, there) == expected


def test_what_the_request_adds_is_expected_over_what_the_source_says() -> None:
    rules = replace(BUCKETS, added={"x-amz-meta-a": "2"})
    here = replace(KNOWN, headers={"x-amz-meta-a": "1", "x-amz-meta-b": "3"})
    assert reasons(here, replace(here, headers={"x-amz-meta-a": "2", "x-amz-meta-b": "3"}), rules) == []
    assert reasons(here, here, rules) == [Reason.METADATA_DIFFERS]
    assert reasons(KNOWN, KNOWN, replace(MOUNTS, added={"x-amz-meta-a": "2"})) == []


@pytest.mark.parametrize(
    ("here", "there", "differs"),
    [
        (0o6755, 0o6755, False),
        (0o6755, 0o755, False),
        (0o6755, 0o2755, False),
        (0o755, 0o4755, True),
        (0o2755, 0o4755, True),
        (0o6755, 0o700, True),
        (0o1755, 0o755, True),
    ],
)
def test_without_owners_a_file_may_lack_set_id_bits_but_not_have_more(here: int, there: int, differs: bool) -> None:
    one, other = replace(KNOWN, mode=here), replace(KNOWN, mode=there, uid=9, gid=9)
    assert reasons(one, other, NO_OWNERS) == [Reason.MODE_DIFFERS] * differs
    assert reasons(replace(one, uid=None, gid=None), other) == [Reason.MODE_DIFFERS] * differs


def test_a_symlink_has_no_mode() -> None:
    one, other = replace(KNOWN, mode=0o120777), replace(KNOWN, mode=0o120755)
    assert reasons(one, other, kind=Kind.SYMLINK) == reasons(one, other) == []
    assert not lacks_attributes(Kind.SYMLINK, replace(one, mode=None), MOUNTS)


@pytest.mark.parametrize("changed", [{"mode": None}, {"uid": 9}, {"mtime_ns": None}, {"atime_ns": 0}, {"headers": {}}])
def test_between_buckets_all_is_metadata_and_what_lacks_differs(changed: dict[str, object]) -> None:
    assert reasons(KNOWN, replace(KNOWN, **changed), BUCKETS) == [Reason.METADATA_DIFFERS]
    assert not lacks_attributes(Kind.FILE, NOTHING, BUCKETS)


@pytest.mark.parametrize(
    ("lacking", "rules", "lacks"),
    [
        ({"mode": None}, MOUNTS, True),
        ({"uid": None}, MOUNTS, True),
        ({"gid": None}, NO_OWNERS, False),
        ({"mtime_ns": None}, MOUNTS, True),
        ({"mtime_ns": None, "unreadable": {"mtime_ns": "x"}}, MOUNTS, False),
        ({"atime_ns": None, "headers": {}}, MOUNTS, False),
    ],
)
def test_what_the_source_does_not_tell_is_counted_and_differs_from_nothing(
    lacking: dict[str, Any], rules: Rules, lacks: bool
) -> None:
    source = replace(KNOWN, **lacking)
    assert lacks_attributes(Kind.FILE, source, rules) is lacks
    assert reasons(source, KNOWN, rules) == reasons(source, source, rules) == []


def test_the_message_says_what_is_not_told_or_unreadable() -> None:
    there = Attributes(uid=1, unreadable={"mode": "33204", "mtime_ns": "x" * 70})
    assert [one.text for one in differences(Kind.FILE, KNOWN, there, MOUNTS)] == [
        "mode 4750 at the source, unreadable ('33204') at the destination",
        "owner 1:2 at the source, 1:not told at the destination",
        f"mtime 1970-01-01T00:00:00.000000005Z at the source, unreadable ('{'x' * 60}…') at the destination",
    ]
    assert "owner 1:2 at the source, not told at the destination" in [
        one.text for one in differences(Kind.FILE, KNOWN, NOTHING, MOUNTS)
    ]


@pytest.mark.parametrize("seconds", [-(2**63), -62_135_596_801, 253_402_300_800, 2**63 - 1])
def test_a_time_that_no_calendar_holds_is_shown_in_seconds(seconds: int) -> None:
    (found,) = differences(Kind.FILE, replace(KNOWN, mtime_ns=seconds * 10**9), KNOWN, MOUNTS)
    assert found.text.startswith(f"mtime {seconds}.000000000 s at the source, 1970-01-01")


def test_inside_s3_a_value_that_cannot_be_read_is_metadata_too() -> None:
    there = replace(KNOWN, mode=None)
    here = replace(there, unreadable={"mode": "33204"})
    assert reasons(here, here, BUCKETS) == []
    assert reasons(here, there, BUCKETS) == reasons(there, here, BUCKETS) == [Reason.METADATA_DIFFERS]


@given(ATTRIBUTES, ATTRIBUTES, st.sampled_from([MOUNTS, NO_OWNERS, BUCKETS]), st.sampled_from(list(Kind)))
def test_what_is_equal_does_not_differ_and_the_source_s_silence_is_no_difference(
    here: Attributes, there: Attributes, rules: Rules, kind: Kind
) -> None:
    assert reasons(here, here, rules, kind) == []
    found = reasons(here, there, rules, kind)
    assert found == sorted(found, key=ATTRIBUTE_REASONS.index)
    if rules is not BUCKETS:
        assert reasons(NOTHING, here, rules, kind) == []
        told = [None is not one for one in (here.mode, here.uid, here.gid, here.mtime_ns)]
        told[0] = told[0] and kind is not Kind.SYMLINK
        told[1:3] = [rules.keeps_owners and (told[1] or told[2])]
        assert reasons(here, NOTHING, rules, kind) == [
            reason for reason, is_told in zip(ATTRIBUTE_REASONS, told, strict=False) if is_told
        ]


def test_the_remedy_of_each_reason_copies_whatever_size_and_time_say() -> None:
    for reason in ATTRIBUTE_REASONS:
        assert "compare always" in reason.remedy


def test_a_time_that_no_source_tells_is_not_lacking() -> None:
    source = Attributes(0o100600, 1, 2)
    assert lacks_attributes(Kind.FILE, source, MOUNTS)
    assert not lacks_attributes(Kind.FILE, source, Rules(tells_mtime=False))
    assert differences(Kind.FILE, source, Attributes(0o100600, 1, 2, 3), Rules(tells_mtime=False)) == []
