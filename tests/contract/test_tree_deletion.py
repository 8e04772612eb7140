"""The part of the conformance suite of the port ``Tree`` that deletes."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from fanout.adapters.posix.tree import PosixTree
from fanout.adapters.s3.client.client import S3Client
from fanout.adapters.s3.tree import S3Tree
from fanout.model.entry import Entry, Kind
from fanout.model.errors import ItemError
from fanout.model.outcome import Reason
from fanout.ports.tree import Tree
from tests.contract.tree_use import FILE_ATTRIBUTES, WHOLE, entries, files_of, write
from tests.support.mounts import writable


def test_what_still_is_what_was_listed_is_deleted_and_nothing_else(tree: Tree) -> None:
    for path in ("a", "d/b", "d/changed", "stays"):
        write(tree, path, b"old")
    listed = entries(tree)
    write(tree, "d/changed", b"newer", replace(FILE_ATTRIBUTES, mtime_ns=1))
    gone = Entry("d/never/there", Kind.FILE, 3, 1, 1, '"x"')
    problems = tree.delete([listed["a"], listed["d/b"], listed["d/changed"], gone])
    assert {path: problem.reason for path, problem in problems.items()} == {"d/changed": Reason.DESTINATION_CHANGED}
    assert set(entries(tree)) == {"d/changed", "stays"}
    assert tree.delete([listed["a"]]) == {}
    assert tree.delete_batch >= 1


@pytest.fixture
def source(tree: Tree, tmp_path: Path) -> Tree:
    """The same tree as the source of a move sees it."""
    if isinstance(tree, PosixTree):
        return writable(PosixTree(tmp_path, tree._root.removesuffix("/"), "run", "move", "source"))
    if isinstance(tree, S3Tree):
        return S3Tree(tree._client, tree._bucket, tree._prefix, is_source=True)
    pytest.skip("trees in memory tell no time of their own")


def rewritten(tree: Tree, path: str) -> None:
    """The same bytes with the same mtime again, a second later: a store may tell whole seconds."""
    time.sleep(1.1)
    write(tree, path, b"old")


def test_a_move_deletes_at_its_source_what_nobody_wrote_again(tree: Tree, source: Tree) -> None:
    for path in ("a", "d/b", "d/rewritten", "d/changed"):
        write(tree, path, b"old")
    listed = entries(source)
    write(tree, "d/changed", b"newer")
    rewritten(tree, "d/rewritten")
    problems = source.delete(list(listed.values()))
    assert {path: problem.reason for path, problem in problems.items()} == dict.fromkeys(
        ("d/changed", "d/rewritten"), Reason.SOURCE_CHANGED
    )
    assert set(entries(tree)) == {"d/changed", "d/rewritten"}
    assert source.delete([listed["a"]]) == {}


def test_only_an_empty_directory_of_a_file_system_is_removed(tree: Tree) -> None:
    files = files_of(tree)
    write(tree, "d/file", b"x")
    with pytest.raises(ItemError) as raised:
        files.remove_directory(Entry("d/", Kind.DIRECTORY))
    assert raised.value.reason is Reason.NOT_EMPTY
    tree.delete([entries(tree)["d/file"]])
    files.remove_directory(Entry("d/", Kind.DIRECTORY))
    files.remove_directory(Entry("d/", Kind.DIRECTORY))
    assert list(tree.list(WHOLE)) == []


def test_a_batch_of_deletions_is_one_request_with_the_etag_of_each(client: S3Client, bucket: str) -> None:
    keys = [f"in/{number}&<" for number in range(3)]
    for key in keys:
        client.put_object(bucket, key, b"x")
    sent: list[tuple[str, bytes | None]] = []
    begin = client.request

    def recorded(operation: str, *arguments: Any, **named: Any) -> Any:
        sent.append((operation, named.get("body")))
        return begin(operation, *arguments, **named)

    client.request = recorded  # type: ignore[method-assign]
    tree = S3Tree(client, bucket, "in/")
    listed = [*entries(tree).values()]
    sent.clear()
    assert tree.delete(listed) == {}
    assert [operation for operation, _ in sent] == ["HeadObject"] * 3 + ["DeleteObjects"]
    assert (sent[-1][1] or b"").count(b"<ETag>") == 3
    assert entries(tree) == {}
