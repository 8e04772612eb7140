"""A local user moves what others own into an old version: retention removes what runs made, and nothing else."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from fanout.adapters.posix.publishing import made_directories
from fanout.adapters.posix.publishing.retired import remove_retired
from fanout.model.deadline import NEVER
from fanout.model.document import Json
from fanout.model.entry import Attributes, Kind
from tests.support.memory import MemoryTree
from tests.support.memory_store import MemoryStore
from tests.support.nobody import NOBODY, as_nobody, open_directory
from tests.support.publishing import REQUEST, PublishingWorld

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs several users")
VICTIM, TEAM = 12_346, 12_347
KEEP_ONE: Json = {**REQUEST, "publish": {"link": "current", "keep": 1, "keep_hours": 0}}
MODES = {
    "home/": (0o755, NOBODY),
    "home/x/": (0o750, VICTIM),
    "home/x/y/": (0o700, NOBODY),
    "shared/": (0o2777, 0),
    "shared/of/": (0o755, VICTIM),
    "drop/": (0o1777, 0),
    "drop/of/": (0o755, TEAM),
    "plain/": (0o755, 0),
    "closed/": (0o077, TEAM),
    "closed/of/": (0o755, VICTIM),
}


@pytest.fixture
def mount() -> Iterator[Path]:
    with open_directory() as path:
        yield path


def first(mount: Path) -> PublishingWorld:
    """A version of directories of several owners, with files at each depth, is published."""
    keys = MemoryTree()
    for path, (mode, owner) in MODES.items():
        keys.put(path, Kind.DIRECTORY, b"", Attributes(0o40000 | mode, owner, owner))
        keys.put(f"{path}f", Kind.FILE, b"one", Attributes(0o100644, 0, 0))
    keys.put("home/implied/by/keys/f", Kind.FILE, b"one", Attributes(0o100644, 0, 0))
    world = PublishingWorld(mount=mount, source=keys, destination=MemoryTree(), run_id="v1", store=MemoryStore())
    assert world.publish(KEEP_ONE)["status"] == "SUCCEEDED"
    return world


def thesis(mount: Path) -> Path:
    """A directory of nobody with one in it that is somebody's own; nobody cannot remove it."""
    team = mount / "outside/team"
    (team / "victim").mkdir(parents=True)
    (team / "victim/thesis").write_text("years of work")
    (mount / "outside").chmod(0o777)
    os.chown(team, NOBODY, NOBODY)
    for path in (team / "victim", team / "victim/thesis"):
        os.chown(path, VICTIM, VICTIM)
    (team / "victim").chmod(0o700)

    def removes() -> str:
        try:
            os.unlink(team / "victim/thesis")
        except PermissionError as error:
            return str(error.strerror)
        return "removed"

    assert as_nobody(removes) == "Permission denied"
    return team


def moved(what: Path, to: Path) -> None:
    def deed() -> bool:
        os.rename(what, to)
        return True

    assert as_nobody(deed)


def next_versions(world: PublishingWorld, *names: str) -> tuple[PublishingWorld, list[str]]:
    """These versions are published; the notes of the last one about what was left."""
    notes: list[str] = []
    for name in names:
        world = world.following(name)
        summary = world.publish(KEEP_ONE)
        assert summary["status"] == "SUCCEEDED"
        notes = [str(note) for note in summary["notes"] if "no run made" in str(note)]
    return world, notes


def leftovers(world: PublishingWorld, of: str = "v1") -> list[str]:
    return [name for name in world.versions() if name == of or f"-{of}" in name]


@pytest.mark.parametrize("place", ["home/team", "shared/team", "drop/team"])
def test_what_a_local_user_moved_into_an_old_version_stays(mount: Path, place: str) -> None:
    world = first(mount)
    moved(thesis(mount), mount / "site/versions/v1" / place)
    world, notes = next_versions(world, "v2", "v3", "v4")
    (left,) = mount.rglob("thesis")
    assert left.read_text() == "years of work" and left.parent.stat().st_uid == VICTIM
    assert [path for path in mount.glob("site/versions/.removed-v1-*/**/*") if path.is_file()] == [left]
    (note,) = notes
    foreign = next(name for name in note.partition(": ")[2].split(";")[0].split(", "))
    named = mount / foreign.removeprefix("/")
    assert left.is_relative_to(named)
    os.rename(named, mount / "back")  # the remedy
    world, notes = next_versions(world, "v5")
    assert (notes, leftovers(world)) == ([], [])
    assert next((mount / "back").rglob("thesis")).exists()


@pytest.mark.parametrize("ledger", ["there", "expired", "no note", "nothing known"])
def test_all_that_runs_made_goes_whoever_owns_it(mount: Path, ledger: str) -> None:
    world = first(mount)
    world, _ = next_versions(world, "v2")
    if ledger in ("no note", "nothing known"):  # of an earlier release
        (mount / "site/versions/.directories-v1").unlink()
    if ledger in ("expired", "nothing known"):
        world.store.remove([f"runs/v1/{key}" for key in world.ledger.of_run("v1").keys("")])
    world, notes = next_versions(world, "v3", "v4")
    if ledger == "nothing known":
        found = {path.name for path in mount.glob("site/versions/.removed-v1-*/**/*")}
        assert found >= {"of", "x", "shared"} and "plain" not in found
        assert "hold directories that no run made" in notes[0]
    else:
        assert (notes, leftovers(world)) == ([], [])


