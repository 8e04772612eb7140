"""Writes that one client closed while the other's cache hid them; ``tests/runs`` has more, over a simulated client."""

from __future__ import annotations

import dataclasses
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fanout.adapters.posix.paths.looks import ASKED_SECONDS
from fanout.adapters.posix.staging import Staging
from fanout.model.entry import Kind
from tests.nfs.inside.mounts import Mounts
from tests.support.hidden_writes import COPY, FILES, MOVE, NEW, SYNC, Clients, Deed, fill, held, put, watched
from tests.support.memory import MemoryTree
from tests.support.publishing import REQUEST as PUBLISH
from tests.support.publishing import PublishingWorld

DEEDS = [FILES[name] for name in ("in_place", "appended", "renamed_over_linked", "directory_replaced")]


@pytest.fixture
def clients(mounts: Mounts) -> Clients:
    """The run's client is a; all that the tests look at is what the server has."""
    return Clients(mounts.a, mounts.b)


def run(clients: Clients, request: dict[str, object], state: str, deed: Callable[[Path], object]) -> str:
    """How a run ends, with trees old enough that the client believes what it sees of them.

    The states share their trees here, which functions open anew: a look of the state before may not answer for this.
    """

    def and_wait(root: Path) -> None:
        deed(root)
        time.sleep(2 * ASKED_SECONDS)

    time.sleep(2.5)
    status: str = watched(clients, state, and_wait).run(request)["status"]
    return status


@pytest.mark.parametrize("deed", DEEDS, ids=lambda one: one.__name__)
def test_a_move_deletes_no_file_that_another_client_wrote(mounts: Mounts, clients: Clients, deed: Deed) -> None:
    fill(clients)
    assert run(clients, MOVE, "DeleteShards", lambda root: deed(root / "in/d/f2")) == "FAILED_WITH_ITEMS"
    assert held(Clients(mounts.a, mounts.served))["in/d/f2"].endswith(NEW)


def test_a_sync_deletes_no_extra_that_another_client_wrote(mounts: Mounts, clients: Clients) -> None:
    fill(clients, "e/x", "e/y", "d/z")
    files = (FILES["appended"], "e/x"), (FILES["renamed_over_linked"], "e/y")

    def deed(root: Path) -> None:
        for one, path in files:
            one(root / "out" / path)
            with (root / "out" / path).open("ab") as file:
                file.write(NEW)
        put(root / "in/d/z", NEW)

    assert run(clients, SYNC, "DeleteShards", deed) == "FAILED_WITH_ITEMS"
    assert {"out/e/x", "out/e/y", "out/d/z"} <= set(held(Clients(mounts.a, mounts.served)))


@pytest.mark.parametrize("deed", DEEDS[:2], ids=lambda one: one.__name__)
def test_a_run_sees_what_another_client_closed_before_it_began(mounts: Mounts, clients: Clients, deed: Deed) -> None:
    fill(clients)
    assert watched(clients).run(COPY)["status"] == "SUCCEEDED"
    for seconds in (0, 3.5, 6.5):  # found unchanged each time, the file is believed for 12 seconds then
        time.sleep(seconds)
        (mounts.a / "in/d/f2").stat()
    deed(mounts.b / "in/d/f2")
    put(mounts.b / "in/d/more", NEW)
    assert watched(clients, run_id="run-9").run(COPY)["status"] == "SUCCEEDED"
    found = held(Clients(mounts.a, mounts.served))
    assert found["out/d/f2"].endswith(NEW)
    assert found["out/d/more"] == NEW


def test_a_directory_that_another_client_put_in_anothers_place_is_no_success(mounts: Mounts, clients: Clients) -> None:
    fill(clients)

    def deed(root: Path) -> None:
        (root / "out/d").rename(root / "moved")
        (root / "out/d").mkdir()

    assert run(clients, COPY, "FinishTree", deed) == "FAILED_WITH_ITEMS"
    assert watched(clients, run_id="run-2").run(COPY)["status"] == "SUCCEEDED"
    assert len(list((mounts.served / "out/d").iterdir())) == 6


@pytest.mark.parametrize("middle", [0, 1, 4], ids=["before FinishTree", "before the first", "in the middle"])
def test_files_of_keys_in_a_directory_that_another_client_replaced_are_no_success(
    mounts: Mounts, clients: Clients, monkeypatch: pytest.MonkeyPatch, middle: int
) -> None:
    """The directory was there, and no key names it: only where files went says which one it is."""
    keys, left, rename = MemoryTree(), [middle], Staging.rename

    def noting(self: Staging, *place: Any) -> None:
        left[0] -= 1
        if left[0] == 0:
            deed(mounts.b)
        rename(self, *place)

    def deed(root: Path) -> None:
        (root / "out/d").rename(root / "moved")
        (root / "out/d").mkdir()

    def copy(run_id: str, state: str = "") -> str:
        for number in range(6):
            keys.put(f"d/f{number}", Kind.FILE, run_id.encode())
        world = watched(clients, state, deed, run_id)
        world.source = keys
        status: str = world.run({"source": "s3://a-bucket/x/", "destination": "efs:///out"})["status"]
        return status

    (mounts.b / "out").mkdir()
    assert copy("run-1") == "SUCCEEDED"
    with monkeypatch.context() as patch:
        patch.setattr(Staging, "rename", noting)
        assert copy("run-2", "" if middle else "FinishTree") == "FAILED_WITH_ITEMS"
    assert copy("run-3") == "SUCCEEDED"
    assert {path.read_bytes() for path in (mounts.served / "out/d").iterdir()} == {b"run-3"}


def test_a_version_that_another_client_s_readers_follow_the_link_to_stays(mounts: Mounts) -> None:
    """Each reader looks at the link once and at the files below it a little later."""
    request = {**PUBLISH, "publish": {"link": "current", "keep": 1, "keep_hours": 0}}
    world = PublishingWorld(run_id="v1", mount=mounts.a)
    world.source.put("file", Kind.FILE, b"v1")  # type: ignore[attr-defined]
    world.publish(request)
    here = os.open(mounts.b / "site", os.O_RDONLY | os.O_DIRECTORY)
    version = os.readlink("current", dir_fd=here)
    for number in (2, 3, 4):
        world = dataclasses.replace(world, run_id=f"v{number}")
        world.clock.time += 15
        world.source.put("file", Kind.FILE, b"v%d" % number)  # type: ignore[attr-defined]
        assert world.publish(request)["status"] == "SUCCEEDED"
        stale = os.open(f"{version}/file", os.O_RDONLY, dir_fd=here)
        assert os.read(stale, 2) == b"v1"
        os.close(stale)
    os.close(here)
