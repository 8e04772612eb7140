"""Writes that one client closed while the other's cache hid them; ``tests/runs`` has more, over a simulated client."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.nfs.inside.mounts import Mounts
from tests.support.hidden_writes import COPY, FILES, MOVE, NEW, SYNC, Clients, Deed, fill, held, put, watched

DEEDS = [FILES[name] for name in ("in_place", "appended", "renamed_over_linked", "directory_replaced")]


@pytest.fixture
def clients(mounts: Mounts) -> Clients:
    """The run's client is a; all that the tests look at is what the server has."""
    return Clients(mounts.a, mounts.b)


def run(clients: Clients, request: dict[str, object], state: str, deed: Callable[[Path], object]) -> str:
    """How a run ends, with trees old enough that the client believes what it sees of them."""
    time.sleep(2.5)
    status: str = watched(clients, state, deed).run(request)["status"]
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
