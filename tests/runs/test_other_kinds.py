"""``other_kind: replace``: a sync replaces an entry of another kind at a mount, within its guard, or leaves it."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fanout.adapters.posix.other_kinds import OtherKinds
from fanout.adapters.posix.tree import PosixTree
from fanout.model.document import Json
from fanout.model.errors import DeleteRefused, InvalidRequest
from fanout.partition.partition_shards import partition_shards
from fanout.request.parse import parse_request
from fanout.request.parts.publish import PUBLISHER
from tests.support.flow import World
from tests.support.mounts import REQUEST, reasons

KEEPING = {**REQUEST, "mode": "sync", "delete_guard": {"max_percent": 99.0}, "verify": "all"}
SYNC = {**KEEPING, "other_kind": "replace"}


def replacing(mount: Path, run_id: str = "run-1", *, replaces: bool = True) -> World:
    source = PosixTree(mount, "in", run_id, "source", "source")
    destination = PosixTree(mount, "out", run_id, "n", replaces_kinds=replaces)
    return World(source=source, destination=destination, run_id=run_id)


def fill(root: Path, tree: dict[str, str]) -> None:
    """Make files by their text; a path that ends in ``/`` is an empty directory, ``-> x`` a symlink to x."""
    root.mkdir(exist_ok=True)
    for path, text in tree.items():
        place = root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        if path.endswith("/"):
            place.mkdir(exist_ok=True)
        elif text.startswith("-> "):
            place.symlink_to(text.removeprefix("-> "))
        else:
            place.write_text(text)


def shape(root: Path) -> dict[str, str]:
    found = {}
    for path in root.rglob("*"):
        name = str(path.relative_to(root))
        if not name.startswith(".fanout"):
            kind = "directory" if path.is_dir() and not path.is_symlink() else ""
            found[name] = f"-> {os.readlink(path)}" if path.is_symlink() else kind or path.read_text()
    return found


FILE, DEEP, EMPTY, LINK = {"p": "text"}, {"p/a": "1", "p/d/e/b": "2", "p/l": "-> a"}, {"p/": ""}, {"p": "-> nowhere"}
LINK_OUT = {"p": "-> /etc"}
PAIRS: dict[str, tuple[dict[str, str], dict[str, str]]] = {
    "a file for a directory": (FILE, DEEP),
    "a file for an empty directory": (FILE, EMPTY),
    "a symlink for a directory": (LINK, DEEP),
    "a directory for a file": (DEEP, FILE),
    "a directory for a symlink": (DEEP, LINK),
    "a directory for a symlink that leads out": (DEEP, LINK_OUT),
    "an empty directory for a file": (EMPTY, FILE),
    "a file for a symlink": (FILE, LINK),
    "a symlink for a file": (LINK, FILE),
}
OTHERS = {"z/keep": "k", "z/more": "m", "y": "y", "x": "x", "w": "w", "v": "v"}


def both(mount: Path, here: dict[str, str], there: dict[str, str]) -> None:
    fill(mount / "in", {**OTHERS, **here})
    fill(mount / "out", {**OTHERS, **there})
    time.sleep(0.02)  # what is as young as a tick of the file system's clock may have come after the run began


@pytest.mark.parametrize(("here", "there"), PAIRS.values(), ids=PAIRS)
def test_the_source_s_entry_takes_the_place(tmp_path: Path, here: dict[str, str], there: dict[str, str]) -> None:
    both(tmp_path, here, there)
    world = replacing(tmp_path)
    summary = world.run(SYNC)
    assert (summary["status"], reasons(world)) == ("SUCCEEDED", {})
    assert shape(tmp_path / "out") == shape(tmp_path / "in")
    assert not list((tmp_path / "out").glob(".fanout*"))
    assert replacing(tmp_path, "run-2").run(SYNC)["status"] == "SUCCEEDED"
    assert Path("/etc/passwd").exists()


@pytest.mark.parametrize("name", ["a file for a directory", "a directory for a file", "a directory for a symlink"])
def test_without_the_field_both_stay(tmp_path: Path, name: str) -> None:
    here, there = PAIRS[name]
    both(tmp_path, here, there)
    before = shape(tmp_path / "out")
    assert replacing(tmp_path, replaces=False).run(KEEPING)["status"] == "FAILED_WITH_ITEMS"
    assert shape(tmp_path / "out") == before


def test_the_guard_counts_what_is_in_the_way(tmp_path: Path) -> None:
    both(tmp_path, FILE, {f"p/{number}": "" for number in range(20)})
    before = shape(tmp_path / "out")
    world = replacing(tmp_path)
    world.list_all(world.plan({**SYNC, "delete_guard": {"max_count": 20, "max_percent": 99.0}}))
    with pytest.raises(DeleteRefused, match="21 of the destination's"):
        partition_shards(world.context())
    assert shape(tmp_path / "out") == before


def meanwhile(monkeypatch: pytest.MonkeyPatch, happens: Callable[[], Any]) -> None:
    """Have somebody do something right before way is made."""
    really = OtherKinds.make_way

    def make_way(self: OtherKinds, path: str) -> bool:
        happens()
        return really(self, path)

    monkeypatch.setattr(OtherKinds, "make_way", make_way)


CHANGES: dict[str, Callable[[Path], Any]] = {
    "a file that is new": lambda way: (way / "d/new").write_text("new"),
    "a file that is written": lambda way: (way / "d/e/b").write_text("3"),
    "a file that is moved there": lambda way: os.rename(way / "a", way / "d/a"),
    "a mode": lambda way: (way / "d/e").chmod(0o700),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_what_changed_since_the_run_began_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: Callable[[Path], Any]
) -> None:
    both(tmp_path, FILE, DEEP)
    meanwhile(monkeypatch, lambda: change(tmp_path / "out/p"))
    world = replacing(tmp_path)
    summary = world.run({**SYNC, "verify": "none"})
    assert (summary["status"], reasons(world)) == ("FAILED_WITH_ITEMS", {"p": "destination changed"})
    assert (tmp_path / "out/p/d").is_dir()


def test_a_published_tree_stays(tmp_path: Path) -> None:
    fill(tmp_path / "in", {**OTHERS, "p": "text"})
    fill(tmp_path / "out", OTHERS)
    fill(tmp_path / "out", {"p/versions/v1/f": "1", f"p/versions/{PUBLISHER}": "{}", "p/current": "-> versions/v1"})
    world = replacing(tmp_path)
    assert world.run(SYNC)["status"] == "FAILED_WITH_ITEMS"
    assert (tmp_path / "out/p/current/f").read_text() == "1"


def test_a_run_that_ended_in_between_is_made_good_by_the_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    both(tmp_path, FILE, DEEP)
    really = os.rename

    def rename(*names: Any, **more: Any) -> None:
        really(*names, **more)
        if names[0] == "p":
            raise OSError(errno.EIO, os.strerror(errno.EIO))

    with monkeypatch.context() as patched:
        patched.setattr(os, "rename", rename)
        assert replacing(tmp_path).run(SYNC)["status"] == "FAILED_WITH_ITEMS"
    assert not (tmp_path / "out/p").exists()
    assert replacing(tmp_path, "run-2").run(SYNC)["status"] == "SUCCEEDED"
    assert shape(tmp_path / "out") == shape(tmp_path / "in")


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        ({"mode": "copy"}, "or mode sync, whose delete guard counts it"),
        ({"destination": "s3://a-bucket/out/"}, "a bucket"),
        ({"backup_to": "efs:///kept"}, "backup_to"),
        ({"exclude": ["*.log"]}, "filters leave out"),
    ],
)
def test_where_it_is_refused(more: Json, problem: str) -> None:
    with pytest.raises(InvalidRequest, match=f"^other_kind.*{problem}"):
        parse_request({**SYNC, **more}, ("data",), 10)
