"""A page of a listing is read the same whatever the form in which a server writes it."""

from __future__ import annotations

from datetime import UTC, datetime
from urllib.parse import quote_plus
from xml.etree import ElementTree
from xml.sax.saxutils import escape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanout.adapters.s3.client import object_page
from fanout.adapters.s3.client.answers import WrongAnswer
from fanout.adapters.s3.client.object_page import ObjectPage, PageAsked, parse_object_page
from fanout.adapters.s3.client.responses import parse_document
from fanout.adapters.s3.path_columns import paths_within
from fanout.model.columns import FileColumns, one_by_one
from fanout.model.entry import Entry, Kind
from fanout.model.segment import Segment

SECOND = 1_000_000_000
S3 = "<Key>{key}</Key><LastModified>{time}</LastModified><ETag>{etag}</ETag>{checksum}<Size>{size}</Size>{last}"
CHECKSUM = "<ChecksumAlgorithm>CRC64NVME</ChecksumAlgorithm><ChecksumType>FULL_OBJECT</ChecksumType>"
CLASS = "<StorageClass>STANDARD</StorageClass>"
FORMS = {
    "s3": (S3, '"', CHECKSUM, CLASS),
    "escaped quotes": (S3, "&quot;", "", CLASS),
    "go": (S3, "&#34;", "", "<Owner><ID>x</ID><DisplayName></DisplayName></Owner>" + CLASS),
    "two checksums": (S3, "&quot;", "<ChecksumAlgorithm>SHA256</ChecksumAlgorithm>" + CHECKSUM, ""),
    "being restored": (S3, '"', CHECKSUM, CLASS + "<RestoreStatus><A>true</A></RestoreStatus>"),
    "another order": (
        "<ETag>{etag}</ETag><Key>{key}</Key>\n  <LastModified>{time}</LastModified><Size>{size}</Size>{checksum}{last}",
        '"', "", CLASS,
    ),
}  # fmt: skip
# What XML can hold; a key of other characters is only written encoded.
KEYS = st.text(st.characters(min_codepoint=32, exclude_categories=("Cs", "Cn", "Co")), min_size=1, max_size=12)
OBJECTS = st.lists(st.tuples(KEYS, st.integers(0, 10**12), st.integers(0, 4 * 10**9)), max_size=12)


def written(found: ObjectPage, forms: list[str], *, encoded: bool, prefixes_first: bool = False) -> bytes:
    """The page as servers write it, each object in a form."""

    def text(key: str) -> str:
        return quote_plus(key, safe="/") if encoded else escape(key)

    objects = ""
    columns = zip(found.keys, found.sizes, found.modified_ns, found.etags, forms, strict=True)
    for key, size, modified_ns, etag, form in columns:
        shape, quotes, checksum, last = FORMS[form]
        time = datetime.fromtimestamp(modified_ns // SECOND, UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")
        inside = shape.format(
            key=text(key), time=time, etag=etag.replace('"', quotes), size=size, checksum=checksum, last=last
        )
        objects += f"<Contents>{inside}</Contents>"
    prefixes = "".join(
        f"<CommonPrefixes><Prefix>{text(one)}</Prefix></CommonPrefixes>" for one in found.common_prefixes
    )
    more = f"<NextContinuationToken>{found.continuation}</NextContinuationToken>" if found.truncated else ""
    head = (
        f"<IsTruncated>{str(found.truncated).lower()}</IsTruncated>{more}"
        + "<EncodingType>url</EncodingType>" * encoded
    )
    body = prefixes + objects if prefixes_first else objects + prefixes
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">'
        f"<Name>b</Name>{head}{body}</ListBucketResult>"
    ).encode()


def page_of(objects: list[tuple[str, int, int]], prefixes: list[str], *, truncated: bool) -> ObjectPage:
    columns = [list(column) for column in zip(*objects, strict=True)] or [[], [], []]
    etags = [f'"{number:032x}"' for number in range(len(objects))]
    times = [seconds * SECOND for seconds in columns[2]]
    return ObjectPage(columns[0], columns[1], times, etags, prefixes, "1/t+=" if truncated else "", truncated)


