"""A local user who owns the destination's root puts files of his own in the place of files with several names."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from fanout.adapters.posix.tree import PosixTree
from fanout.finishing.divide import LinkRange
from fanout.finishing.link_names import link_names
from fanout.ledger import keys
from fanout.model.document import Json
from fanout.model.entry import Entry, Kind
from fanout.model.errors import ItemError, Superseded
from fanout.model.outcome import Reason
from fanout.shards.partitioned import links_of
from tests.support.local_user import attacked, given_away, requested
from tests.support.memory_store import MemoryStore
from tests.support.mounts import writable, write_whole
from tests.support.nobody import as_nobody, open_directory

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs two users")
GENUINE, FORGED = "genuine!", "FORGED!!"


@pytest.fixture
def mount() -> Iterator[Path]:
    """A source whose file has a second name in a private directory, and a destination whose root is the user's."""
    with open_directory() as path:
        (path / "in/private").mkdir(parents=True)
        (path / "in/private").chmod(0o700)
        (path / "in/first").write_text(GENUINE)
        os.link(path / "in/first", path / "in/private/second")
        given_away(path / "out")
        yield path


def unlink_and_forge(mount: Path, name: str = "first") -> None:
    """The number of the inode may be given again at once."""
    found = os.stat(mount / "in/first")
    (mount / "out" / name).unlink()
    (mount / "out" / name).write_text(FORGED)
    os.utime(mount / "out" / name, ns=(found.st_mtime_ns, found.st_mtime_ns))


def rename_over(mount: Path) -> None:
    found = os.stat(mount / "in/first")
    (mount / "out/mine").write_text(FORGED)
    os.utime(mount / "out/mine", ns=(found.st_mtime_ns, found.st_mtime_ns))
    os.rename(mount / "out/mine", mount / "out/first")


def rename_another(mount: Path) -> None:
    """Another file that the run placed, of the same size and time."""
    os.rename(mount / "out/other", mount / "out/first")


def symlink(mount: Path) -> None:
    (mount / "out/first").unlink()
    (mount / "out/first").symlink_to("other")


DEEDS: list[Callable[[Path], None]] = [unlink_and_forge, rename_over, rename_another, symlink]


@pytest.mark.parametrize("deed", DEEDS)
@pytest.mark.parametrize("compare", ["always", "size-mtime"])
def test_a_file_in_the_place_of_the_first_name_gets_no_further_name(
    mount: Path, deed: Callable[[Path], None], compare: str
) -> None:
    (mount / "in/other").write_text("another.")
    found = os.stat(mount / "in/first")
    os.utime(mount / "in/other", ns=(found.st_mtime_ns, found.st_mtime_ns))
    world = attacked(mount, deeds={"FinishTree": lambda: deed(mount)})
    summary = world.run(requested(compare=compare))
    assert world.done == ["FinishTree"]
    assert not (mount / "out/private/second").exists()
    assert (summary["status"], summary["balanced"]) == ("FAILED_WITH_ITEMS", True)
    assert failures(world.ledger.read_rows("failures.jsonl")) == {"private/second": "destination changed"}


def failures(rows: object) -> dict[str, str]:
    return {row["path"]: row["reason"] for row in rows}  # type: ignore[attr-defined]


def test_honest_runs_link_and_leave_nothing_and_so_does_the_run_after_an_attack(mount: Path) -> None:
    store = MemoryStore()
    attacked(mount, "run-1", store, {"FinishTree": lambda: rename_over(mount)}).run(requested())
    (mount / "out/first").unlink()
    summary = attacked(mount, "run-2", store).run(requested(verify="all"))
    assert summary["status"] == "SUCCEEDED"
    assert (mount / "out/first").samefile(mount / "out/private/second")
    assert (mount / "out/private/second").read_text() == GENUINE and (mount / "out/first").stat().st_nlink == 2
    assert not list((mount / "out").glob(".fanout*"))


def test_what_was_swapped_after_a_killed_attempt_is_not_linked_by_the_next_one(mount: Path) -> None:
    """The first attempt at finishing ended before it linked; the second one finds another file."""
    world = attacked(mount)
    world.walk("PlanTransfer", requested(), "FinishTree")
    as_nobody(lambda: rename_over(mount))
    world.finish_all()
    assert not (mount / "out/private/second").exists()


def test_a_run_that_is_resumed_links_to_no_forged_file(mount: Path) -> None:
    store, deeds = MemoryStore(), {"FinishTree": lambda: rename_over(mount)}
    attacked(mount, "run-1", store, deeds).run(requested())
    deeds = {"FinishTree": lambda: rename_over(mount)}
    summary = attacked(mount, "run-2", store, deeds).run(requested(resume_from="run-1"))
    assert summary["status"] == "FAILED_WITH_ITEMS" and not (mount / "out/private/second").exists()
    summary = attacked(mount, "run-3", store).run(requested(resume_from="run-2"))
    assert summary["status"] == "SUCCEEDED" and (mount / "out/private/second").read_text() == GENUINE


