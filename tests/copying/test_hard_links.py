"""Files with several names, through the whole flow: one file stays one file, and the books balance."""

from __future__ import annotations

import os
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import convert

from fanout.adapters.posix.tree import PosixTree
from fanout.copying.copy_shard import copy_shard
from fanout.facts import aws, tuning
from fanout.finishing.finish_tree import finish_tree
from fanout.listing import listed_outcomes as list_module
from fanout.model.errors import ItemError
from fanout.model.outcome import Reason
from fanout.model.path_rules import STAGING_PREFIX
from fanout.model.shard import Shard
from fanout.partition.partition_shards import partition_shards
from fanout.shards.finished_tree import FINISHED
from fanout.shards.partitioned import links_of
from fanout.shards.record import records
from fanout.summary.summarise_transfer import summarise_transfer
from tests.support.flow import World
from tests.support.memory import MemoryTree

REQUEST = {"source": "efs:///in", "destination": "efs:///out"}
LONG_AGO_NS = 10**18


def world_of(mount: Path, run_id: str = "run-1", **more: Any) -> World:
    source = PosixTree(mount, "in", run_id, "source", "source")
    return World(source=source, destination=PosixTree(mount, "out", run_id, "n"), run_id=run_id, **more)


def fill(mount: Path, files: dict[str, list[str]]) -> None:
    """Files by their content, each under all its names."""
    for content, names in files.items():
        for number, name in enumerate(names):
            path = mount / "in" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if number:
                os.link(mount / "in" / names[0], path)
            else:
                path.write_text(content)


def grouped(root: Path) -> set[tuple[str, frozenset[str]]]:
    """The content of every file with its names, without what the run keeps for itself until it gives up its right."""
    found: dict[int, set[Path]] = {}
    for path in root.rglob("*"):
        if path.is_file() and not path.relative_to(root).parts[0].startswith(STAGING_PREFIX):
            found.setdefault(path.stat().st_ino, set()).add(path)
    return {
        (next(iter(paths)).read_text(), frozenset(str(path.relative_to(root)) for path in paths))
        for paths in found.values()
    }


FILES = {"one": ["b/first", "a/second", "third"], "two": ["x", "y"], "alone": ["z"]}


def test_names_of_one_file_stay_names_of_one_file(tmp_path: Path) -> None:
    fill(tmp_path, FILES)
    world = world_of(tmp_path)
    summary = world.run(REQUEST)
    assert summary["status"] == "SUCCEEDED"
    assert grouped(tmp_path / "out") == grouped(tmp_path / "in")
    assert summary["totals"]["listed"] == summary["totals"]["copied"] == {"entries": 8, "bytes": 3 * 3 + 2 * 3 + 5}
    assert summary["notes"] == ["3 further names of files with several hard links, 9 bytes, are kept as hard links"]
    assert not list((tmp_path / "out").glob(".fanout*"))


def test_symlinks_that_are_followed_keep_no_other_names_apart_and_link_none(tmp_path: Path) -> None:
    fill(tmp_path, FILES)
    names = grouped(tmp_path / "in")
    (tmp_path / "in/through").symlink_to("b")
    (tmp_path / "in/to").symlink_to("x")
    source = PosixTree(tmp_path, "in", "run-1", "source", "source", follow=True)
    world = World(source=source, destination=PosixTree(tmp_path, "out", "run-1", "n"), run_id="run-1")
    summary = world.run({**REQUEST, "symlinks": "follow", "verify": "all"})
    assert summary["status"] == "SUCCEEDED", summary
    apart = {("one", frozenset({"through/first"})), ("two", frozenset({"to"}))}
    assert grouped(tmp_path / "out") == names | apart


def test_what_is_linked_right_is_unchanged_and_what_is_not_is_mended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fanout.listing.deciding.decisions.MARGIN_NS", -(10**18))
    fill(tmp_path, FILES)
    world_of(tmp_path).run(REQUEST)
    second = world_of(tmp_path, "run-2").run(REQUEST)
    assert second["totals"]["unchanged"]["entries"] == 8
    assert second["shards"]["count"] == 0
    (tmp_path / "out/y").unlink()
    (tmp_path / "out/y").write_text("two")
    third = world_of(tmp_path, "run-3").run(REQUEST)
    assert third["status"] == "SUCCEEDED"
    assert third["totals"]["unchanged"]["entries"] < 8
    assert grouped(tmp_path / "out") == grouped(tmp_path / "in")


