"""What a write to a bucket replaces is what the listing saw there: a late one of an earlier run changes nothing."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator

import pytest
from msgspec.structs import replace

from fanout.adapters.s3.copier import S3EntryCopier
from fanout.adapters.s3.metadata import write_headers
from fanout.adapters.s3.tree import S3Tree
from fanout.facts.units import MIB
from fanout.model.checksum import crc64nvme, to_base64
from fanout.model.deadline import NEVER
from fanout.model.entry import NOTHING_THERE, Attributes, Entry, Kind
from fanout.model.errors import ItemError
from fanout.model.location import S3Location
from fanout.model.outcome import Reason
from fanout.model.shard import Receipt
from fanout.ports.tree import Tree
from fanout.request.object_options import ObjectOptions
from tests.contract.conftest import SERVERS, Needs, client_of, new_bucket
from tests.contract.tree_use import FILE_ATTRIBUTES
from tests.support.memory import MemoryTree
from tests.support.s3_proxy import LOST_ANSWER, S3Proxy
from tests.support.s3_servers import Lack, S3Server

Write = Callable[[Tree, Entry, bytes], None]
PART = 5 * MIB


def put(tree: Tree, entry: Entry, body: bytes, attributes: Attributes = FILE_ATTRIBUTES) -> None:
    target = tree.create(entry, attributes)
    try:
        block_bytes = tree.block_bytes(entry)
        for offset in range(0, len(body), block_bytes):
            target.write(offset, body[offset : offset + block_bytes])
        target.commit(crc64nvme(body))
    finally:
        target.abort()


def put_blocks(tree: Tree, entry: Entry, body: bytes) -> None:
    blocks = tree.open_blocks(entry, tree.begin_blocks(entry, FILE_ATTRIBUTES))
    try:
        receipt = Receipt(0, crc64nvme(body), blocks.write(0, 0, body, crc64nvme(body)))
        blocks.complete([receipt], crc64nvme(body), FILE_ATTRIBUTES)
    except ItemError:
        blocks.discard()
        raise


def make_symlink(tree: Tree, entry: Entry, body: bytes) -> None:
    tree.make_symlink(replace(entry, kind=Kind.SYMLINK), body, FILE_ATTRIBUTES)


WAYS: dict[str, tuple[Write, int]] = {
    "file": (put, 3),
    "file in parts": (put, 8 * MIB + 1),
    "big file": (put_blocks, 3),
    "symlink": (make_symlink, 3),
}


@pytest.fixture(params=["memory", *SERVERS])
def bucket_tree(request: pytest.FixtureRequest) -> Tree:
    if request.param == "memory":
        return MemoryTree()
    client = client_of(request.getfixturevalue(request.param))
    return S3Tree(client, new_bucket(client), "to/")


@pytest.fixture
def ignores_conditions(request: pytest.FixtureRequest, bucket_tree: Tree) -> bool:
    """Whether the server ignores some of the conditions."""
    kind = request.node.callspec.params["bucket_tree"]
    return kind != "memory" and Lack.DESTINATION_CONDITIONS in request.getfixturevalue(kind).lacks


def stored(tree: Tree) -> tuple[str, bytes]:
    found = tree.find("f")
    if found is None:
        return NOTHING_THERE, b""
    source = tree.open(found)
    try:
        return found.etag, source.read(0, found.size) if found.size < MIB else b"large"
    finally:
        source.close()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("listed", ["nothing", "an object"])
def test_a_write_replaces_what_was_listed_and_may_come_twice(bucket_tree: Tree, way: str, listed: str) -> None:
    write, size = WAYS[way]
    if listed == "an object":
        put(bucket_tree, Entry("f", Kind.FILE, 5), b"older")
    entry = Entry("f", Kind.FILE, size, replaces=stored(bucket_tree)[0])
    write(bucket_tree, entry, b"n" * size)
    first = stored(bucket_tree)
    assert first[1] in (b"nnn", b"large")
    write(bucket_tree, entry, b"n" * size)  # another attempt of the same task
    assert stored(bucket_tree)[1] == first[1]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("listed", "meanwhile"), [("nothing", "written"), ("an object", "written"), ("an object", "deleted")]
)
def test_a_late_write_changes_nothing(
    bucket_tree: Tree, ignores_conditions: bool, way: str, listed: str, meanwhile: str
) -> None:
    write, size = WAYS[way]
    if ignores_conditions and way in ("file in parts", "big file") and listed == "an object":
        pytest.skip(Lack.DESTINATION_CONDITIONS.value)
    if listed == "an object":
        put(bucket_tree, Entry("f", Kind.FILE, 5), b"older")
    entry = Entry("f", Kind.FILE, size, replaces=stored(bucket_tree)[0])
    if meanwhile == "written":
        put(bucket_tree, Entry("f", Kind.FILE, 5), b"newer")
    else:
        [found] = [one for one in [bucket_tree.find("f")] if one is not None]
        assert not bucket_tree.delete([found])
    before = stored(bucket_tree)
    with pytest.raises(ItemError) as caught:
        write(bucket_tree, entry, b"o" * size)
    assert caught.value.reason is Reason.DESTINATION_CHANGED
    assert stored(bucket_tree) == before


@pytest.mark.parametrize("way", WAYS)
def test_a_write_with_metadata_and_tags_of_the_request_may_come_twice_too(s3_server: S3Server, way: str) -> None:
    client = client_of(s3_server)
    bucket = new_bucket(client)
    options = ObjectOptions(tags={"team": "a b"}, metadata={"job": "7"}, acl="bucket-owner-full-control")
    tree = S3Tree(client, bucket, "to/", write_headers=write_headers(options))
    write, size = WAYS[way]
    entry = Entry("f", Kind.FILE, size, replaces=NOTHING_THERE)
    for _ in range(2):
        write(tree, entry, b"n" * size)
    assert client.head_object(bucket, "to/f").headers["x-amz-meta-job"] == "7"
    assert client.get_object_tagging(bucket, "to/f") == {"team": "a b"}


def test_the_same_bytes_with_other_attributes_are_another_object(bucket_tree: Tree) -> None:
    entry = Entry("f", Kind.FILE, 3, replaces=NOTHING_THERE)
    put(bucket_tree, entry, b"abc", replace(FILE_ATTRIBUTES, mtime_ns=1))
    with pytest.raises(ItemError) as caught:
        put(bucket_tree, entry, b"abc")
    assert caught.value.reason is Reason.DESTINATION_CHANGED


def test_the_time_of_the_last_access_makes_no_other_object(s3_server: S3Server) -> None:
    client = client_of(s3_server)
    tree = S3Tree(client, new_bucket(client), "to/")
    entry = Entry("f", Kind.FILE, 3, replaces=NOTHING_THERE)
    for atime_ns in (1, 2):
        put(tree, entry, b"abc", replace(FILE_ATTRIBUTES, atime_ns=atime_ns))


@pytest.mark.parametrize("size", [3, 8 * MIB + 1])
def test_a_write_whose_answer_was_lost_is_done(s3_server: S3Server, size: int) -> None:
    """It is sent again, and finds itself."""
    proxy = S3Proxy(s3_server.url)
    try:
        client = client_of(dataclasses.replace(s3_server, url=proxy.url))
        tree = S3Tree(client, new_bucket(client), "to/")
        lost = iter([LOST_ANSWER])

        def loses_the_last_word(head: object) -> str:
            target, method = head.target, head.method  # type: ignore[attr-defined]
            ends = (method == "PUT" and "?" not in target) or (method == "POST" and "uploads" not in target)
            return next(lost, "") if ends else ""

        proxy.choose = loses_the_last_word
        put(tree, Entry("f", Kind.FILE, size, replaces=NOTHING_THERE), b"x" * size)
        assert proxy.faults[LOST_ANSWER] == 1
        assert stored(tree)[1] in (b"xxx", b"large")
    finally:
        proxy.close()


def test_a_directory_whose_answer_was_lost_is_made(s3_server: S3Server, needs: Needs) -> None:
    needs(Lack.DIRECTORY_CONDITIONS)
    proxy = S3Proxy(s3_server.url)
    try:
        client = client_of(dataclasses.replace(s3_server, url=proxy.url))
        tree = S3Tree(client, new_bucket(client), "to/")
        lost = iter([LOST_ANSWER])
        proxy.choose = lambda head: next(lost, "") if head.method == "PUT" else ""
        entry = Entry("d/", Kind.DIRECTORY, 0, replaces=NOTHING_THERE)
        tree.make_directory(entry, FILE_ATTRIBUTES)
        assert proxy.faults[LOST_ANSWER] == 1
        with pytest.raises(ItemError) as caught:
            tree.make_directory(entry, replace(FILE_ATTRIBUTES, mtime_ns=1))
        assert caught.value.reason is Reason.DESTINATION_CHANGED
    finally:
        proxy.close()


@dataclasses.dataclass
class Ends:
    source: S3Tree
    destination: S3Tree
    copier: S3EntryCopier
    server: S3Server


@pytest.fixture
def ends(s3_server: S3Server) -> Iterator[Ends]:
    """Two buckets behind a proxy that checks the conditions of copies."""
    proxy = S3Proxy(s3_server.url)
    client = client_of(dataclasses.replace(s3_server, url=proxy.url))
    here, there = S3Location(new_bucket(client), "from/"), S3Location(new_bucket(client), "to/")
    copier = S3EntryCopier(client, here, there, whole_bytes=PART, part_bytes=PART)
    source, destination = (S3Tree(client, one.bucket, one.prefix) for one in (here, there))
    yield Ends(source, destination, copier, s3_server)
    proxy.close()


@pytest.mark.parametrize("size", [3, PART + 1])
@pytest.mark.parametrize("listed", ["nothing", "an object"])
def test_a_late_copy_inside_s3_changes_nothing_and_its_own_may_come_twice(ends: Ends, size: int, listed: str) -> None:
    if Lack.COPIED_RANGE_CHECKSUMS in ends.server.lacks and size > PART:
        pytest.skip(Lack.COPIED_RANGE_CHECKSUMS.value)
    put(ends.source, Entry("f", Kind.FILE, size), b"s" * size)
    found = ends.source.find("f")
    assert found is not None
    if listed == "an object":
        put(ends.destination, Entry("f", Kind.FILE, 5), b"older")
    entry = replace(found, replaces=stored(ends.destination)[0])
    checksum = to_base64(crc64nvme(b"s" * size))
    assert [ends.copier.copy(entry, NEVER) for _ in range(2)] == [checksum, checksum]
    put(ends.destination, Entry("f", Kind.FILE, 5), b"newer")
    before = stored(ends.destination)
    with pytest.raises(ItemError) as caught:
        ends.copier.copy(entry, NEVER)
    assert caught.value.reason is Reason.DESTINATION_CHANGED
    assert stored(ends.destination) == before


def test_a_copy_of_an_object_without_a_checksum_finds_itself_too(ends: Ends) -> None:
    if Lack.COPIED_RANGE_CHECKSUMS in ends.server.lacks:
        pytest.skip(Lack.COPIED_RANGE_CHECKSUMS.value)
    client, bucket = ends.source._client, ends.source._bucket
    client.put_object(bucket, "from/f", b"plain")
    found = ends.source.find("f")
    assert found is not None
    entry = replace(found, replaces=NOTHING_THERE)
    checksums = {ends.copier.copy(entry, NEVER) for _ in range(2)}
    assert checksums <= {None, to_base64(crc64nvme(b"plain"))}
    assert stored(ends.destination)[1] == b"plain"


@pytest.mark.parametrize("size", [3, PART + 1])
def test_a_source_that_changed_is_still_told_from_a_destination_that_did(ends: Ends, size: int) -> None:
    put(ends.source, Entry("f", Kind.FILE, size), b"o" * size)
    found = ends.source.find("f")
    assert found is not None
    put(ends.source, Entry("f", Kind.FILE, size), b"n" * size)
    with pytest.raises(ItemError) as caught:
        ends.copier.copy(replace(found, replaces=NOTHING_THERE), NEVER)
    assert caught.value.reason is Reason.SOURCE_CHANGED
