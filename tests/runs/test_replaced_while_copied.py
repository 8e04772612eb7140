"""A directory that was there, is no entry of the run, and is renamed away and made anew while files go into it.

``test_replaced_directories.py`` has directories that are entries.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fanout.adapters.posix.staging import Staging
from fanout.adapters.posix.tree import PosixTree
from fanout.facts import tuning
from fanout.model.document import Json
from fanout.model.entry import Kind
from fanout.model.outcome import Reason
from tests.support.flow import World
from tests.support.memory import MemoryTree
from tests.support.memory_store import MemoryStore
from tests.support.mounts import reasons
from tests.support.two_mounts import TwoMounts

FILES = 60
BIG = 3 * tuning.BLOCK_BYTES
Start = Callable[[str, Json], World]


@pytest.fixture(autouse=True)
def in_the_middle(monkeypatch: pytest.MonkeyPatch) -> Callable[[int, Callable[[], object]], None]:
    """Has something done before the n-th file gets its place from now on."""
    waiting: list[list[Any]] = []
    rename = Staging.rename

    def noting(self: Staging, *place: Any) -> None:
        for one in waiting:
            one[0] -= 1
            if one[0] == 0:
                one[1]()
        rename(self, *place)

    monkeypatch.setattr(Staging, "rename", noting)
    return lambda number, deed: waiting.append([number, deed])


def replaced(out: Path) -> Callable[[], object]:
    def deed() -> None:
        (out / "d").rename(out.parent / "moved")
        (out / "d").mkdir()

    return deed


def ends_well(again: World, run_id: str, out: Path, names: int, content: str = "later") -> None:
    """A retry brings all files to the directory that is there."""
    assert again.run({"resume_from": run_id})["status"] == "SUCCEEDED", reasons(again)
    assert len(list((out / "d").iterdir())) == names
    assert {path.read_text()[:5] for path in (out / "d").iterdir() if path.stat().st_size < BIG} == {content}


class Source:
    """Files of ``d``, in a bucket or on a mount, and a list of them; worlds of runs that copy them to ``out``."""

    def __init__(self, mount: Path, kind: str) -> None:
        self.mount, self.kind, self.store, self.keys = mount, kind, MemoryStore(), MemoryTree()
        self.out = mount / "archive/out" if kind == "two mounts" else mount / "out"

    def write(self, content: str, *big: str) -> None:
        for number in range(FILES):
            self._put(f"d/f{number}", f"{content} {number}".encode())
        for name in big:
            self._put(name, os.urandom(BIG))

    def _put(self, path: str, data: bytes) -> None:
        if self.kind == "bucket":
            self.keys.put(path, Kind.FILE, data)
            return
        place = self.mount / ("data/in" if self.kind == "two mounts" else "in") / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data)

    def world(self, run_id: str) -> World:
        if self.kind == "two mounts":
            two = TwoMounts(self.mount, run_id, self.store)
            self._list(two.world)
            return two.world
        source: Any = self.keys
        if self.kind != "bucket":
            source = PosixTree(self.mount, "in", run_id, "source", "source")
        destination = PosixTree(self.mount, "out", run_id, "n")
        world = World(source=source, destination=destination, run_id=run_id, store=self.store)
        self._list(world)
        return world

    def _list(self, world: World) -> None:
        rows = "".join(json.dumps(f"d/f{number}") + "\n" for number in range(FILES))
        world.objects.put("lists", "a.jsonl", rows.encode())

    def request(self, **more: Any) -> Json:
        ends = {
            "bucket": {"source": "s3://a-bucket/x/", "destination": "efs:///out"},
            "two mounts": {"source": "efs://data/in", "destination": "efs://archive/out"},
        }.get(self.kind, {"source": "efs:///in", "destination": "efs:///out"})
        listed = {} if self.kind == "bucket" else {"manifest": "s3://lists/a.jsonl"}
        return {**ends, **listed, **more}


@pytest.mark.parametrize("place", [1, FILES // 2, FILES, 0])
@pytest.mark.parametrize("kind", ["bucket", "manifest", "two mounts"])
def test_files_that_are_not_under_their_names_are_no_success(
    tmp_path: Path, in_the_middle: Any, kind: str, place: int
) -> None:
    """``place`` is the file before which it happens, 0 before FinishTree."""
    source = Source(tmp_path, kind)
    source.write("first")
    assert source.world("run-0").run(source.request())["status"] == "SUCCEEDED"
    source.write("later")
    world = source.world("run-1")
    before = [replaced(source.out)]
    if place:
        in_the_middle(place, before.pop())
    enter = world.enter
    world.enter = lambda state: (state == "FinishTree" and before and before.pop()(), enter(state))[1]  # type: ignore[method-assign]
    assert world.run(source.request(compare="always"))["status"] == "FAILED_WITH_ITEMS"
    assert reasons(world) == {"d/": Reason.DESTINATION_CHANGED}
    assert not before and len(list((source.out / "d").iterdir())) < FILES
    ends_well(source.world("run-2"), "run-1", source.out, FILES)


def test_a_big_file_and_a_directory_that_only_it_makes(tmp_path: Path, in_the_middle: Any) -> None:
    """FinishTree puts it in its place, and opens the directory after that."""
    source = Source(tmp_path, "bucket")
    source.write("first", "d/big", "e/alone")
    limits = {"split_bytes": tuning.BLOCK_BYTES}
    assert source.world("run-0").run(source.request(limits=limits))["status"] == "SUCCEEDED"
    assert (tmp_path / "out/e").stat().st_mode & 0o7777 == 0o755
    source.keys.put("d/big", Kind.FILE, os.urandom(BIG))
    world = source.world("run-1")
    in_the_middle(1, replaced(source.out))
    assert world.run(source.request(limits=limits))["status"] == "FAILED_WITH_ITEMS"
    assert reasons(world) == {"d/": Reason.DESTINATION_CHANGED}
    ends_well(source.world("run-2"), "run-1", source.out, FILES + 1, "first")


def test_further_names_of_a_list(tmp_path: Path, in_the_middle: Any) -> None:
    """Names are linked by FinishTree, into a directory of which the list says nothing."""
    source = Source(tmp_path, "manifest")
    source.write("first")
    for number in range(1, FILES):
        (tmp_path / f"in/d/f{number}").unlink()
        os.link(tmp_path / "in/d/f0", tmp_path / f"in/d/f{number}")
    (tmp_path / "out/d").mkdir(parents=True)
    world = source.world("run-1")
    in_the_middle(FILES, replaced(source.out))
    assert world.run(source.request())["status"] == "FAILED_WITH_ITEMS"
    assert reasons(world) == {"d/": Reason.DESTINATION_CHANGED}
    ends_well(source.world("run-2"), "run-1", source.out, FILES, "first")


def test_a_directory_that_overwrite_leaves_as_it_is(tmp_path: Path, in_the_middle: Any) -> None:
    """It is an entry, and kept: no row of its own says which one the new files went into."""
    (tmp_path / "out/d").mkdir(parents=True)
    os.utime(tmp_path / "out/d", (1, 1))
    source = Source(tmp_path, "tree")
    source.write("first")
    request = {"source": "efs:///in", "destination": "efs:///out", "overwrite": "never"}
    world = source.world("run-1")
    in_the_middle(FILES // 2, replaced(source.out))
    assert world.run(request)["status"] == "FAILED_WITH_ITEMS"
    assert set(reasons(world)) == {"d/"}
    ends_well(source.world("run-2"), "run-1", source.out, FILES, "first")
