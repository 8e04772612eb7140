"""The conformance suite of the port ``BlockTarget``: big files that are written in blocks, by every adapter."""

from __future__ import annotations

from fanout.model.checksum import crc64nvme
from fanout.model.entry import Entry, Kind
from fanout.model.shard import Receipt
from fanout.ports.tree import Tree
from tests.contract.tree_use import FILE_ATTRIBUTES, entries, finish, read


def test_blocks_make_a_file_whatever_their_order_and_only_when_it_is_completed(tree: Tree) -> None:
    block_bytes = 8 * 1024 * 1024
    body = bytes(block_bytes) + b"1" * block_bytes + b"end"
    entry = Entry("d/blocks", Kind.FILE, len(body))
    token = tree.begin_blocks(entry, FILE_ATTRIBUTES)
    receipts = {}
    for index in (2, 0, 1, 0):
        data = body[index * block_bytes : (index + 1) * block_bytes]
        word = tree.open_blocks(entry, token).write(index, index * block_bytes, data, crc64nvme(data))
        receipts[index] = Receipt(index, crc64nvme(data), word)
    assert entries(tree) == {}
    for _ in range(2):  # a task may run twice
        ordered = [receipts[index] for index in range(3)]
        tree.open_blocks(entry, token).complete(ordered, crc64nvme(body), FILE_ATTRIBUTES)
    [found] = entries(tree).values()
    assert read(tree, found)[0] == body
    finish(tree)
    assert list(entries(tree)) == ["d/blocks"]


def test_blocks_that_are_discarded_leave_nothing(tree: Tree) -> None:
    entry = Entry("blocks", Kind.FILE, 3)
    token = tree.begin_blocks(entry, FILE_ATTRIBUTES)
    target = tree.open_blocks(entry, token)
    target.write(0, 0, b"abc", crc64nvme(b"abc"))
    target.discard()
    target.discard()
    finish(tree)
    assert entries(tree) == {}
