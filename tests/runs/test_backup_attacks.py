"""A local user who owns the destination's root, and the directory of backups, reads nothing out of a backup."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from fanout.deleting.deletions import DIRECTORIES_REMOVED
from fanout.ledger.keys import WITHDRAWING
from fanout.model.errors import InvalidRequest, Superseded
from fanout.shards.finished_tree import FINISHED
from tests.support.local_user import AttackedWorld, attacked, did, given_away, read_by_user, requested
from tests.support.memory_store import MemoryStore
from tests.support.nobody import NOBODY, as_nobody, open_directory

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs two users")
SECRET = "salaries"
LONG_AGO = (10**18, 10**18)


@pytest.fixture
def mount() -> Iterator[Path]:
    """Old files of mode 0644 in private directories, in the root of the local user, whose the backups' directory is."""
    with open_directory() as path:
        given_away(path / "out", path / "kept")
        for name in ("private", "deep/private", "deep/private/further"):
            (path / "in" / name).mkdir(parents=True, exist_ok=True)
            (path / "in" / name / "secret").write_text("newer salaries")
            (path / "out" / name).mkdir(parents=True, exist_ok=True)
            (path / "out" / name / "secret").write_text(SECRET)
            os.utime(path / "out" / name / "secret", ns=LONG_AGO)
        for end in ("in", "out"):
            (path / end / "private").chmod(0o700)
            (path / end / "deep/private").chmod(0o700)
        yield path


def run_of(
    mount: Path, run_id: str = "run-1", store: MemoryStore | None = None, **deeds: Callable[[], object]
) -> AttackedWorld:
    return attacked(mount, run_id, store, deeds, backup_to="kept/")


def asked(**more: Any) -> dict[str, Any]:
    return requested(backup_to="efs:///kept", delete_guard={"max_percent": 100}, **more)


def nothing_is_read(mount: Path) -> None:
    texts = read_by_user(mount)
    assert SECRET not in texts and "newer salaries" not in texts


def premade(mount: Path, path: str) -> Callable[[], object]:
    return lambda: (mount / "kept" / path).mkdir(0o777, parents=True)


def linked(mount: Path, path: str) -> Callable[[], object]:
    """A symlink at a component, to a directory of the user."""

    def deed() -> None:
        (mount / "out/mine").mkdir(0o777)
        (mount / "kept" / path).parent.mkdir(0o777, parents=True, exist_ok=True)
        (mount / "kept" / path).symlink_to(mount / "out/mine")

    return deed


COMPONENTS = ["run-1", "run-1/private", "run-1/deep", "run-1/deep/private", "run-1/deep/private/further"]


@pytest.mark.parametrize("made", [premade, linked])
@pytest.mark.parametrize("path", COMPONENTS)
def test_a_directory_that_the_user_made_before_is_refused_before_anything_is_changed(
    mount: Path, path: str, made: Callable[[Path, str], Callable[[], object]]
) -> None:
    deed = made(mount, path)
    as_nobody(lambda: did(deed))
    before = sorted((mount / "kept").rglob("*"))
    world = run_of(mount)
    with pytest.raises(
        InvalidRequest, match=r"^backup_to: /kept/ holds a directory that this run did not make: /kept/run"
    ):
        world.plan(asked())
    assert sorted((mount / "kept").rglob("*")) == before
    assert not list((mount / "out").glob(".fanout*")) and (mount / "out/private/secret").read_text() == SECRET
    nothing_is_read(mount)


@pytest.mark.parametrize("made", [premade, linked])
@pytest.mark.parametrize("path", COMPONENTS)
@pytest.mark.parametrize("mode", ["copy", "sync"])
def test_one_that_he_makes_while_the_run_goes_on_keeps_nothing_and_replaces_nothing(
    mount: Path, path: str, made: Callable[[Path, str], Callable[[], object]], mode: str
) -> None:
    world = run_of(mount, ListOneSegment=made(mount, path))
    with pytest.raises(Superseded, match="look who may write to /kept, then start the run again"):
        world.run(asked(mode=mode))
    assert world.done and (mount / "out/private/secret").read_text() == SECRET
    nothing_is_read(mount)


def move_and_pose(mount: Path) -> None:
    """He may give the run's directory another name, since it lies in his."""
    os.rename(mount / "kept/run-1", mount / "kept/moved")
    for name in ("private", "deep/private/further"):
        (mount / "kept/run-1" / name).mkdir(0o777, parents=True)


