"""Directories that are at the destination before the run, and let in users whom their source keeps out.

Whoever made one, or reads in it, reads nothing that is put into it, and leaves nothing in it that he adds later.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from unittest.mock import patch

import pytest

from fanout.facts import tuning
from fanout.model.document import Json
from fanout.model.entry import Attributes, Kind
from fanout.model.outcome import Reason
from tests.runs.test_directories_by_inode import FROM_KEYS, WITHIN, Functions
from tests.support.memory import MemoryTree
from tests.support.memory_store import MemoryStore
from tests.support.mounts import reasons
from tests.support.nobody import NOBODY, as_nobody, open_directory

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs two users")
SOURCES = pytest.mark.parametrize("source", ["keys", "mount"])


@dataclass
class Looked(Functions):
    """A run in which nobody looks, as each state begins, at what is private."""

    private: tuple[str, ...] = ("p/pay",)
    read: list[tuple[str, str]] = field(default_factory=list)

    def enter(self, state: str) -> None:
        super().enter(state)
        for path in self.private:
            if text := read_by_nobody(self.mount / "out" / path):
                self.read.append((state, text))


def read_by_nobody(path: Path) -> str:
    def read() -> str:
        try:
            return path.read_text()
        except OSError:
            return ""

    return str(as_nobody(read))


@pytest.fixture
def mount() -> Iterator[Path]:
    """The root of the destination is nobody's."""
    with open_directory() as path, patch.object(tuning, "SHARD_ENTRIES", 1):
        (path / "out").mkdir()
        os.chown(path / "out", NOBODY, NOBODY)
        yield path


@dataclass
class Ends:
    """A source of either kind: directories and files by their paths, each with its mode and owner."""

    mount: Path
    of_keys: bool
    keys: MemoryTree = field(default_factory=MemoryTree)
    store: MemoryStore = field(default_factory=MemoryStore)

    def put(self, path: str, mode: int, text: str = "", owner: int = 0) -> None:
        """Make an entry, or give one another mode."""
        if self.of_keys:
            kind = Kind.DIRECTORY if path.endswith("/") else Kind.FILE
            form = 0o40000 if kind is Kind.DIRECTORY else 0o100000
            self.keys.put(path, kind, text.encode(), Attributes(form | mode, owner, owner))
            return
        place = self.mount / "in" / path
        if path.endswith("/"):
            place.mkdir(parents=True, exist_ok=True)
        else:
            place.write_text(text)
        os.chown(place, owner, owner)
        place.chmod(mode)

    def run(self, run_id: str, deeds: dict[str, Callable[[], object]] | None = None, **options: object) -> Looked:
        """A run to its end."""
        world = Looked(
            mount=self.mount,
            keys=self.keys if self.of_keys else None,
            store=self.store,
            run_id=run_id,
            deeds=deeds or {},
            private=("p/pay", "p/a/pay"),
        )
        world.run({**(FROM_KEYS if self.of_keys else WITHIN), **options})
        return world


def private(mount: Path, source: str, below: str = "") -> Ends:
    """A source that keeps what is in ``p/`` from all but root; files in it would let anybody in."""
    ends = Ends(mount, source == "keys")
    ends.put("p/", 0o700)
    if below:
        ends.put(f"p/{below}", 0o755)
    ends.put(f"p/{below}pay", 0o644, "salaries")
    return ends


def made_by_nobody(mount: Path, *paths: str, mode: int = 0o755) -> Callable[[], object]:
    def deed() -> bool:
        os.umask(0)
        for path in paths:
            os.mkdir(mount / "out" / path, mode)
            (mount / "out" / path).chmod(mode)
        return True

    return lambda: as_nobody(deed)


def access(path: Path) -> tuple[str, int]:
    found = path.stat()
    return f"{found.st_mode & 0o7777:o}", found.st_uid


@SOURCES
@pytest.mark.parametrize("below", ["", "a/"])
def test_one_whose_source_was_closed_since_is_closed_before_a_file_is_put_into_it(
    mount: Path, source: str, below: str
) -> None:
    ends = Ends(mount, source == "keys")
    ends.put("p/", 0o755)
    if below:
        ends.put(f"p/{below}", 0o755)
    ends.put(f"p/{below}hello", 0o644, "x")
    assert ends.run("run-1").summary()["status"] == "SUCCEEDED"
    ends.put(f"p/{below}pay", 0o644, "salaries")
    ends.put("p/", 0o700)
    world = ends.run("run-2")
    assert world.summary()["status"] == "SUCCEEDED", reasons(world)
    assert (world.read, access(mount / "out/p")) == ([], ("700", 0))


@SOURCES
@pytest.mark.parametrize("mode", [0o755, 0o700, 0o1700])
@pytest.mark.parametrize("sticky", [False, True], ids=["his", "sticky"])
def test_one_that_another_user_made_before_the_listing_is_taken_from_him(
    mount: Path, source: str, mode: int, sticky: bool
) -> None:
    if sticky:
        os.chown(mount / "out", 0, 0)
        (mount / "out").chmod(0o1777)
    ends = private(mount, source)
    made_by_nobody(mount, "p", mode=mode)()
    world = ends.run("run-1")
    assert world.summary()["status"] == "SUCCEEDED", reasons(world)
    assert (world.read, access(mount / "out/p")) == ([], ("700", 0))
    assert (mount / "out/p/pay").read_text() == "salaries"