def test_a_second_run_links_the_file_of_its_own(mount: Path) -> None:
    """The file of the run before counts no more than any other: its names are one file, and stay."""
    store = MemoryStore()
    attacked(mount, "run-1", store).run(requested())
    as_nobody(lambda: rename_over(mount))
    summary = attacked(mount, "run-2", store).run(requested(compare="checksum"))
    assert summary["status"] == "SUCCEEDED"
    assert (mount / "out/private/second").read_text() == GENUINE


NAME = Entry("private/second", Kind.FILE, 8)


def placed(mount: Path, nonce: str) -> None:
    """An attempt that copied the first name."""
    write_whole(PosixTree(mount, "out", "run-1", nonce), "first", GENUINE.encode(), "1")


def test_two_attempts_at_once_may_both_have_placed_it(mount: Path) -> None:
    (mount / "out/private").mkdir(mode=0o700)
    writable(PosixTree(mount, "out", "run-1", "check"))
    for nonce in ("first", "second"):
        placed(mount, nonce)
    PosixTree(mount, "out", "run-1", "finish").link(NAME, "first")
    assert (mount / "out/first").samefile(mount / "out/private/second")
    PosixTree(mount, "out", "run-1", "again").link(NAME, "first")


def test_a_name_that_is_one_of_a_forged_file_already_is_not_taken_for_linked(mount: Path) -> None:
    (mount / "out/private").mkdir(mode=0o700)
    writable(PosixTree(mount, "out", "run-1", "check"))
    placed(mount, "copy")
    rename_over(mount)
    os.link(mount / "out/first", mount / "out/private/second")
    with pytest.raises(ItemError) as caught:
        PosixTree(mount, "out", "run-1", "finish").link(NAME, "first")
    assert caught.value.reason is Reason.DESTINATION_CHANGED


def test_a_file_of_which_nothing_was_noted_gets_no_further_name(mount: Path) -> None:
    (mount / "out/private").mkdir(mode=0o700)
    tree = writable(PosixTree(mount, "out", "run-1", "check"))
    write_whole(tree, "first", GENUINE.encode())
    with pytest.raises(ItemError, match="another file than the run put there"):
        tree.link(NAME, "first")
    assert not (mount / "out/private/second").exists()
    assert not [one for one in (mount / "out/.fanout-staging-run-1").rglob("*") if one.is_file()]


def test_a_file_with_no_room_for_names_is_copied_only_if_the_run_put_it_there(
    mount: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = os.link

    def full(source: str, target: str, **options: int | bool) -> None:
        if source == "first":
            raise OSError(31, "EMLINK")
        link(source, target, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "link", full)
    world = attacked(mount, deeds={"FinishTree": lambda: rename_over(mount)})
    summary: Json = world.run(requested())
    assert summary["status"] == "FAILED_WITH_ITEMS" and not (mount / "out/private/second").exists()
    (mount / "out/first").unlink()
    summary = attacked(mount, "run-2", world.store).run(requested())
    assert summary["status"] == "SUCCEEDED" and (mount / "out/private/second").read_text() == GENUINE


def test_an_attempt_that_links_while_another_one_ends_the_run_notes_no_failure(mount: Path) -> None:
    """The notes of what was placed go before the staging directory does."""
    world = attacked(mount)
    world.walk("PlanTransfer", requested(), "FinishTree")
    for note in (mount / "out/.fanout-staging-run-1/later-placed").rglob("*"):
        if note.is_symlink():
            note.unlink()
    world.ledger.mark(keys.WITHDRAWING)
    context = world.context("FinishTree")
    plan, ledger = world.ledger.read_plan(), world.ledger
    links = [LinkRange(one.shard, one.copied_by, 0, 1) for one in links_of(ledger)]
    with pytest.raises(Superseded):
        link_names(plan, context, links, context.deadline())


@pytest.mark.parametrize("several", [False, True])
def test_only_files_with_several_names_cost_a_note(mount: Path, monkeypatch: pytest.MonkeyPatch, several: bool) -> None:
    """One operation for the file, and with it a look; none for any other."""
    if not several:
        (mount / "in/private/second").unlink()
    for number in range(9):
        (mount / f"in/plain-{number}").write_text("plain")
    made: list[str] = []
    symlink = os.symlink

    def noted(target: str, *of: str, **how: int) -> None:
        made.append(target)
        symlink(target, *of, **how)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "symlink", noted)
    assert attacked(mount).run(requested())["status"] == "SUCCEEDED"
    assert [one for one in made if one == "."] == ["."] * several  # others are marks of directories that were made
