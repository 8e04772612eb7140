"""Attributes as S3 headers: the round trip, the neighbours' formats, and values that mean nothing."""

from __future__ import annotations

import re
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanout.adapters.s3.metadata import (
    carried_headers,
    content_type_header,
    from_headers,
    tagging_header,
    to_headers,
    write_headers,
)
from fanout.facts import content_types
from fanout.model.entry import Attributes, Says
from fanout.request import object_options
from fanout.request.object_options import USER_PREFIX, ObjectOptions

ids = st.none() | st.integers(0, 2**32 - 2)
times = st.none() | st.integers(-(2**63) * 10**9, 2**63 * 10**9 - 1)
headers = st.dictionaries(st.sampled_from(["content-type", "cache-control", "x-amz-meta-mtime"]), st.text())


@given(
    st.builds(
        Attributes,
        mode=st.none() | st.integers(0, 0o177777),
        uid=ids,
        gid=ids,
        mtime_ns=times,
        atime_ns=times,
        headers=headers,
    )
)
def test_round_trip(attributes: Attributes) -> None:
    assert from_headers(to_headers(attributes)) == attributes


@pytest.mark.parametrize(
    ("mode", "text"), [(0o100644, "0100644"), (0o040755, "0040755"), (0o120777, "0120777"), (0o104755, "0104755")]
)
def test_mode_is_written_as_aws_services_write_it(mode: int, text: str) -> None:
    assert to_headers(Attributes(mode=mode)) == {"x-amz-meta-file-permissions": text}


def test_time_is_written_in_nanoseconds_and_read_in_milliseconds_without_suffix() -> None:
    assert to_headers(Attributes(mtime_ns=1_500)) == {"x-amz-meta-file-mtime": "1500ns"}
    assert from_headers({"x-amz-meta-file-mtime": "1500ns"}).mtime_ns == 1_500
    assert from_headers({"x-amz-meta-file-mtime": "1500"}).mtime_ns == 1_500_000_000
    assert from_headers({"x-amz-meta-file-atime": "-5ns"}).atime_ns == -5


@pytest.mark.parametrize("text", ["644", "0644", "0100644", "100644"])
def test_a_mode_is_read_in_octal(text: str) -> None:
    assert from_headers({"x-amz-meta-file-permissions": text}).mode in (0o644, 0o100644)


@pytest.mark.parametrize("seconds", [-11_644_473_600, 253_402_300_799, -(2**63), 2**63 - 1])
def test_a_time_of_any_file_system_comes_back(seconds: int) -> None:
    mtime_ns = seconds * 10**9
    assert from_headers(to_headers(Attributes(mtime_ns=mtime_ns))).mtime_ns == mtime_ns


NAMES = {
    "mode": "file-permissions",
    "uid": "file-owner",
    "gid": "file-group",
    "mtime_ns": "file-mtime",
    "atime_ns": "file-atime",
}


@pytest.mark.parametrize("text", ["", "x", "1.5", "0o17", "1_0", "+1", " 1", "٣", "9" * 5000, "--1", "ns", "-ns"])
def test_a_value_that_means_nothing_is_unreadable_and_not_absent(text: str) -> None:
    found = from_headers({f"x-amz-meta-{name}": text for name in NAMES.values()})
    assert found == Attributes(unreadable=dict.fromkeys(NAMES, text))
    assert {found.says(name) for name in NAMES} == {Says.UNREADABLE}
    assert {Attributes().says(name) for name in NAMES} == {Says.NOT_TOLD}


@pytest.mark.parametrize(
    ("field", "text"),
    [
        ("mode", "0888"),
        ("mode", "0200000"),
        ("mode", "200000"),
        ("mode", "7"),
        ("mode", "40755"),  # a directory in octal, or in decimal a number that another tool may have meant
        ("mode", "33204"),  # 0100664 in decimal
        ("mode", "41471"),  # 0120777 in decimal, which would be a directory's in octal
        ("mtime_ns", "9223372036854775808000000000ns"),
        ("mtime_ns", "-9223372036854775808000000001ns"),
        ("uid", "4294967296"),
        ("uid", "4294967295"),  # (uid_t)-1: chown takes it for "leave as it is"
        ("gid", "4294967295"),
        ("uid", "-1"),
        ("gid", "-1"),
    ],
)
def test_a_value_out_of_range_is_unreadable(field: str, text: str) -> None:
    assert from_headers({f"x-amz-meta-{NAMES[field]}": text}) == Attributes(unreadable={field: text})


