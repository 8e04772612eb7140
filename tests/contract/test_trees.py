"""The conformance suite of the port ``Tree``: what every adapter does, seen through the port alone."""

from __future__ import annotations

import stat

import pytest
from msgspec.structs import replace

from fanout.adapters.s3.client.client import S3Client
from fanout.adapters.s3.tree import S3Tree
from fanout.model.entry import Attributes, Entry, Kind, whole_seconds
from fanout.model.errors import InvalidRequest, ItemError
from fanout.model.outcome import Reason
from fanout.ports.tree import Tree
from tests.contract.conftest import Needs
from tests.contract.tree_use import FILE_ATTRIBUTES, WHOLE, entries, files_of, finish, read, write
from tests.support.s3_servers import Lack


@pytest.mark.parametrize("size_in_blocks", ["nothing", "byte", "block", "over a block", "blocks"])
def test_file_comes_back(tree: Tree, size_in_blocks: str) -> None:
    block_bytes = tree.block_bytes(Entry("file", Kind.FILE, 1))
    sizes = {"nothing": 0, "byte": 1, "block": block_bytes, "over a block": block_bytes + 1, "blocks": 2 * block_bytes}
    body = (bytes(range(251)) * (2 * block_bytes // 251 + 1))[: sizes[size_in_blocks]]
    write(tree, "deep/er/file", body)
    (entry,) = entries(tree).values()
    assert (entry.path, entry.kind, entry.size) == ("deep/er/file", Kind.FILE, len(body))
    assert entry.changed_ns > 0
    found, attributes = read(tree, entry)
    assert found == body
    assert attributes.mtime_ns == FILE_ATTRIBUTES.mtime_ns
    assert attributes.mode == FILE_ATTRIBUTES.mode
    assert not attributes.is_symlink


def test_attributes_can_be_asked_for_before_any_byte(tree: Tree) -> None:
    large = tree.block_bytes(Entry("large", Kind.FILE, 1)) + 1
    for path, size in (("small", 3), ("large", large)):
        write(tree, path, b"x" * size)
        source = tree.open(entries(tree)[path])
        assert source.attributes.mtime_ns == FILE_ATTRIBUTES.mtime_ns
        assert source.read(size - 1, 100) == b"x"
        assert source.read(size, 100) == b""
        source.confirm(None)
        source.close()


def test_one_request_tells_the_mtime_that_a_copy_gives(tree: Tree) -> None:
    write(tree, "file", b"x")
    (entry,) = entries(tree).values()
    found = tree.find_stored("file")
    assert found is not None and (found.entry.size, found.entry.etag, found.is_symlink) == (1, entry.etag, False)
    assert FILE_ATTRIBUTES.mtime_ns == (found.entry.mtime_ns if found.mtime_ns is None else found.mtime_ns)


def test_what_says_no_mtime_has_that_of_its_writing(tree: Tree) -> None:
    """An object's Last-Modified in whole seconds, in which a header shows it; a file has an mtime of its own."""
    write(tree, "file", b"x", Attributes(mode=stat.S_IFREG | 0o640))
    (entry,) = entries(tree).values()
    found = tree.find_stored("file")
    assert found is not None and found.mtime_ns is None
    assert read(tree, entry)[1].copied_mtime_ns == (whole_seconds(entry.changed_ns) if entry.etag else entry.mtime_ns)


def test_a_store_tells_its_own_time(tree: Tree) -> None:
    earliest, _ = tree.clock_ns()
    write(tree, "file", b"x")
    _, latest = tree.clock_ns()
    listed = entries(tree)
    assert list(listed) == ["file"]
    assert whole_seconds(earliest) <= listed["file"].changed_ns <= latest


def test_source_is_pinned_to_what_was_listed(tree: Tree) -> None:
    write(tree, "file", b"first")
    (entry,) = entries(tree).values()
    write(tree, "file", b"other", replace(FILE_ATTRIBUTES, mtime_ns=1_800_000_000_000_000_000))
    with pytest.raises(ItemError) as caught:
        read(tree, entry)
    assert caught.value.reason is Reason.SOURCE_CHANGED


def test_source_of_another_size_is_changed(tree: Tree) -> None:
    write(tree, "file", b"first")
    (entry,) = entries(tree).values()
    with pytest.raises(ItemError) as caught:
        read(tree, replace(entry, size=entry.size - 1))
    assert caught.value.reason is Reason.SOURCE_CHANGED


@pytest.mark.parametrize("blocks", [0, 2])
def test_source_that_is_gone_has_vanished(tree: Tree, blocks: int) -> None:
    size = blocks * tree.block_bytes(Entry("gone", Kind.FILE, 1))
    with pytest.raises(ItemError) as caught:
        read(tree, Entry("gone", Kind.FILE, size, 1, 1, '"e"'))
    assert caught.value.reason is Reason.SOURCE_VANISHED


@pytest.mark.parametrize("size", ["small", "large"])
def test_nothing_is_visible_before_the_commit_or_after_an_abort(tree: Tree, size: str) -> None:
    write(tree, "kept", b"old")
    block_bytes = tree.block_bytes(Entry("file", Kind.FILE, 1))
    body = b"n" * (block_bytes + 1 if size == "large" else 3)
    for path in ("kept", "file"):
        target = tree.create(Entry(path, Kind.FILE, len(body)), FILE_ATTRIBUTES)
        for offset in range(0, len(body), block_bytes):
            target.write(offset, body[offset : offset + block_bytes])
        visible = entries(tree)
        assert list(visible) == ["kept"]
        assert read(tree, visible["kept"])[0] == b"old"
        target.abort()
        target.abort()
    finish(tree)
    assert list(entries(tree)) == ["kept"]
    assert read(tree, entries(tree)["kept"])[0] == b"old"


def test_commit_replaces_the_whole_file(tree: Tree) -> None:
    write(tree, "file", b"a longer old body", Attributes(mode=stat.S_IFREG | 0o600, mtime_ns=1))
    write(tree, "file", b"new")
    (entry,) = entries(tree).values()
    assert read(tree, entry)[0] == b"new"
    assert read(tree, entry)[1].mode == FILE_ATTRIBUTES.mode


def test_directory_is_listed_and_made_again(tree: Tree) -> None:
    entry = Entry("a/b/", Kind.DIRECTORY)
    attributes = Attributes(mode=stat.S_IFDIR | 0o750, mtime_ns=FILE_ATTRIBUTES.mtime_ns)
    for _ in range(2):
        tree.make_directory(entry, attributes)
        if tree.file_system is not None:
            made = replace(entry, inode=tree.file_system.place_of(entry).inode)
            tree.file_system.set_attributes(made, attributes)
    write(tree, "a/b/file", b"x")
    listed = [found.path for found in tree.list(WHOLE)]
    assert listed[-2:] == ["a/b/", "a/b/file"]
    assert {found.path: found.kind for found in tree.list(WHOLE)}["a/b/"] is Kind.DIRECTORY


def test_root_directory_is_no_entry(tree: Tree) -> None:
    tree.make_directory(Entry("", Kind.DIRECTORY), Attributes(mode=stat.S_IFDIR | 0o755))
    assert list(tree.list(WHOLE)) == []


@pytest.mark.parametrize("mode", [None, stat.S_IFLNK | 0o777])
def test_symlink_comes_back(tree: Tree, mode: int | None) -> None:
    write(tree, "link", b"a file before")
    tree.make_symlink(Entry("link", Kind.SYMLINK), b"../else\xffwhere", Attributes(mode=mode))
    (entry,) = entries(tree).values()
    body, attributes = read(tree, entry)
    assert body == b"../else\xffwhere"
    assert attributes.is_symlink


@pytest.mark.usefixtures("with_links")
def test_further_name_holds_the_same_and_replaces_what_was_there(tree: Tree) -> None:
    write(tree, "first", b"content", inode="1")
    write(tree, "d/further", b"something else")
    for _ in range(2):
        files_of(tree).link(Entry("d/further", Kind.FILE, 7), "first")
    found = entries(tree)
    assert read(tree, found["d/further"])[0] == b"content"
    assert found["d/further"].inode == found["first"].inode
    finish(tree)
    assert set(entries(tree)) == {"d/further", "first"}


@pytest.mark.usefixtures("with_links")
def test_a_further_name_is_never_that_of_a_file_that_somebody_else_put_there(tree: Tree) -> None:
    files = files_of(tree)
    write(tree, "first", b"another's")
    for _ in range(2):
        with pytest.raises(ItemError) as refused:
            files.link(Entry("d/further", Kind.FILE, 7), "first")
        assert refused.value.reason is Reason.DESTINATION_CHANGED
    assert "d/further" not in entries(tree)


def test_wrong_checksum_is_told(tree: Tree) -> None:
    if not isinstance(tree, S3Tree):
        pytest.skip("only a store with checksums of its own can tell")
    large = tree.block_bytes(Entry("large", Kind.FILE, 1)) + 1
    for path, size in (("small", 3), ("large", large)):
        write(tree, path, b"x" * size)
        with pytest.raises(ItemError) as caught:
            tree.open(entries(tree)[path]).confirm(1)
        assert caught.value.reason is Reason.CHECKSUM


def test_check_of_a_root_that_can_be_used(tree: Tree) -> None:
    tree.make_directory(Entry("", Kind.DIRECTORY), Attributes(mode=stat.S_IFDIR | 0o755))
    tree.check(writing=False)
    tree.check(writing=True)
    assert list(tree.list(WHOLE)) == []


def test_check_names_a_bucket_that_does_not_exist(client: S3Client) -> None:
    with pytest.raises(InvalidRequest, match="no-such-bucket"):
        S3Tree(client, "no-such-bucket", "").check(writing=False)


def test_key_with_bytes_that_ends_in_a_slash_is_a_file(client: S3Client, bucket: str, needs: Needs) -> None:
    needs(Lack.BYTES_UNDER_DIRECTORY_KEYS)
    client.put_object(bucket, "root/", b"")
    client.put_object(bucket, "root/dir/", b"")
    client.put_object(bucket, "root/odd/", b"x")
    listed = {entry.path: entry.kind for entry in S3Tree(client, bucket, "root/").list(WHOLE)}
    assert listed == {"dir/": Kind.DIRECTORY, "odd/": Kind.FILE}


def test_a_file_system_tells_whether_it_has_hard_links(tree: Tree, request: pytest.FixtureRequest) -> None:
    if tree.file_system is None:
        return
    write(tree, "file", b"x")
    assert tree.file_system.has_hard_links() is ("without-links" not in request.node.name)
    assert list(entries(tree)) == ["file"]
