"""mode: move: what changes, comes or fails while it runs, and what may not be listed or deleted."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fanout.deleting.begin_deletion import begin_deletion
from fanout.deleting.remove_directories import remove_directories
from fanout.model.errors import DeleteRefused
from fanout.model.outcome import Reason
from fanout.summary.summarise_transfer import summarise_transfer
from tests.support.mounts import world_of
from tests.support.moves import MOVE, compared, copied, filled, held, names, reasons
from tests.support.nobody import NOBODY, as_nobody, open_directory


def rewrite(mount: Path) -> None:
    """Other bytes with the size and the mtime that they had."""
    path = mount / "in/d0/e0/f6"
    before = path.stat()
    path.write_bytes(b"!" * before.st_size)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def replace_with_another(mount: Path) -> None:
    path = mount / "in/d0/e0/f6"
    before = path.stat()
    other = mount / "in/other"
    other.write_bytes(path.read_bytes())
    os.utime(other, ns=(before.st_atime_ns, before.st_mtime_ns))
    other.rename(path)


def lose_copy(mount: Path) -> None:
    (mount / "out/d0/e0/f6").unlink()


def cut_copy(mount: Path) -> None:
    (mount / "out/d0/e0/f6").write_bytes(b"")


@pytest.mark.parametrize(
    ("happens", "reason"),
    [
        (rewrite, "source changed"),
        (replace_with_another, "source changed"),
        (lose_copy, "missing at the destination"),
        (cut_copy, "destination changed"),
    ],
)
def test_what_changed_after_the_proof_stays(tmp_path: Path, happens: Callable[[Path], None], reason: str) -> None:
    filled(tmp_path)
    world = copied(tmp_path)
    inner = compared(world)
    happens(tmp_path)
    there = (tmp_path / "in/d0/e0/f6").read_bytes()
    inner.delete_all()
    summarise_transfer(None, world.context())
    summary = world.ledger.read_json("summary.json")
    assert summary["status"] == "FAILED_WITH_ITEMS"
    assert held(tmp_path / "in") == {"d0/e0/f6": there}
    assert reasons(world) == {"d0/e0/f6": reason}


def test_of_two_names_of_a_file_that_was_written_to_both_stay(tmp_path: Path) -> None:
    filled(tmp_path)
    world = copied(tmp_path)
    inner = compared(world)
    (tmp_path / "in/d1/name").write_bytes(b"longer than it was")
    inner.delete_all()
    summarise_transfer(None, world.context())
    assert set(held(tmp_path / "in")) == {"d1/name", "d0/e0/f0"}


def test_names_of_a_file_stay_where_it_was_opened_up_after_the_comparison(tmp_path: Path) -> None:
    """Neither does a write in place that sets the mtime back show in size or mtime, only in the ctime."""
    filled(tmp_path)
    world = copied(tmp_path)
    inner = compared(world)
    changed = tmp_path / "in/d1/name"
    found = changed.stat()
    changed.write_bytes(b"y" * found.st_size)
    os.utime(changed, ns=(found.st_atime_ns, found.st_mtime_ns))
    inner.delete_all()
    summarise_transfer(None, world.context())
    assert set(held(tmp_path / "in")) == {"d1/name", "d0/e0/f0"}
    assert set(reasons(world).values()) == {Reason.NAME_TOUCHED.value}


def test_what_comes_while_it_runs_is_left_to_the_next_one(tmp_path: Path) -> None:
    contents = filled(tmp_path)
    world = copied(tmp_path)
    (tmp_path / "in/d0/later").write_bytes(b"later")
    inner = compared(world)
    (tmp_path / "in/d1/latest").write_bytes(b"latest")
    inner.delete_all()
    summarise_transfer(None, world.context())
    summary = world.ledger.read_json("summary.json")
    assert summary["status"] == "SUCCEEDED", summary
    assert held(tmp_path / "in") == {"d0/later": b"later", "d1/latest": b"latest"}
    assert names(tmp_path / "in") == {"d0", "d1", "d0/later", "d1/latest"}
    assert world_of(tmp_path, "run-2").run(MOVE)["status"] == "SUCCEEDED"
    assert held(tmp_path / "out") == contents | {"d0/later": b"later", "d1/latest": b"latest"}


def test_an_entry_that_fails_stays_and_the_others_go(tmp_path: Path) -> None:
    filled(tmp_path)
    (tmp_path / "out/d0/e0/f6").mkdir(parents=True)  # another kind stands in its place
    world = world_of(tmp_path)
    summary = world.run(MOVE)
    assert summary["status"] == "FAILED_WITH_ITEMS"
    assert set(held(tmp_path / "in")) == {"d0/e0/f6"}
    assert names(tmp_path / "in") == {"d0", "d0/e0", "d0/e0/f6"}
    rows = [row for row in world.ledger.read_rows("failures.jsonl") if row["path"] == "d0/e0/f6"]
    assert rows[0]["reason"] == "destination has another kind of entry"


def moved_by_nobody(closed: str, mode: int) -> list[Any]:
    """A move by a user for whom a directory of the source is closed: status, what is left, reasons."""
    with open_directory() as mount:
        contents = filled(mount)
        for path in [mount, *mount.rglob("*")]:
            os.lchown(path, NOBODY, NOBODY)
        (mount / closed).chmod(mode)

        def run() -> Any:
            world = world_of(mount)
            return [world.run(MOVE)["status"], reasons(world)]

        status, why = as_nobody(run)
        (mount / closed).chmod(0o755)
        return [status, contents, held(mount / "in"), why]


def test_where_a_directory_cannot_be_listed_nothing_goes() -> None:
    status, contents, left, why = moved_by_nobody("in/d1", 0)
    assert status == "FAILED_WITH_ITEMS"
    assert left == contents
    assert why["d1/"] == "directory cannot be listed"


def test_where_nothing_may_be_deleted_the_entries_say_so() -> None:
    status, contents, left, why = moved_by_nobody("in/d1/e1", 0o555)
    assert status == "FAILED_WITH_ITEMS"
    assert left == {path: data for path, data in contents.items() if path.startswith("d1/e1/")}
    assert {reason for path, reason in why.items() if path in left} == {"cannot be deleted at the source"}


@pytest.mark.parametrize("phase", ["copy", "comparison"])
def test_after_an_incomplete_listing_nothing_goes(tmp_path: Path, phase: str) -> None:
    contents = filled(tmp_path)
    world = copied(tmp_path)
    inner = compared(world)
    ledger = world.ledger if phase == "copy" else inner.ledger
    done = ledger.read_json("segments/round-0001-done.json")
    ledger.write_json("segments/round-0001-done.json", {**done, "complete": False})
    inner.delete_all()
    assert held(tmp_path / "in") == contents
    (note,) = world.ledger.read_json("notes/delete.json")["notes"]
    assert note.startswith("nothing was deleted at the source: a part of")
    assert phase in note


@pytest.mark.parametrize(("most", "refused"), [(24, True), (25, False)])
def test_the_guard_holds_before_anything_is_copied(tmp_path: Path, most: int, refused: bool) -> None:
    contents = filled(tmp_path)
    request = {**MOVE, "delete_guard": {"max_count": most}}
    if not refused:
        assert world_of(tmp_path).run(request)["status"] == "SUCCEEDED"
        return
    with pytest.raises(DeleteRefused, match=r"25 entries at the source, over delete_guard\.max_count 24"):
        world_of(tmp_path).run(request)
    assert held(tmp_path / "in") == contents
    assert held(tmp_path / "out") == {}


def test_the_guard_holds_for_what_came_to_be_proven_since(tmp_path: Path) -> None:
    filled(tmp_path)
    world = copied(tmp_path, {**MOVE, "delete_guard": {"max_count": 25}})
    for end in ("in", "out"):
        (tmp_path / end / "more").write_bytes(b"more")
        os.utime(tmp_path / end / "more", ns=(5, 5))
    inner = compared(world)
    before = held(tmp_path / "in")
    with pytest.raises(DeleteRefused, match="nothing was deleted"):
        begin_deletion(inner.context())
    remove_directories(inner.context(), broken=True)
    assert held(tmp_path / "in") == before
    assert not list((tmp_path / "in").glob(".fanout*"))
