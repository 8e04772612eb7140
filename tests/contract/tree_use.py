"""How the tests of trees write, list and read through the port."""

from __future__ import annotations

import stat

import pytest

from fanout.model.checksum import crc64nvme
from fanout.model.entry import Attributes, Entry, Kind
from fanout.model.segment import Segment
from fanout.ports.file_system import FileSystem
from fanout.ports.tree import Source, Tree

WHOLE = Segment("whole")
FILE_ATTRIBUTES = Attributes(mode=stat.S_IFREG | 0o640, mtime_ns=1_700_000_000_123_456_789)


def write(tree: Tree, path: str, body: bytes, attributes: Attributes = FILE_ATTRIBUTES, inode: str = "") -> None:
    entry = Entry(path, Kind.FILE, len(body), inode=inode)
    target = tree.create(entry, attributes)
    block_bytes = tree.block_bytes(entry)
    for offset in range(0, len(body), block_bytes):
        target.write(offset, body[offset : offset + block_bytes])
    target.commit(crc64nvme(body))
    target.abort()


def entries(tree: Tree, segment: Segment = WHOLE) -> dict[str, Entry]:
    """The listed entries without the directories, which not every store keeps."""
    return {entry.path: entry for entry in tree.list(segment) if entry.kind is not Kind.DIRECTORY}


def drain(source: Source, block_bytes: int) -> bytes:
    body = b""
    while block := source.read(len(body), block_bytes):
        body += block
    return body


def read(tree: Tree, entry: Entry) -> tuple[bytes, Attributes]:
    source = tree.open(entry)
    try:
        body = drain(source, tree.block_bytes(entry))
        source.confirm(crc64nvme(body))
        return body, source.attributes
    finally:
        source.close()


def finish(tree: Tree) -> None:
    """End a run's work at its destination."""
    if tree.file_system is not None:
        tree.file_system.finish()


def files_of(tree: Tree) -> FileSystem:
    """What only a file system does; a test of it is skipped for a bucket."""
    if tree.file_system is None:
        pytest.skip("a bucket is no file system")
    return tree.file_system
