"""Writes of another client that this NFS client's cache hid: nothing irreversible rests on the cache.

The client is simulated (``tests.support.nfs_client``); ``tests/nfs/inside/test_hidden_writes.py`` has real ones.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from fanout.model.outcome import Reason
from tests.support.hidden_writes import (
    COPY,
    FILES,
    IF_NEWER,
    MOVE,
    NEW,
    SYNC,
    Clients,
    Deed,
    appended,
    fill,
    held,
    in_place,
    put,
    renamed_over_linked,
    watched,
)
from tests.support.mounts import reasons
from tests.support.nfs_client import ACREGMAX, ACREGMIN, NfsClient


@pytest.fixture
def client(tmp_path: Path) -> Iterator[NfsClient]:
    with NfsClient(tmp_path).mounted() as one:
        yield one


@pytest.fixture
def clients(tmp_path: Path, client: NfsClient) -> Clients:
    return Clients(tmp_path, tmp_path, client.elsewhere)


def test_the_client_hides_what_another_one_writes_until_it_asks_again(tmp_path: Path, client: NfsClient) -> None:
    put(tmp_path / "file", b"old")
    here = os.open(tmp_path, os.O_RDONLY)

    def size() -> int:
        return os.stat("file", dir_fd=here, follow_symlinks=False).st_size

    for seconds in (0.0, ACREGMIN, 2 * ACREGMIN):  # each look that finds no change is believed twice as long
        client.later(seconds)
        assert size() == 3
    with client.elsewhere():
        (tmp_path / "file").write_bytes(b"longer")
    client.later(2 * ACREGMIN)
    assert size() == 3
    client.later(ACREGMAX)
    assert size() == 6
    os.close(here)


@pytest.mark.parametrize("deed", FILES.values(), ids=FILES)
def test_a_move_deletes_no_file_that_another_client_wrote(clients: Clients, deed: Deed) -> None:
    fill(clients)
    world = watched(clients, "DeleteShards", lambda root: deed(root / "in/d/f2"))
    assert world.run(MOVE)["status"] == "FAILED_WITH_ITEMS"
    found = held(clients)
    assert found["in/d/f2"].endswith(NEW), found
    assert "d/f2" in reasons(world)


def test_a_move_deletes_nothing_whose_copy_another_client_replaced(clients: Clients) -> None:
    fill(clients)
    world = watched(clients, "DeleteShards", lambda root: appended(root / "out/d/f2"))
    assert world.run(MOVE)["status"] == "FAILED_WITH_ITEMS"
    assert held(clients)["in/d/f2"] == b"one-2"


def test_a_move_leaves_a_directory_whose_mode_another_client_changed(clients: Clients) -> None:
    fill(clients)
    world = watched(clients, "RemoveDirectories", lambda root: (root / "in/d").chmod(0o700))
    assert world.run(MOVE)["status"] == "FAILED_WITH_ITEMS"
    assert reasons(world) == {"d/": Reason.SOURCE_CHANGED}


@pytest.mark.parametrize("deed", [one for one in FILES.values() if one is not in_place], ids=lambda one: one.__name__)
def test_a_sync_deletes_no_extra_that_another_client_wrote(clients: Clients, deed: Deed) -> None:
    fill(clients, "e/x")

    def changed(root: Path) -> None:
        deed(root / "out/e/x")
        found = root / "out/e/x"
        found.write_bytes(found.read_bytes() + b"longer")  # an extra is known by size and mtime

    world = watched(clients, "DeleteShards", changed)
    world.run(SYNC)
    assert held(clients)["out/e/x"].endswith(b"longer")


def test_a_sync_deletes_no_extra_whose_name_appeared_at_the_source(clients: Clients, client: NfsClient) -> None:
    fill(clients, "d/x")
    world = watched(clients, "DeleteShards", lambda root: put(root / "in/d/x", NEW))
    assert world.run(SYNC)["status"] == "FAILED_WITH_ITEMS"
    assert held(clients)["out/d/x"] == b"extra"


def test_a_sync_deletes_nothing_of_a_tree_that_another_client_published_there(clients: Clients) -> None:
    fill(clients, "site/versions/v1/file")
    world = watched(clients, "DeleteShards", lambda root: put(root / "out/site/versions/.publisher", b"{}"))
    assert world.run(SYNC)["status"] == "FAILED_WITH_ITEMS"
    assert held(clients)["out/site/versions/v1/file"] == b"extra"


@pytest.mark.parametrize("deed", [appended, renamed_over_linked], ids=lambda one: one.__name__)
def test_a_newer_file_of_another_client_is_not_replaced(clients: Clients, deed: Deed) -> None:
    fill(clients, "d/f2")
    with clients.elsewhere():
        os.utime(clients.there / "out/d/f2", ns=(1, 1))
    world = watched(clients, "CopyShards", lambda root: deed(root / "out/d/f2"), overwrite=IF_NEWER)
    world.run({**COPY, "overwrite": "if-newer"})
    assert held(clients)["out/d/f2"].endswith(NEW)


def test_a_backup_keeps_what_another_client_put_in_the_place_of_what_was_there(clients: Clients) -> None:
    fill(clients, "d/f2")
    request = {**COPY, "backup_to": "efs:///backup"}
    world = watched(clients, "CopyShards", lambda root: renamed_over_linked(root / "out/d/f2"), backup_to="backup/")
    assert world.run(request)["status"] == "SUCCEEDED"
    assert held(clients)["backup/run-1/d/f2"] == NEW


@pytest.mark.parametrize("deed", FILES.values(), ids=FILES)
@pytest.mark.parametrize("seconds", [0.0, ACREGMAX - 1])
def test_a_run_sees_what_another_client_closed_before_it_began(
    clients: Clients, client: NfsClient, deed: Deed, seconds: float
) -> None:
    """Runs that find nothing changed have the client believe what it knows ever longer."""
    fill(clients)
    watched(clients, run_id="run-0").run(COPY)
    for number in range(1, 7):
        client.later(ACREGMIN * 2**number)
        watched(clients, run_id=f"run-{number}").run(COPY)
    clients.does(lambda root: deed(root / "in/d/f2"))
    client.later(seconds)
    assert watched(clients, run_id="run-9").run(COPY)["status"] == "SUCCEEDED"
    assert held(clients)["out/d/f2"].endswith(NEW)


def test_a_run_sees_a_name_that_appeared_before_it_began(clients: Clients) -> None:
    fill(clients)
    watched(clients, run_id="run-0").run(COPY)
    clients.does(lambda root: put(root / "in/d/more", NEW))
    watched(clients, run_id="run-1").run(COPY)
    assert held(clients)["out/d/more"] == NEW


def test_a_listing_asks_a_client_that_knows_all_no_more_than_one_that_knows_nothing(
    clients: Clients, client: NfsClient
) -> None:
    fill(clients)
    time.sleep(1.2)  # what changed within a second of a listing is copied again
    watched(clients, run_id="run-0").run(COPY)
    counts = []
    for run, knows in (("run-1", False), ("run-2", True)):
        if not knows:
            client.forget()
        client.asked.clear()
        watched(clients, run_id=run).run(COPY)
        counts.append(client.asked["LOOKUP"] + client.asked["READDIR"])
    assert counts[1] <= counts[0]