@pytest.mark.parametrize("at_once", [tuning.LINKED_NAMES, 1])
def test_a_directory_whose_name_is_linked_again_gets_its_mtime_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    monkeypatch.setattr(tuning, "LINKED_NAMES", at_once)
    monkeypatch.setattr("fanout.listing.deciding.decisions.MARGIN_NS", -(10**18))
    names = ["later/a", "seen/b", "seen/deep/c", "other/d", "z"]
    fill(tmp_path, {"one": names[1:], "two": ["pair/e", "pair/f"]})
    for path in [*names[1:], "pair/e", "seen", "seen/deep", "other", "pair", ""]:
        os.utime(tmp_path / "in" / path, ns=(LONG_AGO_NS, LONG_AGO_NS))
    world_of(tmp_path).run(REQUEST)
    fill(tmp_path, {"new": ["other/new"]})
    (tmp_path / "in/later").mkdir()
    os.link(tmp_path / "in/z", tmp_path / "in/later/a")
    os.utime(tmp_path / "in/other", ns=(LONG_AGO_NS, LONG_AGO_NS))
    summary = world_of(tmp_path, "run-2").run({**REQUEST, "verify": "all"})
    assert summary["status"] == "SUCCEEDED", summary
    assert grouped(tmp_path / "out") == grouped(tmp_path / "in")
    for path in ["seen", "seen/deep", "other", "pair"]:
        assert (tmp_path / "out" / path).stat().st_mtime_ns == LONG_AGO_NS, path
    assert summary["totals"]["unchanged"]["entries"] == len(["pair/", "pair/e", "pair/f"])


def test_more_names_than_a_file_can_have_are_more_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aws, "HARD_LINKS", 3)
    fill(tmp_path, {"many": [f"n{number}" for number in range(8)]})
    summary = world_of(tmp_path).run(REQUEST)
    assert summary["totals"]["copied"]["entries"] == 8
    sizes = sorted(len(names) for _, names in grouped(tmp_path / "out"))
    assert sizes == [2, 3, 3]


def test_to_a_bucket_each_name_is_an_object_and_the_summary_says_how_many(tmp_path: Path) -> None:
    fill(tmp_path, FILES)
    world = replace(world_of(tmp_path), destination=MemoryTree())
    summary = world.run({"source": "efs:///in", "destination": "s3://a-bucket/out/"})
    assert isinstance(world.destination, MemoryTree)
    assert {"b/first", "a/second", "third", "x", "y", "z"} <= set(world.destination.contents())
    assert summary["status"] == "SUCCEEDED"
    assert summary["totals"]["copied"]["bytes"] == 20
    note = "3 further names of files with several hard links, 9 bytes, are stored as objects of their own"
    assert summary["notes"] == [note]


def prepared(mount: Path) -> World:
    fill(mount, FILES)
    world = world_of(mount)
    world.list_all(world.plan(REQUEST))
    partition_shards(world.context())
    for row in world.ledger.read_json("shards.json"):
        assert copy_shard(convert(row["shard"], Shard), world.context())["done"]
    return world


def ended(world: World) -> Any:
    summarise_transfer(None, world.context())
    return world.ledger.read_json("summary.json")


def linked(world: World) -> int:
    """How often a name was linked."""
    files = (records(link.shard.id, world.ledger) for link in links_of(world.ledger))
    return sum(file.entries for found in files for file in found)


def test_a_repeated_finish_changes_nothing(tmp_path: Path) -> None:
    world = prepared(tmp_path)
    for _ in range(2):
        assert finish_tree(world.context(), deletes=True)["done"]
        assert linked(world) == 3
    for key in [*world.ledger.keys("outcomes/shards/links-"), FINISHED]:
        del world.store._objects[world.ledger.prefix + key]  # type: ignore[attr-defined]
    assert finish_tree(world.context(), deletes=True)["done"]
    assert linked(world) == 3
    assert grouped(tmp_path / "out") == grouped(tmp_path / "in")
    assert ended(world)["totals"]["copied"]["entries"] == 8