@given(OBJECTS, st.lists(KEYS, max_size=3), st.data(), st.booleans(), st.booleans(), st.booleans())
def test_a_page_is_read_whatever_its_form(
    objects: list[tuple[str, int, int]],
    prefixes: list[str],
    data: st.DataObject,
    encoded: bool,
    truncated: bool,
    first: bool,
) -> None:
    page = page_of(objects, prefixes, truncated=truncated)
    forms = data.draw(st.lists(st.sampled_from(sorted(FORMS)), min_size=len(objects), max_size=len(objects)))
    assert parse_object_page(written(page, forms, encoded=encoded, prefixes_first=first)) == page


@pytest.mark.parametrize("form", sorted(name for name, (*_, last) in FORMS.items() if CLASS in last))
def test_a_class_that_may_hold_an_object_is_read_whatever_its_form(form: str) -> None:
    page = page_of([("a", 1, 1), ("b", 2, 2)], [], truncated=False)
    body = written(page, [form] * 2, encoded=False)
    assert parse_object_page(body.replace(b"STANDARD", b"GLACIER")).classes == {"a": "GLACIER", "b": "GLACIER"}
    assert parse_object_page(body.replace(b"STANDARD", b"GLACIER", 1)).classes == {"a": "GLACIER"}


@pytest.mark.parametrize("form", ["s3", "escaped quotes", "go"])
def test_no_object_of_an_ordinary_page_is_an_xml_element(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[bytes] = []

    def watched(body: bytes, *roots: str) -> ElementTree.Element:
        parsed.append(body)
        return parse_document(body, *roots)

    monkeypatch.setattr(object_page, "parse_document", watched)
    page = page_of([(f"é/{number:03d}", number, number) for number in range(100)], ["a/"], truncated=True)
    assert parse_object_page(written(page, [form] * 100, encoded=True)) == page
    (body,) = parsed
    assert len(body) < 500


@pytest.mark.parametrize("lost", [1, 30, 200, 500])
def test_half_a_page_is_none(lost: int) -> None:
    page = page_of([(f"key{number}", 1, 1) for number in range(5)], [], truncated=False)
    body = written(page, ["s3"] * 5, encoded=True)
    with pytest.raises(WrongAnswer):
        parse_object_page(body[:-lost])


def test_keys_that_hold_any_character_are_decoded() -> None:
    page = page_of([("a b+c%", 1, 1), ("d\0e", 1, 1), ("\u20ac/\n\r", 1, 1)], ["x\0/"], truncated=False)
    assert parse_object_page(written(page, ["s3"] * 3, encoded=True)) == page


ASKED = PageAsked("b", "k", start_after="k0", most_keys=3, after="k0")
CONTINUED = PageAsked("b", "k", continuation="t", most_keys=3, after="k0")


def listed(inside: str, *, keys: tuple[str, ...] = ("k1", "k2"), truncated: str = "false") -> bytes:
    objects = "".join(
        f"<Contents><Key>{key}</Key><LastModified>2026-01-01T00:00:00Z</LastModified><Size>1</Size></Contents>"
        for key in keys
    )
    return f"<ListBucketResult><IsTruncated>{truncated}</IsTruncated>{inside}{objects}</ListBucketResult>".encode()


@pytest.mark.parametrize(
    "inside",
    [
        "",
        "<Name>b</Name><Prefix>k</Prefix><KeyCount>2</KeyCount><StartAfter>k0</StartAfter>",
        "<EncodingType>url</EncodingType><Prefix>%6B</Prefix><Delimiter/>",
    ],
)
def test_a_page_that_answers_what_was_asked(inside: str) -> None:
    assert parse_object_page(listed(inside), ASKED).keys == ["k1", "k2"]


@pytest.mark.parametrize(
    ("body", "asked", "words"),
    [
        (listed("<KeyCount>3</KeyCount>"), ASKED, "KeyCount is 3"),
        (listed("", keys=("k1", "k2", "k3", "k4")), ASKED, "4 keys where 3"),
        (listed("<Name>other</Name>"), ASKED, "Name"),
        (listed("<Prefix>x</Prefix>", keys=()), ASKED, "Prefix"),
        (listed("<Prefix/>", keys=()), ASKED, "Prefix"),
        (listed("<StartAfter>k9</StartAfter>", keys=()), ASKED, "StartAfter"),
        (listed("<Delimiter>/</Delimiter>"), ASKED, "Delimiter"),
        (listed("", keys=("j", "k1")), PageAsked("b", "k"), "'j'"),
        (listed("", keys=("k1", "l")), ASKED, "'l'"),
        (listed("", keys=("k0", "k1")), ASKED, "order of their bytes"),
        (listed("", keys=("k2", "k1")), ASKED, "order of their bytes"),
        (listed("", keys=("k1", "k1")), ASKED, "order of their bytes"),
        (listed("<ContinuationToken>u</ContinuationToken>"), CONTINUED, "ContinuationToken"),
        (listed("<ContinuationToken>t</ContinuationToken>"), ASKED, "ContinuationToken"),
        (listed("", truncated="true"), ASKED, "without a token"),
        (listed("<NextContinuationToken>t</NextContinuationToken>", truncated="true"), CONTINUED, "without a token"),
        (listed("", truncated=""), ASKED, "IsTruncated"),
        (listed("").replace(b"<Size>1</Size>", b""), ASKED, "a key or a size"),
        (listed("").replace(b"2026-01-01T", b"today"), ASKED, "is no time"),
        (listed("").replace(b"ListBucketResult", b"ListPartsResult"), ASKED, "in place of ListBucketResult"),
        (b"<Error><Code>InternalError</Code></Error>", ASKED, "a document Error"),
        (b"<html><body>Welcome<br></body></html>", ASKED, "no XML"),
        (b"", ASKED, "no XML"),
    ],
)
def test_a_page_that_does_not_is_none(body: bytes, asked: PageAsked, words: str) -> None:
    with pytest.raises(WrongAnswer, match=words):
        parse_object_page(body, asked)


def test_the_bucket_behind_an_access_point_has_another_name() -> None:
    alias = PageAsked("data-abcdefgh-s3alias", "k")
    assert parse_object_page(listed("<Name>b</Name>"), alias).keys == ["k1", "k2"]


PATHS = st.lists(st.text("ab/é\U0001f600", min_size=1, max_size=5), unique=True, max_size=30)
BOUNDS = st.text("ab/é\udcff", max_size=4)


@given(PATHS, BOUNDS, BOUNDS)
def test_columns_hold_what_the_keys_of_the_segment_are(paths: list[str], after: str, until: str) -> None:
    paths.sort(key=str.encode)
    sizes, times = [len(path) % 2 for path in paths], list(range(len(paths)))
    etags = [f'"{time}"' if time % 5 else "" for time in times]
    segment = Segment("one", after=after, until=until)
    page = ObjectPage(["top/" + path for path in paths], sizes, times, etags)
    listed = list(paths_within(segment, page, 4).listed())

    low, high = after.encode(errors="surrogateescape"), until.encode(errors="surrogateescape")
    assert [(entry.path, entry.size, entry.changed_ns) for entry in one_by_one(listed)] == [
        (path, size, time)
        for path, size, time in zip(paths, sizes, times, strict=True)
        if path.encode() > low and (not high or path.encode() <= high)
    ]
    for one in listed:
        if isinstance(one, FileColumns):
            assert all(name and "/" not in name for name in one.names)
            assert not one.directory or one.directory.endswith("/")
        else:
            assert (one.kind is Kind.DIRECTORY) is (one.size == 0)


def test_files_of_one_directory_are_one_value() -> None:
    keys = ["d/", "d/a", "d/b", "d/c"]
    found = list(paths_within(Segment("one"), ObjectPage(keys, [0, 1, 2, 3], [9] * 4, ['"e"'] * 4), 0).listed())
    assert found == [
        Entry("d/", Kind.DIRECTORY, 0, 9, 9, '"e"'),
        FileColumns("d/", ["a", "b", "c"], [1, 2, 3], [9] * 3, [9] * 3, ['"e"'] * 3),
    ]


@pytest.mark.parametrize(
    ("keys", "last", "in_order"),
    [
        ([], "a", True),
        (["b"], "a", True),
        (["a"], "a", False),
        (["b", "a"], "", False),
        (["\uffff", "\U00010000"], "", True),
    ],
)
def test_keys_are_in_the_order_of_their_bytes(keys: list[str], last: str, in_order: bool) -> None:
    assert ObjectPage(keys).is_in_order(last) is in_order
