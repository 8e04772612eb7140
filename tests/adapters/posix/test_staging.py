"""Files get their place at once: by a rename, or linked where another rename is under way."""

from __future__ import annotations

import errno
import os
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from fanout.adapters.posix import removal
from fanout.adapters.posix import staging as staging_module
from fanout.adapters.posix.tree import PosixTree
from fanout.model.entry import Attributes, Entry, Kind
from fanout.model.errors import ItemError, Superseded, Transient
from tests.support.mounts import fence, writable, write_whole
from tests.support.renaming import others_rename


def staged(root: Path) -> list[Path]:
    """What stands in the directories of attempts, processes and threads."""
    return [path for path in root.rglob(".fanout-staging-*/**/*") if not path.is_dir()]


@pytest.fixture
def tree(tmp_path: Path) -> PosixTree:
    return writable(PosixTree(tmp_path, "tree", "run", "attempt"))


def test_a_file_is_linked_while_another_is_renamed(tmp_path: Path, tree: PosixTree) -> None:
    with others_rename(tree):
        write_whole(tree, "b/second", b"second")
    second = tmp_path / "tree/b/second"
    assert (second.read_bytes(), second.stat().st_nlink) == (b"second", 1)
    assert staged(tmp_path) == []


def test_a_file_that_is_there_is_replaced_while_another_is_renamed(tmp_path: Path, tree: PosixTree) -> None:
    write_whole(tree, "file", b"old")
    with others_rename(tree):
        write_whole(tree, "file", b"new")
    assert (tmp_path / "tree/file").read_bytes() == b"new"
    assert staged(tmp_path) == []


def test_where_nothing_can_be_linked_it_is_renamed(
    tmp_path: Path, tree: PosixTree, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    with others_rename(tree):
        write_whole(tree, "second", b"second")
    assert (tmp_path / "tree/second").read_bytes() == b"second"


@pytest.mark.parametrize("planted", ["bytes", "link"])
def test_a_staged_name_that_somebody_planted_is_not_written(tmp_path: Path, tree: PosixTree, planted: str) -> None:
    victim = tmp_path / "victim"
    victim.write_bytes(b"" if planted == "link" else b"untouched")
    directory, first = tree._staging.place()
    process, number = first.split("-")
    place = tmp_path / directory / f"{process}-{int(number) + 1}"
    place.parent.mkdir(parents=True)
    if planted == "link":
        os.link(victim, place)
    else:
        victim = victim.rename(place)
    before = victim.read_bytes()
    with pytest.raises(ItemError):
        write_whole(tree, "file", b"data")
    assert victim.read_bytes() == before


def test_many_threads_share_few_directories_and_all_go_at_the_end(tmp_path: Path, tree: PosixTree) -> None:
    with ThreadPoolExecutor(64) as pool:
        list(pool.map(lambda number: write_whole(tree, f"d{number % 7}/f{number}", b"x"), range(500)))
    made = [path for path in tmp_path.glob("tree/.fanout-staging-run/**/*") if path.is_dir()]
    assert staging_module._ROOTS < len(made) <= staging_module._DIRECTORIES + 2
    tree.finish()
    assert len([path for path in tmp_path.rglob("*") if path.is_file()]) == 500
    assert not list(tmp_path.rglob(".fanout-staging-*"))


def test_no_directory_has_more_threads_than_another_whatever_the_numbers_of_their_processes(tree: PosixTree) -> None:
    """Threads take process ids too, so those of the processes lie anywhere."""
    processes, threads, found = 8, 8, Counter[str]()
    for _ in range(processes):
        for _ in range(3):  # ids that nobody copies with
            _in_a_fork(lambda: "")
        found.update(_in_a_fork(lambda: "\n".join(_places_of_threads(tree, threads))).splitlines())
    assert set(found.values()) == {processes * threads // staging_module._DIRECTORIES}


def _in_a_fork(work: Callable[[], str]) -> str:
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writing, work().encode())
        os._exit(0)
    os.close(writing)
    os.waitpid(child, 0)
    with open(reading) as pipe:
        return pipe.read()


def _places_of_threads(tree: PosixTree, threads: int) -> list[str]:
    def place(_: int) -> str:
        together.wait()  # so that each thread takes its part
        return tree._staging.place()[0]

    together = Barrier(threads)
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(place, range(threads)))


def test_no_directory_has_many_of_them_which_would_be_made_one_after_the_other(tree: PosixTree) -> None:
    places = set(_places_of_threads(tree, 64))
    run = Path(tree._staging.path)
    made = {above for place in places for above in (Path(place), *Path(place).parents) if run in above.parents}
    assert len(made) == staging_module._DIRECTORIES + 1
    counted = Counter(path.parent for path in made)
    assert counted[run] == 1  # where those of every function are made
    assert max(counted.values()) <= staging_module._DIRECTORIES // staging_module._ROOTS


@pytest.mark.parametrize("ask", ["limitations", "has_hard_links", "clock_ns"])
def test_what_is_tried_at_the_destination_makes_no_directory_and_leaves_nothing(
    tmp_path: Path, tree: PosixTree, monkeypatch: pytest.MonkeyPatch, ask: str
) -> None:
    made: list[str] = []
    monkeypatch.setattr(os, "mkdir", lambda name, *_, **__: made.append(name))
    getattr(tree, ask)()
    assert made == []
    assert [one.name.startswith("later-own-") for one in (tmp_path / "tree/.fanout-staging-run").iterdir()] == [True]


