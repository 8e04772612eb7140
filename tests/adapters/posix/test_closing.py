"""Directories that were there, each closed once before an entry is put into it, by what its source gives it."""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from fanout.adapters.posix.tree import PosixTree
from fanout.model.entry import Attributes, Entry, Kind
from fanout.model.errors import ItemError, Transient
from fanout.model.outcome import Reason
from fanout.request.parts.allowed_attributes import Allowed, owners_of
from tests.support.access_lists import ACCESS_LISTS, list_for
from tests.support.nobody import NOBODY, as_nobody, open_directory

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs two users")


@dataclass
class Told:
    """The directories of a source, and who asked for them."""

    wanted: dict[str, Attributes] = field(default_factory=dict)
    are_entries: bool = True
    asked: list[str] = field(default_factory=list)
    taken_ones: list[str] = field(default_factory=list)

    def attributes(self, path: str) -> Attributes | None:
        self.asked.append(path)
        return self.wanted.get(path)

    def taken(self, path: str, attributes: Attributes) -> None:
        assert attributes == self.wanted[path]
        self.taken_ones.append(path)


@pytest.fixture
def mount() -> Iterator[Path]:
    with open_directory() as path:
        (path / "out/p").mkdir(parents=True)
        yield path


def tree_of(mount: Path, source: Told) -> PosixTree:
    tree = PosixTree(mount, "out", "run-1", "n0")
    tree.check(writing=True)
    tree.close_by(source)
    return tree


def put(tree: PosixTree, path: str) -> None:
    target = tree.create(Entry(path, Kind.FILE, 1), Attributes(0o100644, 0, 0))
    try:
        target.write(0, b"x")
        target.commit(0)
    finally:
        target.abort()


def dress(path: Path, mode: int, owner: int, group: int) -> None:
    os.chown(path, owner, group)
    path.chmod(mode)


def access(path: Path) -> tuple[str, int, int]:
    found = path.stat()
    return f"{found.st_mode & 0o7777:o}", found.st_uid, found.st_gid


ROOTS = Attributes(0o40700, 0, 0)


@pytest.mark.parametrize(
    ("there", "wanted", "after"),
    [
        ((0o755, 0, 0), ROOTS, ("700", 0, 0)),
        ((0o2775, 0, 0), Attributes(0o40755, 0, 0), ("2755", 0, 0)),
        ((0o711, 0, 0), Attributes(0o40777, 0, 0), ("711", 0, 0)),
        ((0o555, 0, 0), Attributes(0o40500, 0, 0), ("500", 0, 0)),
        ((0o775, 0, 7), Attributes(0o40750, 0, 0), ("700", 0, 7)),
        ((0o775, 0, 7), Attributes(0o40750), ("750", 0, 7)),
        ((0o755, 1001, 0), Attributes(0o40700, 1001, 0), ("700", 1001, 0)),
        ((0o755, 0, 0), Attributes(0o40700, 1001, 1001), ("700", 0, 0)),
        ((0o755, NOBODY, 0), ROOTS, ("5700", 0, 0)),
        ((0o2700, NOBODY, 0), ROOTS, ("5700", 0, 0)),
        ((0o2775, NOBODY, NOBODY), ROOTS, ("5700", 0, 0)),
        ((0o2700, NOBODY, NOBODY), Attributes(0o42770, 0, 1001), ("5700", 0, 0)),
        ((0o6755, NOBODY, NOBODY), Attributes(0o40700, 0), ("5700", 0, 0)),
        ((0o755, NOBODY, 0), Attributes(0o40755, 1001, 0), ("5700", 0, 0)),
        ((0o755, NOBODY, 0), Attributes(0o40700), ("700", NOBODY, 0)),
        ((0o755, NOBODY, 0), Attributes(None, 0, 0), ("755", NOBODY, 0)),
        ((0o755, NOBODY, 0), None, ("755", NOBODY, 0)),
    ],
)
def test_it_lets_in_nobody_whom_its_source_keeps_out(
    mount: Path, there: tuple[int, int, int], wanted: Attributes | None, after: tuple[str, int, int]
) -> None:
    dress(mount / "out/p", *there)
    source = Told({} if wanted is None else {"p/": wanted})
    tree = tree_of(mount, source)
    put(tree, "p/f")
    assert access(mount / "out/p") == after
    assert source.taken_ones == (["p/"] if after[0] == "5700" else [])
    assert (mount / "out/p/f").exists()


@pytest.mark.parametrize("above", [0o755, 0o2775])
def test_a_taken_one_is_as_if_the_run_had_made_it_and_so_is_what_is_made_in_it(mount: Path, above: int) -> None:
    """Its group and its set-gid bit are those of the directory above, not of whoever made it."""
    team = 1234 if above & stat.S_ISGID else os.getegid()
    dress(mount / "out", above, 0, team)
    dress(mount / "out/p", 0o2775, NOBODY, NOBODY)
    tree = tree_of(mount, Told({"p/": ROOTS}))
    put(tree, "p/new/f")
    put(tree, "q/new/f")
    for path in ("", "/new"):
        assert (mount / f"out/p{path}").stat().st_gid == (mount / f"out/q{path}").stat().st_gid == team
    assert (mount / "out/p").stat().st_mode & stat.S_ISGID == above & stat.S_ISGID


@pytest.mark.parametrize("name", ACCESS_LISTS)
def test_a_taken_one_keeps_no_access_control_list_of_its_maker(mount: Path, name: str) -> None:
    """Directories made in it would inherit one, and let him in when they get their mode."""
    os.setxattr(mount / "out/p", name, list_for(NOBODY))
    os.chown(mount / "out/p", NOBODY, NOBODY)
    put(tree_of(mount, Told({"p/": ROOTS})), "p/new/f")
    assert os.listxattr(mount / "out/p") == os.listxattr(mount / "out/p/new") == []
    assert access(mount / "out/p") == ("5700", 0, 0)


