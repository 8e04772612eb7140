"""Attributes that a request gives: the table of ``request.given_attributes``, and what a request may ask for."""

from __future__ import annotations

import stat
from typing import Any

import pytest

from fanout.efs.seconds import DEFAULT_RATES
from fanout.model.entry import Attributes, Entry, Kind
from fanout.model.errors import InvalidRequest
from fanout.request.parse import parse_request
from fanout.request.parts.given_attributes import GivenAttributes, Mtime
from fanout.request.plan import Plan
from tests.request.test_parse import through_the_ledger

FROM_S3 = {"source": "s3://a-bucket/in/", "destination": "efs:///out"}
ON_MOUNT = {"source": "efs:///in", "destination": "efs:///out"}
TO_S3 = {"source": "efs:///in", "destination": "s3://a-bucket/out/"}
INSIDE_S3 = {"source": "s3://a-bucket/in/", "destination": "s3://b-bucket/out/"}
SECOND = 1_000_000_000
FILE = Entry("f", Kind.FILE, 1, 9 * SECOND + 5, 9 * SECOND + 5, '"e"')
DIRECTORY = Entry("d/", Kind.DIRECTORY, 0, 9 * SECOND, 9 * SECOND, '"e"')
NOTHING = Attributes(modified_ns=9 * SECOND)
OWN = Attributes(stat.S_IFREG | 0o600, 7, 8, 5, 6, {}, 9 * SECOND)
LINK = Attributes(stat.S_IFLNK | 0o777, 7, 8, 5, 6, {}, 9 * SECOND)
GIVEN = GivenAttributes(1000, 1001, "0640", "2750", Mtime.LAST_MODIFIED)
OVER = GivenAttributes(1000, 1001, "640", "0750", Mtime.LAST_MODIFIED, override=True)
OWNED = {"uid": 1000, "gid": 1001}
ROWS = [
    (GivenAttributes(), FILE, NOTHING, NOTHING),
    (GivenAttributes(), FILE, OWN, OWN),
    (GIVEN, FILE, NOTHING, Attributes(stat.S_IFREG | 0o640, 1000, 1001, 9 * SECOND, None, {}, 9 * SECOND)),
    (GIVEN, DIRECTORY, NOTHING, Attributes(stat.S_IFDIR | 0o2750, 1000, 1001, 9 * SECOND, None, {}, 9 * SECOND)),
    (GIVEN, FILE, OWN, OWN),
    (GIVEN, FILE, Attributes(gid=8, mtime_ns=5), Attributes(stat.S_IFREG | 0o640, 1000, 8, 5)),
    (OVER, FILE, OWN, Attributes(stat.S_IFREG | 0o640, 1000, 1001, 9 * SECOND, None, {}, 9 * SECOND)),
    (OVER, FILE, LINK, Attributes(stat.S_IFLNK | 0o777, 1000, 1001, 9 * SECOND, None, {}, 9 * SECOND)),
    (GivenAttributes(mtime=Mtime.NOW), FILE, NOTHING, Attributes()),
    (GivenAttributes(mtime=Mtime.NOW), FILE, OWN, OWN),
    (GivenAttributes(mtime=Mtime.NOW, override=True), FILE, OWN, Attributes(stat.S_IFREG | 0o600, 7, 8)),
    # Set-id bits go with the owner that they belong to.
    (GivenAttributes(1, 1), FILE, Attributes(0o4755), Attributes(0o755, 1, 1)),
    (GivenAttributes(1, 1), FILE, Attributes(0o6755, 7, 8), Attributes(0o6755, 7, 8)),
    (GivenAttributes(1, override=True), FILE, Attributes(0o6755, 7, 8), Attributes(0o755, 1, 8)),
    (GivenAttributes(1, override=True), DIRECTORY, Attributes(0o2755, 7, 8), Attributes(0o2755, 1, 8)),
]


@pytest.mark.parametrize(("given", "entry", "known", "expected"), ROWS)
def test_the_table(given: GivenAttributes, entry: Entry, known: Attributes, expected: Attributes) -> None:
    assert given.of(entry, known) == expected
    assert given.of(entry, expected) == expected, "giving twice is giving once"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (GivenAttributes(), None),
        (GivenAttributes(file_mode="0640", mtime=Mtime.NOW), None),
        (GivenAttributes(uid=5), Attributes(None, 5)),
        (GivenAttributes(directory_mode="770"), Attributes(stat.S_IFDIR | 0o770)),
        (OVER, Attributes(stat.S_IFDIR | 0o750, 1000, 1001)),
    ],
)
def test_a_directory_that_keys_imply(given: GivenAttributes, expected: Attributes | None) -> None:
    assert given.of_implied_directory == expected