def test_what_is_swapped_between_a_replacement_and_a_deletion_gets_nothing(mount: Path) -> None:
    shutil.rmtree(mount / "in/deep")
    world = run_of(mount, BeginDeletion=lambda: move_and_pose(mount))
    with pytest.raises(Superseded, match="/kept/run-1 in backup_to is another directory than the run made"):
        world.run(asked(mode="sync"))
    assert world.done == ["BeginDeletion"]
    assert (mount / "kept/moved/private/secret").read_text() == SECRET, "what was kept is there"
    assert (mount / "out/deep/private/secret").read_text() == SECRET, "and what could not be kept stays"
    nothing_is_read(mount)


def pose(mount: Path) -> None:
    """He makes the run's directory, or moves it away and makes one of its name."""
    if (mount / "kept/run-1").exists():
        os.rename(mount / "kept/run-1", mount / "kept/moved")
    (mount / "kept/run-1").mkdir(0o777)


@pytest.mark.parametrize(("deleted", "state"), [("deep", "RemoveDirectories"), ("", "FinishTree")])
def test_the_last_state_that_writes_leaves_nothing_staged_where_the_backup_is_anothers(
    mount: Path, deleted: str, state: str
) -> None:
    """An empty extra directory, or a further name that replaces a file, is the first that is to be kept."""
    shutil.rmtree(mount / "out")
    given_away(mount / "out")
    for one in (mount / "in").rglob("secret"):
        os.utime(one, ns=LONG_AGO)
    if deleted:
        shutil.copytree(mount / "in", mount / "out", dirs_exist_ok=True)
        (mount / "out/extra").mkdir()
    else:
        os.link(mount / "in/private/secret", mount / "in/private/z")
        (mount / "out/private").mkdir(0o700)
        (mount / "out/private/z").write_text(SECRET)
    world = attacked(mount, deeds={state: lambda: pose(mount)}, backup_to="kept/")
    with pytest.raises(Superseded, match="/kept/run-1 in backup_to is "):
        world.run(asked(mode="sync"))
    assert world.done == [state]
    assert not list((mount / "out").glob(".fanout*")), "nothing that is half-written stays"
    mark = FINISHED if state == "FinishTree" else DIRECTORIES_REMOVED
    for kind in (mark, WITHDRAWING):
        assert not world.ledger.has(kind), "another attempt must not find the work done"


def test_what_is_swapped_after_a_killed_attempt_gets_nothing_from_the_next(mount: Path) -> None:
    store = MemoryStore()
    world = run_of(mount, store=store)
    world.walk("PlanTransfer", asked(), "CopyInPace")
    copying = world.context("CopyShard").destination(world.ledger.read_plan())
    copying._backup._mirrored_directory("private/")  # type: ignore[attr-defined]
    as_nobody(lambda: move_and_pose(mount))
    with pytest.raises(Superseded):
        world.copy_all()
    nothing_is_read(mount)


def test_a_killed_run_leaves_its_backup_closed_and_the_next_one_opens_it_as_the_tree_is(mount: Path) -> None:
    (mount / "out").chmod(0o751)
    store = MemoryStore()
    run_of(mount, store=store).walk("PlanTransfer", asked(), "FinishTree")
    assert stat.S_IMODE((mount / "kept/run-1").stat().st_mode) == 0o700
    nothing_is_read(mount)
    assert run_of(mount, "run-2", store).run(asked(resume_from="run-1"))["status"] == "SUCCEEDED"
    found = (mount / "kept/run-1").stat()
    assert (found.st_uid, stat.S_IMODE(found.st_mode)) == (NOBODY, 0o751)
    assert stat.S_IMODE((mount / "kept/run-1/deep/private").stat().st_mode) == 0o700
    assert sorted(one.name for one in (mount / "kept/run-1").iterdir()) == ["deep", "private"]
    assert not list((mount / "out").glob(".fanout*"))
    nothing_is_read(mount)


def test_a_second_run_keeps_below_its_own_name_and_he_may_read_his_own_old_files(mount: Path) -> None:
    (mount / "in/his").write_text("newer")
    (mount / "out/his").write_text("his own")
    os.utime(mount / "out/his", ns=LONG_AGO)
    store = MemoryStore()
    for run_id in ("run-1", "run-2"):
        summary = run_of(mount, run_id, store).run(asked(compare="always", verify="all"))
        assert summary["status"] == "SUCCEEDED"
    assert (mount / "kept/run-2/private/secret").read_text() == "newer salaries"
    assert "his own" in read_by_user(mount / "kept/run-1") and "newer" in read_by_user(mount / "kept/run-2")
    nothing_is_read(mount)


