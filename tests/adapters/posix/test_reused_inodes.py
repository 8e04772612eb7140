"""A directory of another user whose inode has the number that the run's own, or the listed one, had before."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from fanout.adapters.posix.tree import PosixTree
from fanout.model.entry import Attributes, Entry, Kind
from fanout.model.errors import ItemError
from fanout.model.outcome import Reason
from fanout.model.path_rules import TAKEN_MODE
from tests.support.nobody import NOBODY, open_directory

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs two users")

MODES = pytest.mark.parametrize("mode", [0o1700, 0o700, 0o755], ids=oct)
ROOTS = Attributes(0o40750, 0, 0)


@pytest.fixture
def mount() -> Iterator[Path]:
    with open_directory() as path:
        (path / "out").mkdir()
        os.chown(path / "out", NOBODY, NOBODY)
        yield path


@pytest.fixture
def tree(mount: Path) -> PosixTree:
    tree = PosixTree(mount, "out", "run-1", "n0")
    tree.check(writing=True)
    return tree


def entry(mount: Path, mode: int, owner: int = NOBODY, *, listed: bool = False) -> Entry:
    """A directory of that mode and owner, as an entry that the run made or listed by its number."""
    place = mount / "out/p"
    place.mkdir()
    os.chown(place, owner, owner)
    place.chmod(mode)
    inode = str(place.stat().st_ino)
    return Entry("p/", Kind.DIRECTORY, inode=inode, replaces=inode if listed else "")


def untouched(mount: Path, mode: int) -> bool:
    found = (mount / "out/p").stat()
    return (found.st_mode & 0o7777, found.st_uid) == (mode, NOBODY)


@MODES
def test_it_gets_no_attributes_for_one_that_the_run_made(mount: Path, tree: PosixTree, mode: int) -> None:
    made = entry(mount, mode)
    with pytest.raises(ItemError, match="another directory") as raised:
        tree.set_attributes(made, ROOTS)
    assert raised.value.reason is Reason.DESTINATION_CHANGED
    assert untouched(mount, mode)


@MODES
def test_nor_for_one_that_was_listed(mount: Path, tree: PosixTree, mode: int) -> None:
    listed = entry(mount, mode, listed=True)
    with pytest.raises(ItemError, match="another directory"):
        tree.set_attributes(listed, ROOTS)
    assert untouched(mount, mode)


@MODES
def test_nor_is_it_opened_for_one_that_keys_imply(mount: Path, tree: PosixTree, mode: int) -> None:
    made = entry(mount, mode)
    with pytest.raises(ItemError, match="another directory"):
        tree.open_directory(made, 0o755)
    assert untouched(mount, mode)


def test_nor_does_it_hold_what_was_put_into_one_that_was_not_finished(mount: Path, tree: PosixTree) -> None:
    made = entry(mount, 0o1700)
    with pytest.raises(ItemError, match="another directory"):
        tree.require_place(made)


def test_one_that_was_taken_is_not_one_that_the_run_made(mount: Path, tree: PosixTree) -> None:
    taken = entry(mount, TAKEN_MODE, 0)
    with pytest.raises(ItemError, match="another directory"):
        tree.set_attributes(taken, ROOTS)


@pytest.mark.parametrize("listed", [False, True])
@pytest.mark.parametrize("owner", [0, 1001])
def test_the_runs_own_gets_them_also_twice(mount: Path, tree: PosixTree, owner: int, listed: bool) -> None:
    own = entry(mount, 0o1700, listed=listed)
    os.chown(mount / "out/p", 0, 0)
    for _ in range(2):
        tree.set_attributes(own, Attributes(0o40750, owner, owner))
        tree.require_place(own)
    found = (mount / "out/p").stat()
    assert (found.st_mode & 0o7777, found.st_uid) == (0o750, owner)


@pytest.mark.parametrize("attributes", [Attributes(0o40750), Attributes(None, 0, 0)], ids=["no owner", "no mode"])
def test_a_listed_one_keeps_an_owner_that_the_source_does_not_name(
    mount: Path, tree: PosixTree, attributes: Attributes
) -> None:
    listed = entry(mount, 0o755, listed=True)
    tree.set_attributes(listed, attributes)
    assert (mount / "out/p").stat().st_mode & 0o7777 == (0o750 if attributes.mode else 0o755)