BAD: list[tuple[dict[str, str], Any, str, str]] = [
    (FROM_S3, {"uid": -1}, "attributes.uid", "-1 is less than the least, 0"),
    (FROM_S3, {"gid": 2**32 - 1}, "attributes.gid", "4294967295 is more than the most, 4,294,967,294"),
    (FROM_S3, {"uid": "root"}, "attributes.uid", "'root' is not allowed; allowed: integer"),
    (FROM_S3, {"file_mode": 640}, "attributes.file_mode", '640 is not allowed; allowed: octal text from "0000" to'),
    (FROM_S3, {"file_mode": "0680"}, "attributes.file_mode", "'0680' is not allowed; allowed: octal text"),
    (FROM_S3, {"file_mode": "4755"}, "attributes.file_mode", "'4755' is not allowed; allowed: octal text"),
    (FROM_S3, {"file_mode": "rw-r--r--"}, "attributes.file_mode", "allowed: octal text"),
    (FROM_S3, {"directory_mode": "1777"}, "attributes.directory_mode", 'with the set-gid bit to "2777"'),
    (FROM_S3, {"mtime": "yesterday"}, "attributes.mtime", "'yesterday' is not allowed; allowed: last-modified, now"),
    (FROM_S3, {"override": "yes"}, "attributes.override", "'yes' is not allowed; allowed: true, false"),
    (FROM_S3, {"override": True}, "attributes.override", "there is nothing to override with; name uid, gid"),
    (FROM_S3, {"mode": "0640"}, "attributes.mode", "unknown field"),
    (INSIDE_S3, OWNED, "attributes", "S3 copies objects to s3://b-bucket/out/ with the metadata that they have; leave"),
    (ON_MOUNT, OWNED, "attributes", "everything in efs://data/in has attributes of its own; leave it out, or name ov"),
    (TO_S3, OWNED, "attributes", "everything in efs://data/in has attributes of its own"),
    (ON_MOUNT, {"mtime": "now", "override": True}, "attributes.mtime", "a later run tells by the mtime what changed"),
    (
        FROM_S3 | {"overwrite": "if-newer"},
        {"mtime": "now"},
        "attributes.mtime",
        "overwrite: if-newer tells by the mtime",
    ),
    (FROM_S3 | {"overwrite": "never"}, {"mtime": "now"}, "attributes.mtime", "overwrite: never tells by the mtime"),
    (FROM_S3 | {"backup_to": "efs:///kept"}, {"mtime": "now"}, "attributes.mtime", "last-modified is allowed"),
]


@pytest.mark.parametrize(("ends", "given", "field", "said"), BAD)
def test_what_cannot_be_is_refused_by_name(ends: dict[str, str], given: Any, field: str, said: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        parse_request({**ends, "attributes": given}, ("data",), 10)
    assert caught.value.field == field
    assert said in str(caught.value)


@pytest.mark.parametrize("more", [{"overwrite": "if-newer"}, {"overwrite": "never"}, {"backup_to": "efs:///kept"}])
def test_the_time_of_the_object_goes_with_what_tells_by_the_mtime(more: dict[str, str]) -> None:
    given = {"mtime": "last-modified", "override": True}
    assert parse_request({**FROM_S3, **more, "attributes": given}, ("data",), 10).attributes.override


@pytest.mark.parametrize("ends", [FROM_S3, ON_MOUNT, TO_S3])
def test_given_attributes_go_through_the_plan(ends: dict[str, str]) -> None:
    given = {**OWNED, "file_mode": "0640", "directory_mode": "2750", "override": True}
    request = parse_request({**ends, "attributes": given}, ("data",), 10)
    assert request.attributes == GivenAttributes(1000, 1001, "0640", "2750", override=True)
    assert through_the_ledger(Plan("run", request, DEFAULT_RATES)).request == request
    assert not parse_request({**ends, "attributes": {}}, ("data",), 10).attributes.are_any
