"""What other tools write about files into the metadata of objects."""

from __future__ import annotations

import stat

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanout.model.entry import Attributes, Entry, Kind
from fanout.model.errors import InvalidRequest
from fanout.request.parse import parse_request
from fanout.request.parts.given_attributes import GivenAttributes, Tool, with_attributes_of

SECOND = 1_000_000_000
AT = 1_700_000_000 * SECOND
META = "x-amz-meta-"
REGULAR = stat.S_IFREG | 0o640
S3CMD = "atime:1700000001/ctime:5/gid:1001/gname:staff/md5:abc/mode:33184/mtime:1700000000/uid:1000/uname:a"
MC = "atime:1700000001#5/gid:1001/gname:staff/mode:33184/mtime:1700000000#123456789/uid:1000/uname:a"
WRITTEN: list[tuple[Tool, dict[str, str], Attributes]] = [
    (Tool.RCLONE, {"mtime": "1700000000.5"}, Attributes(mtime_ns=AT + SECOND // 2)),
    (Tool.RCLONE, {"mtime": "-1.25"}, Attributes(mtime_ns=-1_250_000_000)),
    (Tool.RCLONE, {"mtime": "1700000000.123456789"}, Attributes(mtime_ns=AT + 123456789)),
    (
        Tool.S3FS,
        {"mode": "33184", "uid": "1000", "gid": "1001", "mtime": "1700000000"},
        Attributes(REGULAR, 1000, 1001, AT),
    ),
    (Tool.S3CMD, {"s3cmd-attrs": S3CMD}, Attributes(REGULAR, 1000, 1001, AT, AT + SECOND)),
    (Tool.MC, {"mc-attrs": MC}, Attributes(REGULAR, 1000, 1001, AT + 123456789, AT + SECOND + 5)),
]


def headers_of(metadata: dict[str, str]) -> dict[str, str]:
    return {META + name: value for name, value in metadata.items()}


@pytest.mark.parametrize(("tool", "metadata", "expected"), WRITTEN)
def test_what_a_tool_wrote_is_read_and_is_no_other_metadata_any_more(
    tool: Tool, metadata: dict[str, str], expected: Attributes
) -> None:
    known = Attributes(headers={**headers_of(metadata), f"{META}other": "kept"}, modified_ns=7)
    found = with_attributes_of(tool, known)
    assert (found.mode, found.uid, found.gid, found.mtime_ns, found.atime_ns) == (
        expected.mode,
        expected.uid,
        expected.gid,
        expected.mtime_ns,
        expected.atime_ns,
    )
    assert (found.headers, found.modified_ns, dict(found.unreadable)) == ({f"{META}other": "kept"}, 7, {})
    assert with_attributes_of(tool, found) == found


@pytest.mark.parametrize("tool", Tool)
def test_what_another_tool_wrote_is_left(tool: Tool) -> None:
    for other, metadata, _ in WRITTEN:
        shared = {"mtime"} if {tool, other} == {Tool.RCLONE, Tool.S3FS} else set()
        if other is not tool and not shared & metadata.keys():
            known = Attributes(headers=headers_of(metadata))
            assert with_attributes_of(tool, known) is known


def test_what_an_object_names_as_awss_services_do_counts_first() -> None:
    headers = headers_of({"mode": "33184", "uid": "1000", "gid": "1001", "mtime": "5"})
    known = Attributes(0o100600, None, 7, 9, headers=headers)
    found = with_attributes_of(Tool.S3FS, known)
    assert (found.mode, found.uid, found.gid, found.mtime_ns) == (0o100600, 1000, 7, 9)


@pytest.mark.parametrize(
    ("metadata", "name"),
    [
        ({"mode": "drwx"}, "mode"),
        ({"mode": "65536"}, "mode"),
        ({"uid": "4294967295"}, "uid"),
        ({"gid": "-1"}, "gid"),
        ({"mtime": "yesterday"}, "mtime_ns"),
        ({"mtime": "1e9"}, "mtime_ns"),
    ],
)
def test_what_cannot_be_read_is_told_as_unreadable(metadata: dict[str, str], name: str) -> None:
    found = with_attributes_of(Tool.S3FS, Attributes(headers=headers_of(metadata)))
    assert (getattr(found, name), dict(found.unreadable)) == (None, {name: next(iter(metadata.values()))})


@given(st.sampled_from(Tool), st.dictionaries(st.sampled_from(["mtime", "mode", "s3cmd-attrs", "mc-attrs"]), st.text()))
def test_no_text_breaks_it(tool: Tool, metadata: dict[str, str]) -> None:
    found = with_attributes_of(tool, Attributes(headers=headers_of(metadata)))
    assert set(found.headers) <= set(headers_of(metadata))


@given(st.integers(0, 2**31), st.integers(0, 999_999_999))
def test_the_times_of_mc_and_rclone_are_read_to_the_nanosecond(seconds: int, nanoseconds: int) -> None:
    for tool, metadata in (
        (Tool.MC, {"mc-attrs": f"mtime:{seconds}#{nanoseconds}"}),
        (Tool.RCLONE, {"mtime": f"{seconds}.{nanoseconds:09d}"}),
    ):
        found = with_attributes_of(tool, Attributes(headers=headers_of(metadata)))
        assert found.mtime_ns == seconds * SECOND + nanoseconds


def test_the_request_gives_what_neither_names() -> None:
    entry = Entry("f", Kind.FILE, 1, 9, 9, '"e"')
    given_ = GivenAttributes(uid=5, gid=6, file_mode="0600", read_from=Tool.RCLONE)
    found = given_.of(entry, Attributes(headers=headers_of({"mtime": "3"})))
    assert (found.uid, found.gid, found.mode, found.mtime_ns) == (5, 6, 0o100600, 3 * SECOND)


def test_a_request_names_the_tool_and_the_source_is_a_bucket() -> None:
    request = {"source": "s3://a-bucket/in/", "destination": "efs:///out", "attributes": {"from": "s3fs"}}
    assert parse_request(request, ("data",), 10).attributes.read_from is Tool.S3FS
    with pytest.raises(InvalidRequest, match=r"attributes.from"):
        parse_request({**request, "attributes": {"from": "tar"}}, ("data",), 10)
    with pytest.raises(InvalidRequest, match=r"attributes.from: everything in .* has attributes of its own"):
        parse_request({**request, "source": "efs:///in", "attributes": {"from": "mc", "override": True}}, ("data",), 10)
