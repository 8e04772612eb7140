"""What proves a file unchanged: the table of ``deciding.proof_rules``, row by row, and that columns say the same."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from fanout.listing.deciding.kept_attributes import MOUNT_TELLS
from fanout.listing.deciding.proof_rules import Looked, evident, evident_files, looked
from fanout.model.columns import in_columns
from fanout.model.entry import Attributes, Entry, Found, Kind
from fanout.request.proven_ends import Ends

SECOND = 10**9
OBJECT = Entry("p", Kind.FILE, 5, 9 * SECOND + 5, 9 * SECOND + 5, '"e"')
FILE = Entry("p", Kind.FILE, 5, 7, 99 * SECOND)
LINK = replace(FILE, kind=Kind.SYMLINK)
FOUND = Found(OBJECT, None)
AT_7, AT_8 = Attributes(0o100644, 1, 2, 7), Attributes(0o100644, 1, 2, 8)
A_LINK, LINK_AT_7 = Attributes(mode=0o120777), Attributes(0o120777, 1, 2, 7)
SAME, OTHER, NOTHING = Looked.SAME, Looked.OTHER, Looked.NOTHING

MOUNT_TO_S3: list[tuple[Entry, Found | None, Looked]] = [
    (FILE, Found(OBJECT, None, AT_7), SAME),
    (FILE, Found(OBJECT, None, AT_8), OTHER),
    (FILE, Found(OBJECT, 1, None), OTHER),
    (FILE, Found(OBJECT, 1, replace(AT_7, mode=None)), OTHER),
    (FILE, Found(OBJECT, 1, replace(AT_7, gid=None)), OTHER),
    (FILE, Found(OBJECT, 1, replace(AT_7, mtime_ns=None, unreadable={"mtime_ns": "x"})), OTHER),
    (FILE, Found(replace(OBJECT, etag='"x"'), None, AT_7), OTHER),
    (FILE, Found(replace(OBJECT, size=6), None, AT_7), OTHER),
    (FILE, None, OTHER),
    (FILE, Found(OBJECT, None, LINK_AT_7), OTHER),
    (LINK, Found(OBJECT, None, LINK_AT_7), SAME),
    (LINK, Found(OBJECT, None, AT_7), OTHER),
]


@pytest.mark.parametrize(("file", "found", "expected"), MOUNT_TO_S3)
def test_an_object_written_from_a_file_says_its_mtime(file: Entry, found: Found | None, expected: Looked) -> None:
    assert looked(Ends.MOUNT_TO_S3, file, OBJECT, None, found) is expected


def test_a_time_that_the_request_gives_is_not_lost() -> None:
    found = Found(OBJECT, None, replace(AT_7, mtime_ns=None))
    tells = replace(MOUNT_TELLS, mtime_ns=None)
    assert looked(Ends.MOUNT_TO_S3, FILE, OBJECT, None, found, mount_tells=tells) is NOTHING


def test_a_directory_is_no_proof_by_its_etag_and_none_by_its_time() -> None:
    here = Entry("d/", Kind.DIRECTORY, 0, 9 * SECOND, 9 * SECOND, '"e"')
    assert not any(evident(ends, here, here) for ends in Ends)
    for there, expected in ((AT_7, SAME), (AT_8, OTHER), (None, OTHER), (replace(AT_7, uid=None), OTHER)):
        found = Found(here, 1, there)
        assert looked(Ends.MOUNT_TO_S3, replace(here, etag="", mtime_ns=7), here, None, found) is expected
        assert looked(Ends.S3_TO_S3, here, here, Found(here, 1, AT_7), found) is expected
    assert looked(Ends.S3_TO_S3, here, here, Found(here, 1), Found(here, 1)) is SAME


OF_A_WHOLE_OBJECT = [row for row in MOUNT_TO_S3 if row[1] is None or row[1].attributes in (AT_7, AT_8, LINK_AT_7)]


@pytest.mark.parametrize(("file", "found", "expected"), OF_A_WHOLE_OBJECT)
def test_a_file_written_from_an_object_has_its_mtime(file: Entry, found: Found | None, expected: Looked) -> None:
    assert looked(Ends.S3_TO_MOUNT, OBJECT, file, found, None) is expected


@pytest.mark.parametrize(("mtime_ns", "expected"), [(9 * SECOND, SAME), (9 * SECOND + 5, OTHER), (7, OTHER)])
def test_without_metadata_it_has_the_last_modified_in_whole_seconds(mtime_ns: int, expected: Looked) -> None:
    file = replace(FILE, mtime_ns=mtime_ns)
    assert looked(Ends.S3_TO_MOUNT, OBJECT, file, FOUND, None) is expected
    assert evident(Ends.S3_TO_MOUNT, OBJECT, file) is (expected is SAME)
    assert not evident(Ends.S3_TO_MOUNT, OBJECT, replace(file, kind=Kind.SYMLINK))


@pytest.mark.parametrize(
    ("found", "mtime_ns", "expected"),
    [
        (FOUND, 9 * SECOND, NOTHING),
        (FOUND, 10 * SECOND, NOTHING),
        (FOUND, 9 * SECOND - 1, NOTHING),
        (Found(replace(OBJECT, etag='"x"'), None), 10 * SECOND, OTHER),
        (Found(OBJECT, None, AT_7), 7, SAME),
        (Found(OBJECT, None, AT_7), 8, OTHER),
        (Found(OBJECT, None, A_LINK), 10 * SECOND, OTHER),
    ],
)
def test_the_time_of_a_copy_is_no_proof_of_its_version(found: Found, mtime_ns: int, expected: Looked) -> None:
    assert looked(Ends.S3_TO_MOUNT, OBJECT, replace(FILE, mtime_ns=mtime_ns), found, None, copied_now=True) is expected


OLDER = replace(OBJECT, etag='"older"')
CRC32 = {"CRC32": "aaaaaa=="}


@pytest.mark.parametrize(
    ("here", "there", "expected"),
    [
        (Found(OLDER, None, AT_7), Found(OBJECT, None, AT_7), OTHER),
        (Found(OLDER, None, AT_7, CRC32), Found(OBJECT, 1, AT_7), OTHER),
        (Found(OLDER, 1, AT_7), Found(OBJECT, 1, AT_7), SAME),
        (Found(OLDER, None, AT_7, CRC32), Found(OBJECT, None, AT_7, CRC32), SAME),
        (Found(OLDER, None, AT_7, CRC32), Found(OBJECT, None, AT_7, {"CRC32": "bbbbbb=="}), OTHER),
        (Found(OBJECT, None, AT_7, CRC32), Found(OBJECT, None, AT_7, {"CRC32": "bbbbbb=="}), OTHER),
        (Found(OLDER, 1, AT_7, CRC32), Found(OBJECT, 1, AT_7, {"CRC32": "bbbbbb=="}), OTHER),
        (Found(OLDER, None, AT_7, CRC32), Found(OBJECT, None, AT_7, {"SHA1": "c"}), OTHER),
        (Found(OLDER, None, AT_7, etag_is_digest=False), Found(OBJECT, None, AT_7), SAME),
        (Found(OLDER, None, AT_7), Found(OBJECT, None, AT_7, etag_is_digest=False), SAME),
        (Found(OLDER, None, AT_7, etag_is_digest=False), Found(OBJECT, None, AT_8), OTHER),
        (Found(OLDER, None, etag_is_digest=False), Found(OBJECT, None), NOTHING),
        (Found(replace(OBJECT, etag='"e-2"'), None, AT_7), Found(OBJECT, None, AT_7), SAME),
    ],
)
def test_a_time_is_asked_only_where_both_publish_nothing_stronger(here: Found, there: Found, expected: Looked) -> None:
    assert looked(Ends.S3_TO_S3, here.entry, there.entry, here, there) is expected


@pytest.mark.parametrize(
    ("here", "there", "expected"),
    [
        (Found(OBJECT, 1), Found(OBJECT, 1), SAME),
        (Found(OBJECT, 1), Found(OBJECT, 2), OTHER),
        (Found(OBJECT, 1, AT_7), Found(OBJECT, 1, AT_7), SAME),
        (Found(OBJECT, 1, AT_7), Found(OBJECT, 1, AT_8), OTHER),
        (Found(OBJECT, 1, AT_7), Found(OBJECT, 2, AT_7), OTHER),
        (Found(OBJECT, 1, AT_7), Found(OBJECT, 1), OTHER),
        (Found(OBJECT, 1), Found(OBJECT, 1, AT_7), SAME),
        (Found(OBJECT, 1, replace(AT_7, mode=None)), Found(OBJECT, 1, AT_7), SAME),
        (Found(OBJECT, None, AT_7), Found(OBJECT, 1, AT_7), SAME),
        (Found(OBJECT, None, AT_7), Found(OBJECT, 1, AT_8), OTHER),
        (Found(OBJECT, None, AT_7), Found(OBJECT, 1), OTHER),
        (Found(OBJECT, None), Found(OBJECT, 1, AT_7), SAME),
        (Found(OBJECT, None), Found(OBJECT, None), SAME),
        (Found(OBJECT, 1), Found(OBJECT, 1, A_LINK), OTHER),
        (None, Found(OBJECT, 1), OTHER),
        (Found(OBJECT, 1), None, OTHER),
        (Found(replace(OBJECT, etag='"x"'), 1), Found(OBJECT, 1), OTHER),
        (Found(OBJECT, 1), Found(replace(OBJECT, size=6), 1), OTHER),
    ],
)
def test_two_objects_say_their_checksums_or_mtimes(here: Found | None, there: Found | None, expected: Looked) -> None:
    assert looked(Ends.S3_TO_S3, OBJECT, OBJECT, here, there) is expected


PARTS = replace(OBJECT, etag='"e-2"')


@pytest.mark.parametrize(
    ("here", "there", "expected"),
    [
        (Found(PARTS, None), Found(PARTS, None), NOTHING),
        (Found(PARTS, None), Found(PARTS, 1, AT_7), NOTHING),
        (Found(PARTS, None, AT_7), Found(PARTS, None, AT_7), SAME),
        (Found(PARTS, 1), Found(PARTS, 1), SAME),
        (Found(PARTS, 1), Found(PARTS, 2), OTHER),
    ],
)
def test_an_etag_of_parts_says_nothing_of_the_bytes(here: Found, there: Found, expected: Looked) -> None:
    assert looked(Ends.S3_TO_S3, PARTS, PARTS, here, there) is expected


@pytest.mark.parametrize(
    ("here", "there", "expected"),
    [
        (AT_7, replace(AT_7, mode=None), OTHER),
        (AT_7, replace(AT_7, mode=0o100600), OTHER),
        (AT_7, replace(AT_7, gid=9), OTHER),
        (replace(AT_7, atime_ns=1), AT_7, OTHER),
        (AT_7, replace(AT_7, atime_ns=1), SAME),
        (Attributes(headers={"x-amz-meta-mtime": "7"}), Attributes(), OTHER),
        (Attributes(headers={"content-type": "a/b"}), Attributes(headers={"content-type": "a/c"}), OTHER),
        (Attributes(), Attributes(headers={"x-amz-meta-mtime": "7"}), SAME),
        (Attributes(unreadable={"mode": "x"}), Attributes(unreadable={"mode": "x"}), SAME),
        (Attributes(unreadable={"mode": "x"}), Attributes(), OTHER),
        (Attributes(headers={"x-amz-meta-job": "7"}), Attributes(headers={"x-amz-meta-job": "8"}), SAME),
    ],
)
def test_inside_s3_the_copy_tells_all_metadata_of_its_source(
    here: Attributes, there: Attributes, expected: Looked
) -> None:
    """Whatever bytes and ETags say; what the request gives (``job``) is no concern of the source."""
    found = looked(
        Ends.S3_TO_S3, OBJECT, OBJECT, Found(OBJECT, 1, here), Found(OBJECT, 1, there), given=["x-amz-meta-job"]
    )
    assert found is expected


TIMES = st.sampled_from([0, SECOND, SECOND + 1, 2 * SECOND])
ETAGS = st.sampled_from(['"a"', '"b"', '"a-2"'])


@given(st.sampled_from(Ends), st.lists(st.tuples(TIMES, TIMES, ETAGS, ETAGS), min_size=1, max_size=5))
def test_columns_say_what_entries_say(ends: Ends, rows: list[tuple[int, int, str, str]]) -> None:
    sources, destinations = [], []
    for number, (here, there, etag_here, etag_there) in enumerate(rows):
        on_s3 = (ends is not Ends.MOUNT_TO_S3, ends is not Ends.S3_TO_MOUNT)
        sources.append(Entry(f"f{number}", Kind.FILE, 1, here, here, etag_here if on_s3[0] else ""))
        destinations.append(Entry(f"f{number}", Kind.FILE, 1, there, there, etag_there if on_s3[1] else ""))
    (here_columns,), (there_columns,) = in_columns(sources, 9), in_columns(destinations, 9)
    assert not isinstance(here_columns, Entry) and not isinstance(there_columns, Entry)
    expected = [evident(ends, *pair) for pair in zip(sources, destinations, strict=True)]
    assert list(evident_files(ends, here_columns, there_columns)) == expected
