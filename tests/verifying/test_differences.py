"""What two ends hold of one entry beside its bytes: equal values never differ, unknown ones are never compared."""

from __future__ import annotations

import stat

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from fanout.model.entry import Attributes, Kind
from fanout.model.outcome import Reason
from fanout.verifying.differences import ATTRIBUTE_REASONS, Rules, differences, is_told_whole

KNOWN = Attributes(0o104750, 1, 2, 5, 6, {"content-type": "a/b"})
NOTHING = Attributes()
MOUNTS, NO_OWNERS, BUCKETS = Rules(), Rules(keeps_owners=False), Rules(keeps_owners=True, as_metadata=True)
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
        (NOTHING, []),
        (replace(KNOWN, mode=0o100750), [Reason.MODE_DIFFERS]),
        (replace(KNOWN, mode=0o105750), [Reason.MODE_DIFFERS]),
        (replace(KNOWN, uid=9), [Reason.OWNER_DIFFERS]),
        (replace(KNOWN, gid=9), [Reason.OWNER_DIFFERS]),
        (replace(KNOWN, uid=None, gid=9), []),
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
    assert reasons(replace(one, uid=None), other) == [Reason.MODE_DIFFERS] * differs


def test_a_symlink_has_no_mode() -> None:
    one, other = replace(KNOWN, mode=0o120777), replace(KNOWN, mode=0o120755)
    assert reasons(one, other, kind=Kind.SYMLINK) == reasons(one, other) == []
    assert is_told_whole(Kind.SYMLINK, replace(one, mode=None), other, MOUNTS)


@pytest.mark.parametrize("changed", [{"mode": None}, {"uid": 9}, {"mtime_ns": None}, {"atime_ns": 0}, {"headers": {}}])
def test_between_buckets_all_is_metadata_and_what_lacks_differs(changed: dict[str, object]) -> None:
    assert reasons(KNOWN, replace(KNOWN, **changed), BUCKETS) == [Reason.METADATA_DIFFERS]
    assert is_told_whole(Kind.FILE, NOTHING, NOTHING, BUCKETS)


@pytest.mark.parametrize(
    ("lacking", "rules", "whole"),
    [
        ({"mode": None}, MOUNTS, False),
        ({"uid": None}, MOUNTS, False),
        ({"gid": None}, NO_OWNERS, True),
        ({"mtime_ns": None}, MOUNTS, False),
        ({"atime_ns": None, "headers": {}}, MOUNTS, True),
    ],
)
def test_an_end_that_lacks_something_is_not_told_whole(lacking: dict[str, object], rules: Rules, whole: bool) -> None:
    for pair in ((KNOWN, replace(KNOWN, **lacking)), (replace(KNOWN, **lacking), KNOWN)):
        assert is_told_whole(Kind.FILE, *pair, rules) is whole


@given(ATTRIBUTES, ATTRIBUTES, st.sampled_from([MOUNTS, NO_OWNERS, BUCKETS]), st.sampled_from(list(Kind)))
def test_what_is_equal_does_not_differ_and_the_order_of_the_ends_decides_nothing_but_set_id_bits(
    here: Attributes, there: Attributes, rules: Rules, kind: Kind
) -> None:
    assert reasons(here, here, rules, kind) == []
    found = reasons(here, there, rules, kind)
    assert found == sorted(found, key=ATTRIBUTE_REASONS.index)
    back = reasons(there, here, rules, kind)
    assert set(found) ^ set(back) <= {Reason.MODE_DIFFERS}
    if rules is not BUCKETS:
        assert reasons(here, NOTHING, rules, kind) == reasons(NOTHING, here, rules, kind) == []


def test_the_remedy_of_each_reason_copies_whatever_size_and_time_say() -> None:
    for reason in ATTRIBUTE_REASONS:
        assert "compare always" in reason.remedy


def test_a_time_that_no_source_tells_is_not_lacking() -> None:
    untold, whole = Attributes(0o100600, 1, 2), Attributes(0o100600, 1, 2, 3)
    assert not is_told_whole(Kind.FILE, untold, whole, MOUNTS)
    assert is_told_whole(Kind.FILE, untold, whole, Rules(tells_mtime=False))
    assert differences(Kind.FILE, untold, whole, Rules(tells_mtime=False)) == []