def swap_in_tree(mount: Path) -> None:
    """A directory of his goes, and the private one gets its name: what is kept of it is no more open for that."""
    os.rename(mount / "out/his", mount / "out/away")
    os.rename(mount / "out/private", mount / "out/his")


@pytest.mark.parametrize("below", ["", "deeper/"])
def test_a_private_directory_under_the_name_of_one_that_is_kept_already_is_not_kept_there(
    mount: Path, below: str
) -> None:
    for name, text in (("his", "his own."), ("private", SECRET)):
        (mount / "out" / name / below).mkdir(exist_ok=True, parents=True)
        (mount / "out" / name / below / "extra").write_text(text)
        os.utime(mount / "out" / name / below / "extra", ns=LONG_AGO)
    (mount / "in/his" / below).mkdir(parents=True)
    for end in ("in", "out"):
        (mount / end / "his" / below / "replaced").write_text(end)
        for path in ("his", f"his/{below}"):
            os.chown(mount / end / path, NOBODY, NOBODY)
    os.utime(mount / "out/his" / below / "replaced", ns=LONG_AGO)
    world = run_of(mount, BeginDeletion=lambda: swap_in_tree(mount))
    summary = world.run(asked(mode="sync"))
    assert world.done == ["BeginDeletion"] and summary["status"] == "FAILED_WITH_ITEMS"
    assert (mount / "kept/run-1/his" / below / "replaced").read_text() == "out"
    assert not (mount / "kept/run-1/his" / below / "extra").exists()
    assert (mount / "out/his" / below / "extra").read_text() == SECRET
    nothing_is_read(mount / "kept")


def test_two_attempts_at_once_make_one_directory(mount: Path) -> None:
    world = run_of(mount)
    world.walk("PlanTransfer", asked(), "CopyInPace")
    plan = world.ledger.read_plan()
    trees = [world.context("CopyShard").destination(plan) for _ in range(2)]
    made = [tree._backup for tree in trees]  # type: ignore[attr-defined]
    assert made[0]._own._noted() is None  # the second one looked before the first one made it
    made[1]._own._make()
    made[0]._own._make()
    for one in (*made, *made):
        one._mirrored_directory("private/")
    assert os.listdir(mount / "kept") == ["run-1"]
    world.copy_all()
    assert world.finish_all() == 1
    assert (mount / "kept/run-1/private/secret").read_text() == SECRET
    assert sorted(one.name for one in (mount / "kept/run-1").iterdir()) == ["deep", "private"]


def test_a_late_attempt_keeps_nothing_once_the_run_has_ended(mount: Path) -> None:
    """It had the way open; meanwhile the run ended, and the user owns the backup's root."""
    world = run_of(mount)
    world.walk("PlanTransfer", asked(), "FinishTree")
    late = world.context("CopyShard").destination(world.ledger.read_plan())._backup  # type: ignore[attr-defined]
    late._mirrored_directory("private/")
    world.finish_all()
    as_nobody(lambda: did(lambda: (mount / "kept/run-1/deep2").mkdir(0o777)))
    (mount / "out/deep2").mkdir(0o700)
    with pytest.raises((Superseded, OSError)):
        late._mirrored_directory("deep2/")
    assert os.listdir(mount / "kept/run-1/deep2") == []


def test_a_run_that_replaces_nothing_makes_no_directory(mount: Path) -> None:
    shutil.rmtree(mount / "out")
    given_away(mount / "out")
    assert run_of(mount).run(asked())["status"] == "SUCCEEDED"
    assert os.listdir(mount / "kept") == []


def test_a_plain_user_behind_an_access_point_keeps_what_goes_too(mount: Path) -> None:
    """All entries belong to one user, who is not root, and who may write to both directories."""
    for path in (mount, *mount.rglob("*")):
        os.chown(path, NOBODY, NOBODY)

    def run() -> list[Any]:
        world = attacked(mount, backup_to="kept/")
        world.walk("PlanTransfer", asked(mode="sync"), "FinishTree")
        during = stat.S_IMODE((mount / "kept/run-1").stat().st_mode)
        world.walk("FinishTree", world.state(shards={"extras": 0}), "AnyExtras?")
        return [during, stat.S_IMODE((mount / "kept/run-1").stat().st_mode)]

    assert as_nobody(run) == [0o700, 0o755]
    assert (mount / "kept/run-1/deep/private/secret").read_text() == SECRET
