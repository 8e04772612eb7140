"""The part of the conformance suite of the port ``Tree`` that deletes."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from fanout.adapters.s3.client.client import S3Client
from fanout.adapters.s3.tree import S3Tree
from fanout.model.entry import Entry, Kind
from fanout.model.errors import ItemError
from fanout.model.outcome import Reason
from fanout.ports.tree import Tree
from tests.contract.tree_use import FILE_ATTRIBUTES, WHOLE, entries, files_of, write


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