@pytest.mark.parametrize("is_entry", [False, True])
def test_an_owner_that_the_stack_does_not_allow_is_the_functions_user_and_takes_it_too(
    mount: Path, *, is_entry: bool
) -> None:
    """Counted as none, he left the directory to whoever had made it."""
    dress(mount / "out/p", 0o755, NOBODY, NOBODY)
    forbidden = Attributes(0o40755, 700, 700)
    tree = PosixTree(mount, "out", "run-1", "n0", allowed=Allowed(owners_of("1500:1500")))
    tree.check(writing=True)
    if is_entry:
        tree.make_directory(Entry("p/", Kind.DIRECTORY), forbidden)
    else:
        tree.close_by(Refused({"p/": forbidden}))
        put(tree, "p/f")
    assert access(mount / "out/p") == ("5700", 0, 0)
    seen = str((mount / "out/p").stat().st_ino)
    tree.set_attributes(Entry("p/", Kind.DIRECTORY, inode=seen, replaces=seen), forbidden)
    assert access(mount / "out/p") == ("755", 0, 0)


class Refused(Told):
    """A source whose owners the stack refuses."""

    def taken(self, path: str, attributes: Attributes) -> None:
        self.taken_ones.append(path)
        assert (attributes.uid, attributes.gid) == (0, None)


def test_it_is_asked_about_once_and_one_of_the_runs_own_never(mount: Path) -> None:
    source = Told({"p/": Attributes(0o40755, 0, 0)})
    tree = tree_of(mount, source)
    for path in ("p/f", "p/g", "p/new/f", "p/new/g"):
        put(tree, path)
    tree.make_directory(Entry("q/", Kind.DIRECTORY), ROOTS)
    assert source.asked == ["p/"]


def test_a_directory_that_is_an_entry_is_closed_by_that(mount: Path) -> None:
    source = Told()
    tree = tree_of(mount, source)
    dress(mount / "out/p", 0o755, NOBODY, 0)
    tree.make_directory(Entry("p/", Kind.DIRECTORY), ROOTS)
    assert (access(mount / "out/p"), source.asked) == (("5700", 0, 0), [])


def test_also_where_another_entry_was_put_into_it_before(mount: Path) -> None:
    """A manifest that names it later: what the directory's own entry says counts."""
    source = Told({"p/": ROOTS}, are_entries=False)
    tree = tree_of(mount, source)
    dress(mount / "out/p", 0o755, NOBODY, 0)
    put(tree, "p/f")
    assert (access(mount / "out/p"), source.taken_ones) == (("700", NOBODY, 0), [])
    tree.make_directory(Entry("p/", Kind.DIRECTORY), ROOTS)
    assert access(mount / "out/p") == ("5700", 0, 0)


def test_one_above_that_was_open_already_is_closed_first(mount: Path) -> None:
    """Whatever opened it before: nothing was put into it then."""
    (mount / "out/p/a").mkdir()
    source = Told({"p/": ROOTS, "p/a/": Attributes(0o40755, 0, 0)})
    tree = tree_of(mount, source)
    assert tree.find("p/a/f") is None
    put(tree, "p/a/f")
    assert source.asked == ["p/", "p/a/"]
    assert access(mount / "out/p")[0] == "700"


def test_nothing_is_put_into_it_while_the_source_is_asked(mount: Path) -> None:
    begun, goes_on = threading.Event(), threading.Event()

    class Slow(Told):
        def attributes(self, path: str) -> Attributes | None:
            begun.set()
            assert goes_on.wait(30)
            return super().attributes(path)

    source = Slow({"p/": ROOTS})
    tree = tree_of(mount, source)
    threads = [threading.Thread(target=put, args=(tree, f"p/{name}")) for name in "fg"]
    for thread in threads:
        thread.start()
    assert begun.wait(30)
    assert os.listdir(mount / "out/p") == []
    goes_on.set()
    for thread in threads:
        thread.join(30)
    assert (source.asked, sorted(os.listdir(mount / "out/p"))) == (["p/"], ["f", "g"])


def test_where_the_source_gives_no_answer_nothing_is_put_there_and_it_is_asked_again(mount: Path) -> None:
    class Silent(Told):
        def attributes(self, path: str) -> Attributes | None:
            found = super().attributes(path)
            if self.asked == [path]:
                raise Transient("no answer")
            return found

    tree = tree_of(mount, Silent({"p/": ROOTS}))
    with pytest.raises(Transient):
        put(tree, "p/f")
    assert os.listdir(mount / "out/p") == []
    put(tree, "p/f")
    assert access(mount / "out/p")[0] == "700"


def test_one_of_another_user_that_a_plain_user_cannot_close_is_refused_with_a_remedy(mount: Path) -> None:
    (mount / "out").chmod(0o777)
    dress(mount / "out/p", 0o777, 0, 0)

    def refused() -> list[str]:
        tree = tree_of(mount, Told({"p/": Attributes(0o40750, NOBODY, 0)}))
        try:
            put(tree, "p/f")
        except ItemError as error:
            return [str(error.reason), error.message]
        return []

    reason, message = as_nobody(refused)
    assert reason == Reason.DESTINATION_DENIED
    assert "run chmod 750 on it" in message
    (mount / "out/p").chmod(0o750)
    os.chown(mount / "out/p", NOBODY, 0)
    assert as_nobody(refused) == []
