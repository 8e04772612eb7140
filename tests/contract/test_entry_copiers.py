"""The conformance suite of the port ``EntryCopier``, and what only S3 has beside it."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from msgspec.structs import replace

from fanout.adapters.s3.client.client import S3Client
from fanout.adapters.s3.copier import S3EntryCopier, part_ranges
from fanout.adapters.s3.metadata import write_headers
from fanout.adapters.s3.tree import S3Tree
from fanout.facts.units import GIB, MIB
from fanout.model.checksum import crc64nvme, to_base64
from fanout.model.deadline import NEVER, Deadline
from fanout.model.entry import NOTHING_THERE, Attributes, Entry, Kind
from fanout.model.errors import ItemError, TimeUp
from fanout.model.location import S3Location
from fanout.model.outcome import Reason
from fanout.model.segment import Segment
from fanout.ports.tree import EntryCopier, Tree
from fanout.request.object_options import ObjectOptions
from tests.contract.conftest import SERVERS, Needs, client_of, new_bucket
from tests.support.memory import MemoryEntryCopier, MemoryTree
from tests.support.s3_proxy import SLOW_DOWN_INSIDE, S3Proxy
from tests.support.s3_servers import Lack, S3Server

WHOLE = Segment("whole")
PART = 5 * MIB
HEADERS = {
    "content-type": "text/x",
    "cache-control": "no-store",
    "content-language": "de",
    "x-amz-meta-colour": "red",
    "x-amz-meta-file-mtime": "1700000000123456789ns",
}
TAGS = {"x-amz-tagging": "team=a%20b&empty="}


@dataclass
class Store:
    """Two trees and what copies between them."""

    source: Tree
    destination: Tree
    copier: EntryCopier
    lacks: frozenset[Lack]

    def needs(self, lack: Lack) -> None:
        if lack in self.lacks:
            pytest.skip(f"the server {lack.value}")


@dataclass
class S3Ends:
    """Two buckets behind a proxy that checks the conditions of copies."""

    proxy: S3Proxy
    client: S3Client
    source: S3Location
    destination: S3Location

    def copier(
        self, whole_bytes: int = PART, headers: dict[str, str] | None = None, tags: dict[str, str] | None = None
    ) -> S3EntryCopier:
        """Copies in parts above ``whole_bytes``."""
        ends = (self.client, self.source, self.destination)
        return S3EntryCopier(*ends, headers or {}, tags=tags or {}, whole_bytes=whole_bytes, part_bytes=PART)

    def put(self, path: str, body: bytes) -> Entry:
        """An object of the source with metadata and tags."""
        key = self.source.prefix + path
        self.client.put_object(self.source.bucket, key, body, HEADERS | TAGS, crc64nvme=crc64nvme(body))
        found = S3Tree(self.client, self.source.bucket, self.source.prefix).find(path)
        assert found is not None
        return found


@contextlib.contextmanager
def ends_on(server: S3Server) -> Iterator[S3Ends]:
    proxy = S3Proxy(server.url)
    client = client_of(dataclasses.replace(server, url=proxy.url))
    yield S3Ends(proxy, client, S3Location(new_bucket(client), "from/"), S3Location(new_bucket(client), "to/"))
    proxy.close()


@pytest.fixture
def s3_ends(s3_server: S3Server) -> Iterator[S3Ends]:
    with ends_on(s3_server) as ends:
        yield ends


@pytest.fixture(params=["memory", *SERVERS])
def store(request: pytest.FixtureRequest) -> Iterator[Store]:
    if request.param == "memory":
        changes = itertools.count(1)
        source, destination = MemoryTree(changes), MemoryTree(changes)
        yield Store(source, destination, MemoryEntryCopier(source, destination), frozenset())
        return
    server: S3Server = request.getfixturevalue(request.param)
    with ends_on(server) as ends:
        trees = [S3Tree(ends.client, end.bucket, end.prefix) for end in (ends.source, ends.destination)]
        yield Store(trees[0], trees[1], ends.copier(), server.lacks)


@pytest.fixture
def s3_parts(needs: Needs) -> None:
    needs(Lack.COPIED_RANGE_CHECKSUMS)


def write(tree: Tree, path: str, body: bytes) -> Entry:
    target = tree.create(Entry(path, Kind.FILE, len(body)), Attributes(mode=0o100640, mtime_ns=17))
    target.write(0, body)
    target.commit(crc64nvme(body))
    found = tree.find(path)
    assert found is not None
    return found


@pytest.mark.parametrize("size", [0, 3, PART + 1])
def test_copy_has_bytes_attributes_and_checksum(store: Store, size: int) -> None:
    if size > PART:
        store.needs(Lack.COPIED_RANGE_CHECKSUMS)
    body = b"x" * size
    entry = write(store.source, "d/f +%ü", body)
    assert store.copier.copy(entry, NEVER) == to_base64(crc64nvme(body))
    found = store.destination.find("d/f +%ü")
    assert found is not None
    copy = store.destination.open(found)
    assert copy.read(0, size) == body
    assert (copy.attributes.mode, copy.attributes.mtime_ns) == (0o100640, 17)


def test_directory_is_copied(store: Store) -> None:
    store.needs(Lack.DIRECTORY_COPIES)
    store.source.make_directory(Entry("d/", Kind.DIRECTORY), Attributes(mode=0o040750))
    (entry,) = store.source.list(WHOLE)
    store.copier.copy(entry, NEVER)
    assert [found.path for found in store.destination.list(WHOLE)] == ["d/"]


@pytest.mark.parametrize("size", [3, PART + 1])
def test_entry_that_changed_or_vanished_is_not_copied(store: Store, size: int) -> None:
    entry = write(store.source, "f", b"o" * size)
    write(store.source, "f", b"n" * size)
    gone = replace(entry, path="gone")
    for one, reason in ((entry, Reason.SOURCE_CHANGED), (gone, Reason.SOURCE_VANISHED)):
        with pytest.raises(ItemError) as caught:
            store.copier.copy(one, NEVER)
        assert caught.value.reason is reason
    assert list(store.destination.list(WHOLE)) == []


@pytest.mark.usefixtures("s3_parts")
@pytest.mark.parametrize("whole_bytes", [0, GIB], ids=["in parts", "whole"])
@pytest.mark.parametrize("named", ["tags", "metadata", "both"])
def test_what_the_request_names_stands_over_what_goes_along(s3_ends: S3Ends, whole_bytes: int, named: str) -> None:
    tags = {"team": "b", "run": "7"} if named != "metadata" else {}
    metadata = {"colour": "blue", "job": "7"} if named != "tags" else {}
    headers = write_headers(ObjectOptions(tags=tags, metadata=metadata))
    copier = s3_ends.copier(whole_bytes, headers, tags)
    entry = replace(s3_ends.put("f", b"body"), replaces=NOTHING_THERE)
    copied = [copier.copy(entry, NEVER) for _ in range(2)]  # another attempt finds what the first one wrote
    assert copied == [to_base64(crc64nvme(b"body"))] * 2
    found = s3_ends.client.head_object(s3_ends.destination.bucket, "to/f").headers
    added = {f"x-amz-meta-{name}": value for name, value in metadata.items()}
    assert (HEADERS | added).items() <= found.items()
    got = s3_ends.client.get_object_tagging(s3_ends.destination.bucket, "to/f")
    assert got == {"team": "a b", "empty": ""} | tags


@pytest.mark.usefixtures("s3_parts")
@pytest.mark.parametrize("whole_bytes", [0, GIB], ids=["in parts", "whole"])
def test_more_tags_than_s3_allows_fail_the_one_entry(s3_ends: S3Ends, whole_bytes: int) -> None:
    tags = {f"tag-{number}": "" for number in range(9)}
    copier = s3_ends.copier(whole_bytes, write_headers(ObjectOptions(tags=tags)), tags)
    with pytest.raises(ItemError, match="11 tags, 2 of them the source's, and S3 allows 10") as caught:
        copier.copy(s3_ends.put("f", b"body"), NEVER)
    assert caught.value.reason is Reason.DESTINATION_DENIED


@pytest.mark.usefixtures("s3_parts")
@pytest.mark.parametrize("whole_bytes", [0, GIB], ids=["in parts", "whole"])
def test_metadata_and_tags_go_along_and_storage_class_is_set(s3_ends: S3Ends, whole_bytes: int) -> None:
    entry = s3_ends.put("f", b"body")
    s3_ends.copier(whole_bytes, {"x-amz-storage-class": "STANDARD_IA"}).copy(entry, NEVER)
    found = s3_ends.client.head_object(s3_ends.destination.bucket, "to/f").headers
    assert HEADERS.items() <= found.items()
    assert found["x-amz-storage-class"] == "STANDARD_IA"
    assert s3_ends.client.get_object_tagging(s3_ends.destination.bucket, "to/f") == {"team": "a b", "empty": ""}


REDIRECT = {"x-amz-website-redirect-location": "/new.html"}


@pytest.mark.usefixtures("s3_parts")
@pytest.mark.parametrize("whole_bytes", [0, GIB], ids=["in parts", "whole"])
@pytest.mark.parametrize("named", [ObjectOptions(), ObjectOptions(tags={"run": "7"}, metadata={"job": "7"})])
def test_a_website_redirect_goes_along(
    s3_ends: S3Ends, whole_bytes: int, named: ObjectOptions, needs: Needs, s3_server: S3Server
) -> None:
    """CopyObject leaves it out unless the request names it (API_CopyObject, x-amz-website-redirect-location)."""
    needs(Lack.REDIRECTS)
    asked: list[str] = []
    s3_ends.proxy.choose = lambda head: asked.append(head.headers.get(next(iter(REDIRECT)), "")) or ""  # type: ignore[func-returns-value]
    here, there = s3_ends.source, s3_ends.destination
    s3_ends.client.put_object(here.bucket, "from/old", b"body", HEADERS | REDIRECT)
    entry = S3Tree(s3_ends.client, here.bucket, "from/").find("old")
    assert entry is not None
    copier = s3_ends.copier(whole_bytes, write_headers(named), dict(named.tags))
    copier.copy(replace(entry, replaces=NOTHING_THERE), NEVER)
    found = s3_ends.client.head_object(there.bucket, "to/old").headers
    assert HEADERS.items() <= found.items()
    assert asked.count("/new.html") == 2  # of the object itself, and of its copy
    if whole_bytes or Lack.REDIRECTS_OF_UPLOADS not in s3_server.lacks:
        assert REDIRECT.items() <= found.items()
        copier.copy(replace(entry, replaces=NOTHING_THERE), NEVER)  # another attempt finds what the first one wrote


@pytest.mark.usefixtures("s3_parts")
def test_slow_down_inside_a_200_is_repeated(s3_ends: S3Ends) -> None:
    entries = [s3_ends.put("small", b"body"), s3_ends.put("large", b"x" * (PART + 1))]
    answers = itertools.cycle([SLOW_DOWN_INSIDE, ""])
    s3_ends.proxy.choose = lambda head: next(answers) if "x-amz-copy-source" in head.headers else ""
    for entry in entries:
        s3_ends.copier().copy(entry, NEVER)
    assert s3_ends.proxy.faults[SLOW_DOWN_INSIDE] >= 2
    assert {found.path for found in S3Tree(s3_ends.client, s3_ends.destination.bucket, "to/").list(WHOLE)} == {
        "small",
        "large",
    }


def test_copy_in_parts_that_stops_leaves_no_upload(s3_ends: S3Ends) -> None:
    entry = s3_ends.put("f", b"x" * (3 * PART))
    questions = itertools.count()
    with pytest.raises(TimeUp):
        s3_ends.copier().copy(entry, Deadline(lambda: next(questions) >= 1, 0))
    assert s3_ends.client.list_multipart_uploads(s3_ends.destination.bucket) == []
    s3_ends.put("f", b"y" * (3 * PART))
    with pytest.raises(ItemError):
        s3_ends.copier().copy(entry, NEVER)
    assert s3_ends.client.list_multipart_uploads(s3_ends.destination.bucket) == []


@pytest.mark.parametrize("size", [1, 256 * MIB, 256 * MIB + 1, 5 * 1024 * GIB, 48_800 * GIB])
def test_parts_cover_an_object_of_any_size_within_the_limits(size: int) -> None:
    ranges = part_ranges(size)
    assert len(ranges) <= 10_000
    assert all(last - first + 1 <= 5 * GIB for first, last in ranges)
    assert all(last - first + 1 >= PART for first, last in ranges[:-1])
    assert ranges[0][0] == 0
    assert ranges[-1][1] == size - 1
    assert all(one[1] + 1 == other[0] for one, other in itertools.pairwise(ranges))
