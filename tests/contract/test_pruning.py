"""A pruned directory stands for all that it holds, whatever the store, and costs little where a listing is flat."""

from __future__ import annotations

from pathlib import Path

import pytest

from fanout.adapters.posix.tree import PosixTree
from fanout.adapters.s3.client.client import S3Client
from fanout.adapters.s3.client.object_page import ObjectPage
from fanout.adapters.s3.tree import S3Tree
from fanout.model.entry import Kind
from fanout.model.segment import Segment, cut, rest_of
from fanout.ports.tree import Tree
from fanout.request.filtering.filters import Filters
from tests.contract.tree_use import WHOLE, write

PATHS = ["a", "b/x", "c-d", "c/keep/f", "c/skip/f", "c/skip/g/h", "c/skip0", "skip/f", "skip/g", "z/skip"]
PRUNED = ["a", "b/x", "c-d", "c/keep/f", "c/skip/", "c/skip0", "skip/", "z/skip"]
FILTERS = Filters(exclude=("skip/",))


def listed(tree: Tree, segment: Segment) -> list[str]:
    """Paths; in a bucket a directory need not be an object, on a mount it is always there."""
    found = list(tree.list(segment, FILTERS.prunes))
    assert all((entry.kind is Kind.DIRECTORY) is entry.path.endswith("/") for entry in found)
    return [entry.path for entry in found if entry.path not in ("b/", "c/", "c/keep/", "z/")]


@pytest.mark.usefixtures("in_byte_order")
def test_a_pruned_directory_stands_for_all_that_it_holds(tree: Tree) -> None:
    for path in PATHS:
        write(tree, path, b"")
    assert listed(tree, WHOLE) == PRUNED


@pytest.mark.usefixtures("in_byte_order")
@pytest.mark.parametrize("last", PRUNED)
def test_a_listing_that_is_cut_gives_each_pruned_directory_once(tree: Tree, last: str) -> None:
    for path in PATHS:
        write(tree, path, b"")
    first = PRUNED[: PRUNED.index(last) + 1]
    pieces = cut(rest_of(WHOLE, last, ()), PATHS)
    rest = [path for piece in pieces for path in listed(tree, piece)]
    assert first + rest == PRUNED


def test_a_pruned_directory_is_not_opened_on_a_mount(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "skip/deep").mkdir(parents=True)
    (tmp_path / "kept").mkdir()
    tree = PosixTree(tmp_path, "", "run", "attempt")
    opened: list[str] = []
    hold = tree._directories.hold

    def watched(path: str, *, create: bool = False) -> object:
        opened.append(path)
        return hold(path, create=create)

    monkeypatch.setattr(tree._directories, "hold", watched)
    assert [entry.path for entry in tree.list(WHOLE, FILTERS.prunes)] == ["kept/", "skip/"]
    assert not [path for path in opened if path.startswith("skip")]


def test_a_large_pruned_directory_of_a_bucket_costs_two_pages(
    client: S3Client, bucket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for key in ["a", *(f"skip/{number:03d}" for number in range(40)), "z"]:
        client.put_object(bucket, key, b"")
    begun: list[str] = []
    list_objects = client.list_objects_v2

    def pages_of_five(bucket: str, **options: str) -> ObjectPage:
        if not options["continuation"]:
            begun.append(options["start_after"])
        return list_objects(bucket, max_keys=5, **options)

    monkeypatch.setattr(client, "list_objects_v2", pages_of_five)
    assert [entry.path for entry in S3Tree(client, bucket, "").list(WHOLE, FILTERS.prunes)] == ["a", "skip/", "z"]
    assert begun == ["", "skip/\U0010ffff"]
