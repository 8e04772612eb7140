"""A local user who may rename at the root of the destination gives what a run left closed another name.

Where he can, a directory of mode 1700 is opened only under the path that it was made for; honest runs go on as ever.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from fanout.adapters.posix.tree import PosixTree
from fanout.model.entry import Attributes, Entry, Kind
from fanout.model.outcome import Reason
from tests.runs.test_directories_by_inode import FROM_KEYS, Functions, read_by_nobody
from tests.support.memory import MemoryTree
from tests.support.memory_store import MemoryStore
from tests.support.mounts import reasons
from tests.support.nobody import NOBODY, as_nobody, open_directory

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs two users")

NONE = Attributes()
STOPS = ["GatherSegments", "CopyInPace", "FinishTree"]


@pytest.fixture
def mount() -> Iterator[Path]:
    """The root of the destination is nobody's."""
    with open_directory() as path:
        (path / "out").mkdir()
        os.chown(path / "out", NOBODY, NOBODY)
        yield path


def private(mode: int = 0o40700) -> MemoryTree:
    """A private directory, with a file that anybody could read in it; and a public one that keys imply."""
    keys = MemoryTree()
    keys.put("p/", Kind.DIRECTORY, b"", Attributes(mode, 0, 0))
    keys.put("p/pay", Kind.FILE, b"salaries", Attributes(0o644, 0, 0))
    keys.put("q/g", Kind.FILE, b"hello", Attributes(0o644, 0, 0))
    return keys


def public(path: str, *, marked: bool) -> MemoryTree:
    keys = MemoryTree()
    if marked:
        keys.put("a/", Kind.DIRECTORY, b"", Attributes(0o40755, 0, 0))
    keys.put(path, Kind.FILE, b"public", Attributes(0o644, 0, 0))
    return keys


def left_by(mount: Path, store: MemoryStore, stop: str, run_id: str = "run-1") -> MemoryTree:
    """What a run that is stopped at a state leaves."""
    keys = private()
    Functions(mount=mount, keys=keys, store=store, run_id=run_id).walk("PlanTransfer", FROM_KEYS, stop)
    return keys


def rename(mount: Path, *pairs: tuple[str, str]) -> None:
    """Nobody renames below the root."""

    def deed() -> bool:
        for old, new in pairs:
            os.rename(mount / "out" / old, mount / "out" / new)
        return True

    as_nobody(deed)


def judge(mount: Path, name: str) -> None:
    """Nobody can read what is private, under the name that its directory has now."""
    assert (mount / "out" / name).stat().st_mode & 0o077 == 0
    assert read_by_nobody(mount / "out" / name / "pay") == "Permission denied"


@pytest.mark.parametrize("path", ["a/f", "a/below/f"])
@pytest.mark.parametrize("marked", [False, True], ids=["implied", "marked"])
def test_what_a_stopped_run_left_is_not_opened_under_another_name(mount: Path, path: str, marked: bool) -> None:
    store = MemoryStore()
    left_by(mount, store, "FinishTree")
    rename(mount, ("p", "a"))
    world = Functions(mount=mount, keys=public(path, marked=marked), store=store, run_id="run-2")
    assert world.run(FROM_KEYS)["status"] == "FAILED_WITH_ITEMS"
    assert reasons(world)["a/"] == Reason.DESTINATION_CHANGED
    judge(mount, "a")


@pytest.mark.parametrize("moved", [False, True])
def test_nor_by_a_run_after_several_that_were_stopped(mount: Path, moved: bool) -> None:
    """The marks are taken over from each run by the one that fences it."""
    store = MemoryStore()
    left_by(mount, store, "FinishTree")
    for number in (2, 3):
        other = public(f"z{number}/f", marked=False)
        Functions(mount=mount, keys=other, store=store, run_id=f"run-{number}").walk(
            "PlanTransfer", FROM_KEYS, "FinishTree"
        )
    if moved:
        rename(mount, ("q", "z"), ("p", "q"))
    last = Functions(mount=mount, keys=private(), store=store, run_id="run-4")
    assert last.run(FROM_KEYS)["status"] == ("FAILED_WITH_ITEMS" if moved else "SUCCEEDED"), reasons(last)
    judge(mount, "q" if moved else "p")
    assert (mount / "out/q").stat().st_mode & 0o7777 == (0o1700 if moved else 0o755)


@pytest.mark.parametrize("resume", [False, True], ids=["anew", "resumed"])
def test_a_later_run_opens_nothing_that_was_renamed_among_what_was_left(mount: Path, resume: bool) -> None:
    store = MemoryStore()
    keys = left_by(mount, store, "FinishTree")
    rename(mount, ("q", "z"), ("p", "q"))
    world = Functions(mount=mount, keys=keys, store=store, run_id="run-2")
    assert world.run({"resume_from": "run-1"} if resume else FROM_KEYS)["status"] == "FAILED_WITH_ITEMS"
    judge(mount, "q")


@pytest.mark.parametrize("stop", STOPS)
@pytest.mark.parametrize("resume", [False, True], ids=["anew", "resumed"])
@pytest.mark.parametrize("times", [1, 2])
def test_an_honest_run_finishes_what_stopped_runs_left(mount: Path, stop: str, resume: bool, times: int) -> None:
    store = MemoryStore()
    for number in range(times):
        keys = left_by(mount, store, stop, f"run-{number}")
    world = Functions(mount=mount, keys=keys, store=store, run_id="run-2")
    request = {"resume_from": f"run-{times - 1}"} if resume else FROM_KEYS
    assert world.run(request)["status"] == "SUCCEEDED", reasons(world)
    assert (mount / "out/q").stat().st_mode & 0o7777 == 0o755
    assert (mount / "out/p").stat().st_mode & 0o7777 == 0o700
    assert sorted(os.listdir(mount / "out")) == ["p", "q"]


