"""What appears at the destination after it was listed: with `overwrite`, every adapter leaves it as it says."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace as replaced
from pathlib import Path

import pytest
from msgspec.structs import replace

from fanout.adapters.posix.tree import PosixTree
from fanout.adapters.s3.copier import S3EntryCopier
from fanout.adapters.s3.tree import S3Tree
from fanout.model.deadline import NEVER as NO_DEADLINE
from fanout.model.entry import NOTHING_THERE, Entry, Kind
from fanout.model.errors import ItemError
from fanout.model.location import S3Location
from fanout.model.outcome import Reason
from fanout.ports.tree import Tree
from fanout.request.options import Overwrite
from tests.contract.conftest import SERVERS, client_of, new_bucket
from tests.contract.test_conditional_writes import PART, WAYS, put
from tests.contract.tree_use import FILE_ATTRIBUTES
from tests.support.memory import MemoryTree
from tests.support.mounts import writable
from tests.support.no_links import refuse_links
from tests.support.s3_proxy import S3Proxy
from tests.support.s3_servers import Lack, S3Server

ALWAYS, NEVER, IF_NEWER = Overwrite
LONG_AGO, FAR_AHEAD = 1_000_000_000, 4_000_000_000 * 10**9
Trees = Callable[[Overwrite], Tree]


@pytest.fixture(params=["memory", "directory", "without-links", *SERVERS])
def tree_with(request: pytest.FixtureRequest, tmp_path: Path) -> Trees:
    """Makes a tree of each adapter, with a policy."""
    if request.param == "memory":
        return lambda overwrite: MemoryTree(overwrite=overwrite)
    if request.param == "without-links":
        refuse_links(request.getfixturevalue("monkeypatch"))
    if request.param in ("directory", "without-links"):
        return lambda overwrite: writable(PosixTree(tmp_path, "to", "run", "n", overwrite=overwrite))
    client = client_of(request.getfixturevalue(request.param))
    return lambda overwrite: S3Tree(client, new_bucket(client), "to/", overwrite=overwrite)


def body_at(tree: Tree) -> bytes:
    found = tree.find("f")
    assert found is not None
    source = tree.open(found)
    try:
        return source.read(0, found.size)
    finally:
        source.close()


def entry_of(size: int, mtime_ns: int) -> Entry:
    return Entry("f", Kind.FILE, size, mtime_ns, replaces=NOTHING_THERE)


@pytest.mark.parametrize("way", WAYS)
def test_never_leaves_what_appeared_after_the_listing(tree_with: Trees, way: str) -> None:
    write, size = WAYS[way]
    tree = tree_with(NEVER)
    put(tree, entry_of(6, LONG_AGO), b"theirs")
    with pytest.raises(ItemError) as caught:
        write(tree, entry_of(size, FAR_AHEAD), b"o" * size)
    assert caught.value.reason is Reason.KEPT
    assert body_at(tree) == b"theirs"


@pytest.mark.parametrize("overwrite", [NEVER, IF_NEWER])
@pytest.mark.parametrize("way", WAYS)
def test_a_second_attempt_finds_what_the_first_one_wrote(tree_with: Trees, way: str, overwrite: Overwrite) -> None:
    write, size = WAYS[way]
    tree = tree_with(overwrite)
    for _ in range(2):
        write(tree, entry_of(size, FILE_ATTRIBUTES.mtime_ns or 0), b"n" * size)
    found = tree.find("f")
    assert found is not None
    assert found.size == size


@pytest.mark.parametrize("way", ["file", "big file", "symlink"])
def test_if_newer_leaves_what_is_newer_by_then(tree_with: Trees, way: str) -> None:
    write, size = WAYS[way]
    tree = tree_with(IF_NEWER)
    newer = replace(FILE_ATTRIBUTES, mtime_ns=(FILE_ATTRIBUTES.mtime_ns or 0) + 1)
    put(tree, entry_of(6, newer.mtime_ns or 0), b"theirs", newer)
    with pytest.raises(ItemError) as caught:
        write(tree, entry_of(size, LONG_AGO), b"o" * size)
    assert caught.value.reason is Reason.KEPT
    assert body_at(tree) == b"theirs"


@pytest.mark.parametrize("way", WAYS)
def test_if_newer_replaces_what_is_older(tree_with: Trees, way: str) -> None:
    write, size = WAYS[way]
    tree = tree_with(IF_NEWER)
    older = replace(FILE_ATTRIBUTES, mtime_ns=LONG_AGO)
    put(tree, entry_of(6, LONG_AGO), b"theirs", older)
    there = tree.find("f")
    assert there is not None
    write(tree, replace(entry_of(size, FAR_AHEAD), replaces=there.etag), b"n" * size)
    found = tree.find("f")
    assert found is not None
    assert found.size == size


@pytest.mark.parametrize("overwrite", [ALWAYS, IF_NEWER])
@pytest.mark.parametrize("way", WAYS)
def test_what_is_replaced_or_deleted_is_kept_before_it_goes(tmp_path: Path, way: str, overwrite: Overwrite) -> None:
    """Of a file system alone: a request with a bucket is refused."""
    write, size = WAYS[way]
    older = replace(FILE_ATTRIBUTES, mtime_ns=LONG_AGO)
    put(writable(PosixTree(tmp_path, "to", "run", "n")), entry_of(6, LONG_AGO), b"theirs", older)
    tree = PosixTree(tmp_path, "to", "run", "n", overwrite=overwrite, backup_to="kept/")
    for _ in range(2):  # as a task that runs twice
        write(tree, entry_of(size, FILE_ATTRIBUTES.mtime_ns or 0), b"n" * size)
    assert (tmp_path / "kept/run/f").read_bytes() == b"theirs"
    new = tree.find("f")
    assert new is not None and new.size == size
    later = writable(PosixTree(tmp_path, "to", "later", "n", overwrite=overwrite, backup_to="kept/"))
    assert later.delete([new]) == {}
    assert not (tmp_path / "to/f").exists() and os.path.lexists(tmp_path / "kept/later/f")


@pytest.mark.parametrize("server", SERVERS)
@pytest.mark.parametrize("size", [3, PART + 1])
def test_an_object_that_appeared_is_not_replaced_inside_s3(
    request: pytest.FixtureRequest, server: str, size: int
) -> None:
    """Behind a proxy that checks the conditions of copies, which no server here does."""
    s3_server: S3Server = request.getfixturevalue(server)
    proxy = S3Proxy(s3_server.url)
    if Lack.COPIED_RANGE_CHECKSUMS in s3_server.lacks and size > PART:
        pytest.skip(Lack.COPIED_RANGE_CHECKSUMS.value)
    client = client_of(replaced(s3_server, url=proxy.url))
    here, there = (S3Location(new_bucket(client), prefix) for prefix in ("from/", "to/"))
    source, destination = (S3Tree(client, one.bucket, one.prefix) for one in (here, there))
    put(source, Entry("f", Kind.FILE, size), b"o" * size)
    put(destination, Entry("f", Kind.FILE, 6), b"theirs")
    [entry] = [one for one in [source.find("f")] if one is not None]
    copier = S3EntryCopier(client, here, there, whole_bytes=PART, part_bytes=PART, overwrite=NEVER)
    try:
        with pytest.raises(ItemError) as caught:
            copier.copy(entry, NO_DEADLINE)
        assert caught.value.reason is Reason.KEPT
        assert body_at(destination) == b"theirs"
    finally:
        proxy.close()