def test_only_the_owners_headers_are_kept() -> None:
    kept = {"content-type": "text/plain", "content-encoding": "gzip", "x-amz-meta-colour": "red"}
    other = {"etag": '"e"', "content-length": "3", "x-amz-request-id": "r", "x-amz-meta-file-owner": "7"}
    assert from_headers(kept | other) == Attributes(uid=7, headers=kept)


def test_options_as_headers() -> None:
    assert write_headers(ObjectOptions()) == {}
    assert write_headers(ObjectOptions("GLACIER", "alias/key")) == {
        "x-amz-storage-class": "GLACIER",
        "x-amz-server-side-encryption": "aws:kms",
        "x-amz-server-side-encryption-aws-kms-key-id": "alias/key",
        "x-amz-server-side-encryption-bucket-key-enabled": "true",
    }


def test_what_each_object_gets_as_headers() -> None:
    tags, metadata = {"team": "a b", "ü": ""}, {"job": "7"}
    options = ObjectOptions(tags=tags, metadata=metadata, acl="bucket-owner-full-control")
    assert write_headers(options) == {
        "x-amz-meta-job": "7",
        "x-amz-tagging": "team=a%20b&%C3%BC=",
        "x-amz-acl": "bucket-owner-full-control",
    }


def test_what_a_run_writes_of_a_file_fits_beside_the_metadata_that_a_request_may_name() -> None:
    longest = Attributes(0o177777, 2**32 - 2, 2**32 - 2, -(2**63) + 1, -(2**63) + 1)
    own = {name.removeprefix(USER_PREFIX): value for name, value in to_headers(longest).items()}
    assert set(own) == object_options._OWN_METADATA
    assert sum(len(name) + len(value) for name, value in own.items()) <= object_options._OWN_BYTES


def test_a_copy_in_parts_carries_what_copy_object_would() -> None:
    kept = {"content-type": "a/b", "expires": "0", "x-amz-meta-file-owner": "7", "x-amz-meta-x": "1"}
    other = {"etag": "e", "content-length": "1", "x-amz-storage-class": "GLACIER", "x-amz-server-side-encryption": "k"}
    assert carried_headers(kept | other) == kept
    assert tagging_header({"a b": "ü&=", "c": ""}) == {"x-amz-tagging": "a%20b=%C3%BC%26%3D&c="}
    assert tagging_header({}) == {}


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("a/b.html", "text/html"),
        ("A.JSON", "application/json"),
        ("x.tar.gz", "application/gzip"),
        ("x.csv.bz2", "application/x-bzip2"),
        ("a/font.woff2", "font/woff2"),
        ("font.ttf", "font/ttf"),
        ("m.mjs", "text/javascript"),
        ("m.wasm", "application/wasm"),
        ("p.webp", "image/webp"),
        ("README.md", "text/markdown"),
        ("x.tgz", "application/gzip"),
        ("x.Z", "application/x-compress"),
        ("README", None),
        ("a.", None),
        ("..html", None),
        ("dir.html/none", None),
        (".html", None),
        ("data:text/css,x", None),
        ("\udcff.png", "image/png"),
    ],
)
def test_content_type_of_a_name(path: str, expected: str | None) -> None:
    assert content_type_header(path).get("content-type") == expected


def test_each_ending_has_one_content_type() -> None:
    counted = Counter(ending for endings in content_types._ENDINGS.values() for ending in endings.split())
    assert [ending for ending, count in counted.items() if count > 1 or ending != ending.lower()] == []
    assert all(re.fullmatch(r"[a-z]+/[a-z0-9.+-]+", content_type) for content_type in content_types._ENDINGS)
