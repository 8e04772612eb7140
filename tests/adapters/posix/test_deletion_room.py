"""The room of deletions: each question, asked by each that deletes, with a path that no listing gives."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from fanout.adapters.posix.tree import PosixTree
from fanout.model.entry import Entry, Kind
from fanout.model.errors import ItemError
from fanout.model.outcome import Reason
from fanout.ports.turns import Fence
from tests.support.mounts import noted, writable

Delete = Callable[[PosixTree, Path, str], ItemError | None]


def entry_at(path: Path, name: str) -> Entry:
    """The entry as a listing would have shown it."""
    found = path.lstat()
    if path.is_dir():
        return Entry(f"{name}/", Kind.DIRECTORY, 0, found.st_mtime_ns, found.st_ctime_ns)
    return Entry(name, Kind.FILE, found.st_size, found.st_mtime_ns, found.st_ctime_ns)


def delete_file(tree: PosixTree, root: Path, name: str) -> ItemError | None:
    target = root / name
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text("theirs")
    return tree.delete([entry_at(target, name)]).get(name)


def remove_directory(tree: PosixTree, root: Path, name: str) -> ItemError | None:
    target = root / name
    target.mkdir(parents=True)
    try:
        tree.remove_directory(entry_at(target, name))
    except ItemError as error:
        return error
    return None


DELETES = [delete_file, remove_directory]


def at(mount: Path, field: str, kept: str = "") -> PosixTree:
    """A destination that keeps what it deletes there, or a source that spares it."""
    (mount / "data/tree").mkdir(parents=True, exist_ok=True)
    if field == "source":
        return writable(PosixTree(mount / "data", "tree", "run-1", "n", field, spares=kept))
    return writable(PosixTree(mount / "data", "tree", "run-1", "n", field, backup_to=kept))


@pytest.mark.parametrize("field", ["source", "destination"])
@pytest.mark.parametrize("delete", DELETES)
@pytest.mark.parametrize("name", ["../beside/x", "d/../../beside/x", "../../outside/x", "d/./x"])
def test_what_does_not_lie_in_the_tree_stays(tmp_path: Path, field: str, delete: Delete, name: str) -> None:
    tree = at(tmp_path, field)
    (tmp_path / "data/tree/d").mkdir()
    problem = delete(tree, tmp_path / "data/tree", name)
    assert problem is not None
    assert problem.reason is Reason.NAME_DOT
    assert (tmp_path / "data/tree" / name).exists()


@pytest.mark.parametrize("field", ["source", "destination"])
def test_the_root_stays(tmp_path: Path, field: str) -> None:
    tree = at(tmp_path, field)
    (tmp_path / "data/tree/.fanout-staging-run-1").rename(tmp_path / "data/moved")
    with pytest.raises(ItemError, match="is no entry below"):
        tree.remove_directory(Entry("", Kind.DIRECTORY))
    assert (tmp_path / "data/tree").is_dir()


@pytest.mark.parametrize("field", ["source", "destination"])
@pytest.mark.parametrize("delete", DELETES)
def test_what_the_run_keeps_stays(tmp_path: Path, field: str, delete: Delete) -> None:
    tree = at(tmp_path, field, "tree/kept/")
    problem = delete(tree, tmp_path / "data/tree", "kept/run-0/x")
    assert problem is not None
    assert problem.reason is Reason.IN_BACKUP
    assert (tmp_path / "data/tree/kept/run-0/x").exists()
    assert delete(tree, tmp_path / "data/tree", "kept-not/x") is None
    assert not (tmp_path / "data/tree/kept-not/x").exists()


def test_an_empty_directory_of_the_backup_stays(tmp_path: Path) -> None:
    tree = at(tmp_path, "source", "tree/kept/")
    assert (problem := remove_directory(tree, tmp_path / "data/tree", "kept")) is not None
    assert problem.reason is Reason.IN_BACKUP


@pytest.mark.parametrize(
    ("place", "run_id"), [("../", "x"), ("tree/../../", "x"), ("tree/", "x/../../beside"), ("tree/", "x/d")]
)
def test_no_staging_directory_lies_elsewhere(tmp_path: Path, place: str, run_id: str) -> None:
    tree = at(tmp_path, "destination")
    for held in (
        tmp_path / ".fanout-staging-x/d",
        tmp_path / "data/tree/.fanout-staging-x/d",
        tmp_path / "data/beside",
    ):
        held.mkdir(parents=True)
        (held / "file").write_text("theirs")
    before = sorted(tmp_path.rglob("*"))
    made_by = noted(tmp_path / ".fanout-staging-x", tmp_path / "data/tree/.fanout-staging-x", tmp_path / "data/beside")
    assert tree.fence([Fence(place, run_id)], lambda: ["x"], made_by=made_by).whole
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("version", ["..", ".", "", "v1/d", "../tree"])
def test_a_version_is_one_name(tmp_path: Path, version: str) -> None:
    (tmp_path / "pub/versions/v1/d").mkdir(parents=True)
    tree = writable(PosixTree(tmp_path, "pub/versions/v2", "v2", "n", stages_at="pub/versions/"))
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(ItemError, match="is not the name of an entry"):
        tree.versions("current").retire(version)
    assert sorted(tmp_path.rglob("*")) == before
