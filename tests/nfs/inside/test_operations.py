"""The operations that a run asks of the server, counted by the client: none beside those that are needed.

The docs' table is made from the same counts, of larger trees.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections import Counter
from pathlib import Path

import pytest

from fanout.adapters.posix.tree import PosixTree
from fanout.facts.operations import LINK_OPERATIONS_PER_FILE, LIST_OPERATIONS_PER_DIRECTORY, LISTED_ENTRY_BYTES
from fanout.model.document import Json
from fanout.model.entry import Kind
from fanout.model.segment import Segment
from tests.nfs.inside.mounts import ANSWERED, MOUNTS, Mounts, counting, operations
from tests.support.flow import World
from tests.support.memory import MemoryTree
from tests.support.mounts import REQUEST
from tests.support.publishing import PublishingWorld

FILES, DIRECTORIES = 120, 3


@pytest.fixture
def source() -> Path:
    """A tree that is not on NFS, old enough to be told from its copy."""
    root = Path(tempfile.mkdtemp(dir=MOUNTS))
    for number in range(FILES):
        path = root / f"in/d{number % DIRECTORIES}/f{number}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(os.urandom(4096))
    time.sleep(1.5)
    return root


def run(source: Path, mounts: Mounts, run_id: str, request: Json = REQUEST) -> Counter[str]:
    """What the server was asked during a run; the copy lies on NFS."""
    _make_destination(mounts.served, source)
    tree = PosixTree(source, "in", run_id, "source", "source")
    world = World(source=tree, destination=PosixTree(mounts.a, "out", run_id, "n"), run_id=run_id)
    with counting() as counted:
        assert world.run(request)["status"] == "SUCCEEDED"
    return counted


def _make_destination(served: Path, source: Path) -> None:
    """Make it, with a number that no directory of the source has: both ends pass for one mount here."""
    place, taken = served / "out", {path.stat().st_ino for path in source.rglob("*")}
    place.mkdir(exist_ok=True)
    while place.stat().st_ino in taken:
        place.rename(served / f"not-{place.stat().st_ino}")
        place.mkdir()


def test_a_copy_asks_five_operations_a_file_where_it_renames(source: Path, mounts: Mounts) -> None:
    counted = run(source, mounts, "run-1")
    for needed in ("OPEN", "WRITE", "CLOSE", "SETATTR"):
        assert FILES <= counted[needed] <= FILES + 3 * DIRECTORIES + 5, counted
    assert counted["RENAME"] + counted["LINK"] == FILES, counted
    assert counted["ACCESS"] <= 40, counted  # of directories; of no file that is linked
    a_file = counted.total() - counted["LINK"] - counted["GETATTR"]  # a REMOVE after each; a matter of time
    # Beside them CREATE, ACCESS, REMOVE of up to 33 staging directories, and READDIRs of the five they lie in.
    assert a_file <= 5 * FILES + 150, counted
    assert counted["GETATTR"] <= 60, counted


def test_no_change_asks_nothing_for_a_file(source: Path, mounts: Mounts) -> None:
    run(source, mounts, "run-1")
    time.sleep(1.5)
    counted = run(source, mounts, "run-2")
    assert counted.total() <= 6 * DIRECTORIES + 30, counted
    # Six of them say whose the staging directory is, and that it is empty.
    assert counted.total() - counted["GETATTR"] <= 3 * DIRECTORIES + 24, counted
    assert counted["READDIR"] <= DIRECTORIES + 4, counted


def test_answers_hold_the_attributes_of_a_directory_s_entries_as_a_forecast_counts_them(mounts: Mounts) -> None:
    """EFS meters the bytes of an answer (efs/latest/ug/performance.html)."""
    entries = 1_000
    for directory in range(DIRECTORIES):
        (mounts.served / f"in/d{directory}").mkdir(parents=True)
        for number in range(entries):
            (mounts.served / f"in/d{directory}/{number:060d}").touch()
    tree, before = PosixTree(mounts.a, "in", "run-1", "n"), operations(figure=ANSWERED)
    with counting() as counted:
        assert sum(1 for _ in tree.list(Segment(""))) == DIRECTORIES * (entries + 1)
    answers = operations(figure=ANSWERED)
    each = (answers["READDIR"] - before["READDIR"]) / (DIRECTORIES * entries)
    assert 0.8 * LISTED_ENTRY_BYTES <= each <= LISTED_ENTRY_BYTES
    large = DIRECTORIES * entries * LISTED_ENTRY_BYTES / 100_000  # answers of a large directory, besides
    assert counted.total() <= (DIRECTORIES + 2) * LIST_OPERATIONS_PER_DIRECTORY + large, counted


def test_a_verification_reads_a_file_once(source: Path, mounts: Mounts) -> None:
    run(source, mounts, "run-1")
    counted = run(source, mounts, "run-2", {**REQUEST, "mode": "verify"})
    assert counted["READ"] == counted["CLOSE"] == FILES, counted
    assert counted.total() <= 5 * FILES + 6 * DIRECTORIES + 30, counted


def test_a_deletion_looks_once_and_removes(source: Path, mounts: Mounts) -> None:
    run(source, mounts, "run-1")
    gone = [path for path in source.rglob("f*") if int(path.name[1:]) % 10 == 0]
    for path in gone:
        path.unlink()
    counted = run(source, mounts, "run-2", {**REQUEST, "mode": "sync", "delete_guard": {"max_percent": 50.0}})
    assert counted["REMOVE"] <= len(gone) + 6, counted
    assert counted.total() <= 4 * len(gone) + 12 * DIRECTORIES + 40, counted


def test_a_publication_asks_for_access_before_each_link_as_a_forecast_counts(mounts: Mounts) -> None:
    world = PublishingWorld(run_id="v1", mount=mounts.a)
    assert isinstance(world.source, MemoryTree)
    for number in range(FILES):
        world.source.put(f"d{number % DIRECTORIES}/f{number}", Kind.FILE, b"bytes")
    world.publish()
    time.sleep(1.5)
    with counting() as counted:
        assert world.following("v2").publish()["published"]["linked"]["entries"] == FILES
    assert counted["LINK"] == FILES, counted
    assert FILES <= counted["ACCESS"] <= FILES + 60, counted  # those of directories; GETATTRs are a matter of time
    assert counted["LINK"] + counted["ACCESS"] <= LINK_OPERATIONS_PER_FILE * FILES, counted