@SOURCES
@pytest.mark.parametrize("verify", ["none", "copied"])
def test_nothing_that_he_adds_after_the_listing_stays_in_it(mount: Path, source: str, verify: str) -> None:
    """Before FinishTree he could replace what was put there, and add to it."""
    ends = private(mount, source)
    made_by_nobody(mount, "p")()

    def plant() -> str:
        try:
            (mount / "out/p/evil").write_text("evil")
            os.unlink(mount / "out/p/pay")
        except PermissionError as error:
            return str(error.strerror)
        return "planted"

    said: list[object] = []
    world = ends.run("run-1", {"FinishTree": lambda: said.append(as_nobody(plant))}, verify=verify)
    assert world.summary()["status"] == "SUCCEEDED", reasons(world)
    assert (said, os.listdir(mount / "out/p")) == (["Permission denied"], ["pay"])


@SOURCES
@pytest.mark.parametrize("mode", [0o755, 0o700, 0o1700])
def test_one_that_was_not_listed_is_closed_and_the_run_fails(mount: Path, source: str, mode: int) -> None:
    ends = private(mount, source)
    world = ends.run("run-1", {"CopyShards": made_by_nobody(mount, "p", mode=mode)})
    assert not world.deeds
    assert (world.summary()["status"], world.read) == ("FAILED_WITH_ITEMS", [])
    assert reasons(world) == {"p/": Reason.DESTINATION_CHANGED}
    assert mount.joinpath("out/p").stat().st_mode & 0o077 == 0
    again = ends.run("run-2")
    assert again.summary()["status"] == "SUCCEEDED", reasons(again)
    assert (again.read, access(mount / "out/p")) == ([], ("700", 0))


@SOURCES
@pytest.mark.parametrize("resume", [False, True], ids=["anew", "resumed"])
def test_a_directory_further_up_is_taken_too(mount: Path, source: str, resume: bool) -> None:
    """Times alone may call it unchanged, and then its row says nothing: the next run has it as unfinished."""
    ends = private(mount, source, "a/")
    made_by_nobody(mount, "p", "p/a")()
    world = ends.run("run-1")
    assert world.read == []
    if world.summary()["status"] != "SUCCEEDED":
        assert reasons(world) == {"p/": Reason.DESTINATION_CHANGED}
        assert access(mount / "out/p")[1] == 0
        again = ends.run("run-2", resume_from="run-1") if resume else ends.run("run-2")
        assert again.summary()["status"] == "SUCCEEDED", reasons(again)
        assert again.read == []
    assert (access(mount / "out/p"), access(mount / "out/p/a")) == (("700", 0), ("755", 0))


@SOURCES
def test_another_owner_of_the_source_is_no_obstacle(mount: Path, source: str) -> None:
    ends = Ends(mount, source == "keys")
    ends.put("p/", 0o750, owner=1001)
    ends.put("p/hello", 0o640, "x", owner=1001)
    assert ends.run("run-1").summary()["status"] == "SUCCEEDED"
    ends.put("p/", 0o750, owner=1002)
    ends.put("p/more", 0o640, "x", owner=1002)
    world = ends.run("run-2")
    assert world.summary()["status"] == "SUCCEEDED", reasons(world)
    assert access(mount / "out/p") == ("750", 1002)


@SOURCES
def test_one_that_lets_in_nobody_else_is_not_asked_about(mount: Path, source: str) -> None:
    """No step more where it is closed already; and what the source opened meanwhile is opened at the end."""
    ends = private(mount, source)
    assert ends.run("run-1").summary()["status"] == "SUCCEEDED"
    ends.put("p/", 0o755)
    ends.put("p/more", 0o644, "x")
    with patch("fanout.copying.source_directories.SourceTreeDirectories.attributes", side_effect=AssertionError):
        world = ends.run("run-2")
    assert world.summary()["status"] == "SUCCEEDED", reasons(world)
    assert access(mount / "out/p") == ("755", 0)


def test_keys_that_imply_it_leave_it_as_it_is(mount: Path) -> None:
    ends = Ends(mount, of_keys=True)
    ends.put("q/g", 0o644, "hello")
    made_by_nobody(mount, "q", mode=0o775)()
    assert ends.run("run-1").summary()["status"] == "SUCCEEDED"
    assert access(mount / "out/q") == ("775", NOBODY)


def test_a_stopped_run_leaves_what_the_next_one_finishes(mount: Path) -> None:
    ends = private(mount, "keys")
    made_by_nobody(mount, "p")()
    Looked(mount=mount, keys=ends.keys, store=ends.store, run_id="run-1").walk("PlanTransfer", FROM_KEYS, "FinishTree")
    assert access(mount / "out/p") == ("5700", 0)
    world = ends.run("run-2")
    assert world.summary()["status"] == "SUCCEEDED", reasons(world)
    assert (world.read, access(mount / "out/p")) == ([], ("700", 0))


def test_a_plain_user_cannot_close_what_is_anothers_and_says_so(mount: Path) -> None:
    ends = private(mount, "keys")
    (mount / "out/p").mkdir()
    (mount / "out/p").chmod(0o777)

    def run() -> Json:
        world = ends.run("run-1")
        return {"status": world.summary()["status"], "reasons": {k: str(v) for k, v in reasons(world).items()}}

    found = as_nobody(run)
    assert found["status"] == "FAILED_WITH_ITEMS"
    assert found["reasons"]["p/pay"] == Reason.DESTINATION_DENIED
    assert os.listdir(mount / "out/p") == []
    (mount / "out/p").chmod(0o700)
    os.chown(mount / "out/p", NOBODY, NOBODY)
    assert as_nobody(lambda: ends.run("run-2").summary()["status"]) == "SUCCEEDED"