def test_what_the_owner_of_a_directory_made_in_it_goes_as_if_he_removed_it(mount: Path) -> None:
    world = first(mount)
    cache = mount / "site/versions/v1/home/cache"

    def deed() -> bool:
        (cache / "a/b").mkdir(parents=True)
        (cache / "a/b/f").write_text("x")
        return True

    assert as_nobody(deed)
    world, notes = next_versions(world, "v2", "v3")
    assert (notes, leftovers(world)) == ([], [])


def test_an_inode_that_somebody_elses_directory_got_since_is_not_the_runs(mount: Path) -> None:
    (mount / f"{made_directories.NOTED}v1").write_bytes(made_directories.noted_bytes([("7", VICTIM), ("7", None)]))
    above = os.open(mount, os.O_RDONLY)
    made = made_directories.MadeDirectories(above, "v1")
    own = os.fstat(above)
    os.close(above)

    def directory(inode: int, owner: int, device: int = own.st_dev) -> os.stat_result:
        return os.stat_result((0o40777, inode, device, 2, owner, owner, 0, 0, 0, 0))

    open_to_all = directory(1, 0)
    assert [made.holds(directory(7, one), open_to_all) for one in (VICTIM, own.st_uid, NOBODY)] == [True, True, False]
    assert not made.holds(directory(8, VICTIM), open_to_all)
    assert not made.holds(directory(7, VICTIM, own.st_dev + 1), open_to_all)


def test_a_version_of_a_run_that_did_not_succeed_goes(mount: Path) -> None:
    world = first(mount)
    assert isinstance(world.source, MemoryTree)
    world.source.put("home/fails", Kind.FILE, b"x", Attributes(0o100644, 0, 0))
    failed = world.following("v2")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("fanout.publishing.publish_version.books_if_whole", lambda *_: None)
        failed.publish(KEEP_ONE)
    assert os.readlink(mount / "site/current") == "versions/v1"
    world, notes = next_versions(failed, "v3", "v4")
    assert (notes, leftovers(world, "v2"), leftovers(world)) == ([], [], [])


def test_a_resumed_run_notes_what_the_first_one_made(mount: Path) -> None:
    world = first(mount)
    second = world.following("v2")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("fanout.publishing.publish_version.books_if_whole", lambda *_: None)
        second.publish(KEEP_ONE)
    again = second.following("v2-again")
    assert again.publish({"resume_from": "v2"})["status"] == "SUCCEEDED"
    world, notes = next_versions(again, "v3", "v4")
    assert (notes, leftovers(world, "v2"), leftovers(world)) == ([], [], [])


def test_one_that_is_swapped_in_while_a_version_goes_stays(mount: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world = first(mount)
    team, place = thesis(mount), mount / "site/versions/v1/home/x"
    rename = os.rename
    swapped: list[str] = []

    def swap(source: str, target: str, **at: int) -> None:
        if source == "x" and not swapped:
            swapped.append(target)
            home = next(mount.glob("site/versions/.removed-v1-*/home"))
            rename(home / "x", mount / "outside/x")
            rename(team, home / "x")
        rename(source, target, **at)

    monkeypatch.setattr(os, "rename", swap)
    world, notes = next_versions(world, "v2", "v3")
    assert swapped and not place.exists()
    world, notes = next_versions(world, "v4")
    assert len(notes) == 1 and next(mount.rglob("thesis")).read_text() == "years of work"


def counted_in(calls: list[str], name: str) -> Callable[..., Any]:
    before = getattr(os, name)

    def call(*args: Any, **named: Any) -> Any:
        calls.append(name)
        return before(*args, **named)

    return call


def test_no_operation_more_a_file(mount: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keys = MemoryTree()
    for number in range(300):
        keys.put(f"a/b/c/{number}", Kind.FILE, b"x", Attributes(0o100644, 0, 0))
    world = PublishingWorld(mount=mount, source=keys, destination=MemoryTree(), run_id="v1", store=MemoryStore())
    world.publish(KEEP_ONE)
    world, _ = next_versions(world, "v2")
    calls: list[str] = []
    for name in ("stat", "open", "rename", "rmdir", "unlink"):
        monkeypatch.setattr(os, name, counted_in(calls, name))
    version, top = "v1", ".removed-v1-00000000"
    above = os.open(mount / "site/versions", os.O_RDONLY)
    os.rename(version, top, src_dir_fd=above, dst_dir_fd=above)
    calls.clear()
    assert remove_retired(above, top, version, NEVER, lambda: None).done
    os.close(above)
    counted = {name: calls.count(name) for name in set(calls)}
    assert counted["unlink"] == 300
    assert sum(counted.values()) - 300 <= 20, counted