@pytest.mark.parametrize("ask", ["limitations", "has_hard_links", "clock_ns", "mark"])
def test_a_run_that_was_fenced_tries_nothing(tmp_path: Path, tree: PosixTree, ask: str) -> None:
    assert fence(PosixTree(tmp_path, "tree", "later", "attempt"), "tree/", tree)
    with pytest.raises(Superseded):
        getattr(tree, ask)()
    assert list((tmp_path / "tree").iterdir()) == []


def test_forked_processes_share_the_directories_and_no_name(tree: PosixTree) -> None:
    directory, name = _in_a_fork(lambda: " ".join(tree._staging.place())).split()
    own_directory, own_name = tree._staging.place()
    assert all(one.startswith("tree/.fanout-staging-run/attempt/") for one in (directory, own_directory))
    assert name != own_name


def test_the_empty_directories_of_threads_are_removed_unread(tree: PosixTree, monkeypatch: pytest.MonkeyPatch) -> None:
    with ThreadPoolExecutor(32) as pool:
        list(pool.map(lambda number: write_whole(tree, f"d/f{number}", b"x"), range(200)))
    reads: list[int] = []
    scandir = os.scandir

    def counted(directory: int) -> object:
        reads.append(directory)
        return scandir(directory)

    monkeypatch.setattr(os, "scandir", counted)
    assert tree.finish() == ()
    assert len(reads) <= 2 + 2 * staging_module._ROOTS


@pytest.mark.parametrize("number", [errno.EMFILE, errno.EACCES, errno.EIO, errno.ESTALE, errno.ELOOP, errno.EBUSY])
@pytest.mark.parametrize("call", ["open", "scandir", "unlink", "rmdir"])
def test_what_keeps_the_staging_directory_from_going_is_tried_again(
    tmp_path: Path, tree: PosixTree, monkeypatch: pytest.MonkeyPatch, number: int, call: str
) -> None:
    left = tmp_path / Path(*tree._staging.place())  # by a function that was killed: nobody holds it open
    left.parent.mkdir(parents=True)
    left.write_bytes(b"half")

    def fails(*_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number))

    with monkeypatch.context() as patch:
        patch.setattr(os, call, fails)
        patch.setattr(removal, "REMOVAL_SECONDS", 0.0)
        with pytest.raises(Transient, match=r"removing what was staged|is written to, or held open, by a function"):
            PosixTree(tmp_path, "tree", "run", "other").finish()
    assert tree.finish() == ()
    assert not list(tmp_path.rglob(".fanout-staging-*"))


def test_a_symlink_in_place_of_the_staging_directory_is_a_task_error_where_it_is_needed(
    tmp_path: Path, tree: PosixTree
) -> None:
    write_whole(tree, "file", b"data")
    tree.finish()
    (tmp_path / "tree/.fanout-staging-run").symlink_to(tmp_path)
    for ask in (tree.clock_ns, tree.limitations):
        with pytest.raises(Transient, match="symlink"):
            ask()
    assert "left there" in tree.finish()[0]


def test_two_trees_of_one_attempt_name_no_file_alike(tmp_path: Path, tree: PosixTree) -> None:
    other = PosixTree(tmp_path, "tree", "run", "attempt")
    assert tree._staging.name() != other._staging.name()
    assert tree._staging.place() != other._staging.place()


def test_once_copies_have_ended_an_attempt_at_one_puts_nothing_in_its_place(tmp_path: Path, tree: PosixTree) -> None:
    at_work, late, finishing = (PosixTree(tmp_path, "tree", "run", nonce) for nonce in ("at-work", "late", "finishing"))
    write_whole(tree, "file", b"copied", "1")
    begun = at_work.create(Entry("file", Kind.FILE, 7), Attributes())
    begun.write(0, b"at work")
    finishing.end_copies()
    finishing.link(Entry("name", Kind.FILE, 6), "file")
    with pytest.raises(ItemError):
        begun.commit(0)
    for attempt in (tree, at_work):  # whose directories are gone
        with pytest.raises((ItemError, Superseded)):
            write_whole(attempt, "file", b"again")
    with pytest.raises(Superseded):
        write_whole(late, "file", b"late")
    write_whole(finishing, "later", b"later")
    finishing.clear()
    with pytest.raises(Superseded):
        write_whole(PosixTree(tmp_path, "tree", "run", "latest"), "file", b"latest")
    assert [(tmp_path / "tree" / name).read_bytes() for name in ("file", "later")] == [b"copied", b"later"]
    assert (tmp_path / "tree/file").stat().st_nlink == 2
    finishing.finish()
    assert not list(tmp_path.rglob(".fanout-staging-*"))


def test_the_end_of_copies_leaves_blocks_of_big_files_and_what_other_attempts_finish(tmp_path: Path) -> None:
    first, second = (writable(PosixTree(tmp_path, "tree", "run", nonce)) for nonce in ("first", "second"))
    block = tmp_path / "tree/.fanout-staging-run/blocks"
    block.write_bytes(b"block")
    first.end_copies()
    begun = first.create(Entry("file", Kind.FILE, 4), Attributes())
    begun.write(0, b"data")
    second.end_copies()
    begun.commit(0)
    assert (tmp_path / "tree/file").read_bytes() == b"data"
    assert block.read_bytes() == b"block"


def test_copies_of_a_run_that_was_fenced_are_not_ended(tmp_path: Path, tree: PosixTree) -> None:
    assert fence(PosixTree(tmp_path, "tree", "later", "attempt"), "tree/", tree)
    with pytest.raises(Superseded):
        tree.end_copies()