def functions(mount: Path, number: int = 2) -> list[PosixTree]:
    """Functions of one run, the first of which checked the mount."""
    trees = [PosixTree(mount, "out", "run-1", f"n{one}") for one in range(number)]
    trees[0].check(writing=True)
    return trees


def are_own(tree: PosixTree) -> list[bool]:
    return [one.is_own for one in tree.take_places()]


def test_two_functions_make_one_directory(mount: Path) -> None:
    first, second = functions(mount)
    for tree in (first, second):
        tree.make_directory(Entry("d/e/", Kind.DIRECTORY), NONE)
        assert are_own(tree) == [True, True]


def test_a_directory_of_this_run_is_not_its_own_under_the_name_of_another(mount: Path) -> None:
    """Renamed between two functions, where the second one makes the directory of that name; empty or not."""
    first, second = functions(mount)
    first.make_directory(Entry("p/", Kind.DIRECTORY), NONE)
    assert are_own(first) == [True]
    rename(mount, ("p", "a"))
    second.make_directory(Entry("a/", Kind.DIRECTORY), NONE)
    assert are_own(second) == [False]


def between(monkeypatch: pytest.MonkeyPatch, call: str, deed: Callable[[], object]) -> None:
    """Once, right after a call of ``os`` has come back."""
    real = getattr(os, call)

    def then(*of: object, **named: object) -> object:
        done = real(*of, **named)
        if str(of[0]) in ("p", "a"):
            monkeypatch.setattr(os, call, real)
            deed()
        return done

    monkeypatch.setattr(os, call, then)


class Killed(BaseException):
    """The function ends here."""


def kill() -> None:
    raise Killed


def test_one_that_a_function_made_and_did_not_mark_is_marked_by_the_next(
    mount: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = functions(mount)
    between(monkeypatch, "mkdir", kill)
    with pytest.raises(Killed):
        first.make_directory(Entry("p/", Kind.DIRECTORY), NONE)
    second.make_directory(Entry("p/", Kind.DIRECTORY), NONE)
    assert are_own(second) == [True]
    assert (mount / "out/p").stat().st_mode & 0o7777 == 0o1700


@pytest.mark.parametrize("resume", [False, True], ids=["anew", "resumed"])
def test_a_later_run_finishes_one_that_nobody_marked(
    mount: Path, resume: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, keys = MemoryStore(), private()
    stopped = Functions(mount=mount, keys=keys, store=store)
    stopped.walk("PlanTransfer", FROM_KEYS, "CopyInPace")
    between(monkeypatch, "mkdir", kill)
    with pytest.raises(Killed):
        stopped.destination.make_directory(Entry("a/", Kind.DIRECTORY), NONE)
    monkeypatch.undo()
    rename(mount, ("a", "q"))
    world = Functions(mount=mount, keys=keys, store=store, run_id="run-2")
    assert world.run({"resume_from": "run-1"} if resume else FROM_KEYS)["status"] == "SUCCEEDED", reasons(world)
    judge(mount, "p")
    assert (mount / "out/q/g").read_text() == "hello"


def test_a_new_directory_that_others_swap_before_it_is_opened_is_not_used(
    mount: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another function's directory gets the name, empty as it is: nobody puts into it what is private under another."""
    first, second = functions(mount)
    first.make_directory(Entry("a/", Kind.DIRECTORY), NONE)
    between(monkeypatch, "mkdir", lambda: rename(mount, ("p", "aside"), ("a", "p")))
    with pytest.raises(Exception, match="another directory") as raised:
        second.make_directory(Entry("p/", Kind.DIRECTORY), NONE)
    assert getattr(raised.value, "reason", None) is Reason.DESTINATION_CHANGED


@pytest.mark.parametrize("remedy", ["chmod", "remove"])
@pytest.mark.parametrize("resume", [False, True], ids=["anew", "resumed"])
def test_the_remedy_for_what_a_stopped_run_left_works(mount: Path, remedy: str, resume: bool) -> None:
    store = MemoryStore()
    left_by(mount, store, "FinishTree")
    rename(mount, ("q", "a"))
    keys = public("a/f", marked=False)
    world = Functions(mount=mount, keys=keys, store=store, run_id="run-2")
    assert world.run(FROM_KEYS)["status"] == "FAILED_WITH_ITEMS"
    [row] = world.ledger.read_rows("failures.jsonl")
    assert row["path"] == "a/"
    assert "chmod 755" in row["message"]
    if remedy == "chmod":
        (mount / "out/a").chmod(0o755)
    else:
        (mount / "out/a/g").unlink()
        (mount / "out/a/f").unlink()
        (mount / "out/a").rmdir()
    again = Functions(mount=mount, keys=keys, store=store, run_id="run-3")
    assert again.run({"resume_from": "run-2"} if resume else FROM_KEYS)["status"] == "SUCCEEDED", reasons(again)
    assert (mount / "out/a").stat().st_mode & 0o7777 == 0o755