def test_a_finish_that_was_killed_goes_on_where_it_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Killed(BaseException):
        """The worker is gone."""

    world = prepared(tmp_path)
    plain, left = os.rename, iter(range(2))

    def rename(*names: Any, **more: Any) -> None:
        if next(left, None) is None:
            raise Killed
        plain(*names, **more)

    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setattr(os, "rename", rename)
        patch.setattr(tuning, "CLIENT_OPERATIONS_IN_FLIGHT", 1)  # beside another rename a name is linked to its place
        finish_tree(world.context())
    finish_tree(world.context())
    assert grouped(tmp_path / "out") == grouped(tmp_path / "in")
    assert ended(world)["status"] == "SUCCEEDED"
    assert not list((tmp_path / "out").glob(".fanout*"))


def test_a_name_is_not_linked_to_an_old_file_when_the_first_was_not_copied(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out/x").write_text("old")
    fill(tmp_path, FILES)
    os.utime(tmp_path / "out/x", ns=(LONG_AGO_NS, LONG_AGO_NS))
    os.utime(tmp_path / "in/x", ns=(LONG_AGO_NS, LONG_AGO_NS))
    world = world_of(tmp_path)
    world.list_all(world.plan(REQUEST))
    (tmp_path / "in/x").unlink()
    world.copy_all()
    finish_tree(world.context())
    summary = ended(world)
    assert summary["status"] == "FAILED_WITH_ITEMS"
    assert summary["balanced"]
    rows = {row["path"]: row["reason"] for row in world.ledger.read_rows("failures.jsonl")}
    assert rows == {"x": "source vanished", "y": "the file's first name was not copied"}
    assert not (tmp_path / "out/y").exists()


def test_a_name_that_became_another_file_since_the_listing_is_not_linked(tmp_path: Path) -> None:
    world = prepared(tmp_path)
    found = (tmp_path / "in/y").stat()
    (tmp_path / "in/new").write_text("six")
    os.utime(tmp_path / "in/new", ns=(found.st_atime_ns, found.st_mtime_ns))
    os.rename(tmp_path / "in/new", tmp_path / "in/y")
    finish_tree(world.context())
    ended(world)
    assert [(row["path"], row["reason"]) for row in world.ledger.read_rows("failures.jsonl")] == [
        ("y", "source changed")
    ]


def test_what_can_not_be_linked_has_a_reason(tmp_path: Path) -> None:
    class Refusing(PosixTree):
        def link(self, entry: Any, first: str) -> None:
            raise ItemError(Reason.NO_SPACE, "link at the destination: EDQUOT")

    fill(tmp_path, FILES)
    world = replace(world_of(tmp_path), destination=Refusing(tmp_path, "out", "run-1", "n"))
    summary = world.run(REQUEST)
    assert (summary["balanced"], summary["totals"]["failed"]["entries"]) == (True, 3)


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 4), st.sampled_from(["", "d/", "e/f/"])), max_size=25),
    st.integers(1, 4),
    st.integers(2, 5),
)
def test_whatever_the_links_the_destination_has_the_same(names: list[tuple[int, str]], held: int, most: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        mount = Path(name)
        (mount / "in").mkdir()
        _copied_with_its_links(mount, names, held, most)


def _copied_with_its_links(mount: Path, names: list[tuple[int, str]], held: int, most: int) -> None:
    files: dict[str, list[str]] = {}
    for number, (content, where) in enumerate(names):
        files.setdefault(str(content), []).append(f"{where}n{number}")
    fill(mount, files)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tuning, "LINKED_NAMES", held)
        patch.setattr(list_module, "OUTCOMES_PER_FILE", 2)
        patch.setattr(tuning, "SHARD_ENTRIES", most)
        summary = world_of(mount).run(REQUEST)
    assert summary["status"] == "SUCCEEDED"
    assert summary["totals"]["copied"]["bytes"] == len(names)
    assert grouped(mount / "out") == grouped(mount / "in")
