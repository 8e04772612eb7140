"""Whole runs that publish after somebody touched the published version: what was touched is copied again."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from fanout.copying.linking import SEALED
from fanout.facts import tuning
from fanout.ledger import keys
from fanout.model.document import Json
from tests.runs.test_publish import put, world
from tests.runs.test_publish_attacks import WITHIN, on_a_mount
from tests.support.publishing import REQUEST, PublishingWorld, held, rollback_to

__all__ = ["world"]


def evil(path: Path) -> None:
    """A symlink with the length and the mtime of the file in whose place it stands."""
    found = path.lstat()
    path.unlink()
    path.symlink_to("x" * found.st_size)
    os.utime(path, ns=(found.st_mtime_ns, found.st_mtime_ns), follow_symlinks=False)


@pytest.mark.parametrize("origin", ["bucket", "mount"])
@pytest.mark.parametrize("touch", [evil, lambda path: path.chmod(0o666)], ids=["symlink", "mode"])
def test_a_file_of_the_live_version_that_somebody_touched_is_copied(
    world: PublishingWorld, tmp_path: Path, origin: str, touch: Callable[[Path], None]
) -> None:
    request, directories = REQUEST, 0
    if origin == "mount":
        world, request, directories = on_a_mount(tmp_path), WITHIN, 2
    world.publish(request)
    mode = (world.current / "a.txt").stat().st_mode
    touch(world.current / "a.txt")
    for run_id, copied in (("v2", 1), ("v3", 0)):
        totals = world.following(run_id).publish(request)["totals"]
        assert {name: totals[name]["entries"] for name in ("copied", "unchanged")} == {
            "copied": directories + copied,
            "unchanged": 3 - copied,
        }
        assert (world.current / "a.txt").lstat().st_mode == mode
        assert held(world.current) == {"a.txt": "a", "d/b.txt": "b", "d/e/c.txt": "c"}


def test_a_big_file_is_linked_and_copied_once_it_was_touched(world: PublishingWorld) -> None:
    request = {**REQUEST, "limits": {"split_bytes": tuning.BLOCK_BYTES, "shard_seconds": 0.1}}
    put(world, "big", "b" * (tuning.BLOCK_BYTES + 1))
    world.publish(request)
    assert any("big-files" in key for key in world.ledger.keys(keys.MADE))
    assert world.following("v2").publish(request)["totals"]["copied"]["entries"] == 0
    (world.current / "big").chmod(0o666)
    assert world.following("v3").publish(request)["totals"]["copied"]["entries"] == 1
    assert (world.current / "big").stat().st_mode & 0o777 == 0o644


def test_a_version_whose_record_cannot_be_read_is_copied(world: PublishingWorld) -> None:
    world.publish()
    (key,) = world.ledger.keys(keys.MADE)
    world.ledger.write_bytes(key, b"not whole")
    summary = world.following("v2").publish()
    assert (summary["status"], summary["totals"]["copied"]["entries"]) == ("SUCCEEDED", 3)
    assert "a record of version v1 cannot be read, what it is about is copied" in str(summary["notes"])


def rewritten(path: Path, text: str = "?") -> None:
    """Other bytes of the same size in the same file, with its mtime set back: only the ctime tells."""
    time.sleep(0.02)  # a ctime moves with the kernel's clock, every few milliseconds
    found = path.stat()
    path.write_text(text)
    os.utime(path, ns=(found.st_mtime_ns, found.st_mtime_ns))


def counts(summary: Json) -> tuple[int, int]:
    """Entries copied and unchanged of a run that succeeded."""
    assert summary["status"] == "SUCCEEDED", summary
    return summary["totals"]["copied"]["entries"], summary["totals"]["unchanged"]["entries"]


def test_a_file_of_the_live_version_that_was_rewritten_with_its_mtime_is_copied_once(world: PublishingWorld) -> None:
    world.publish()
    rewritten(world.current / "a.txt")
    assert counts(world.following("v2").publish()) == (1, 2)
    assert counts(world.following("v3").publish()) == (0, 3)
    rewritten(world.current / "a.txt")
    rewritten(world.current / "d/b.txt")
    assert counts(world.following("v4").publish()) == (2, 1)
    assert held(world.current) == {"a.txt": "a", "d/b.txt": "b", "d/e/c.txt": "c"}


def test_a_file_whose_directory_was_replaced_by_an_older_one_is_copied(world: PublishingWorld) -> None:
    world.publish()
    before = world.current / "d/e"
    older = world.mount / "older"
    shutil.copytree(before, older)
    (older / "c.txt").write_text("?")
    shutil.copystat(before / "c.txt", older / "c.txt")
    world = world.following("v2")
    time.sleep(0.02)
    assert counts(world.publish()) == (0, 3)  # its seal is later than what stands aside
    (world.current / "d/e").rename(world.mount / "aside")
    older.rename(world.current / "d/e")
    assert counts(world.following("v3").publish()) == (1, 2)
    assert held(world.current)["d/e/c.txt"] == "c"


@pytest.mark.parametrize("when", ["while another is live", "after the rollback"])
def test_a_file_that_was_rewritten_around_a_rollback_is_copied(world: PublishingWorld, when: str) -> None:
    world.publish()
    first = world.current
    put(world, "n.txt", "n")
    assert counts(world.following("v2").publish()) == (1, 3)
    if when == "while another is live":
        rewritten(first / "a.txt")
    world.following("back").publish(rollback_to("v1"))
    if when == "after the rollback":
        rewritten(first / "a.txt")
    copied, unchanged = counts(world.following("v3").publish())
    assert (copied, unchanged) == (2, 2)  # and n.txt, which v1 does not hold
    assert held(world.current) == {"a.txt": "a", "d/b.txt": "b", "d/e/c.txt": "c", "n.txt": "n"}


def test_what_a_run_that_failed_had_linked_is_linked_by_the_next_one(world: PublishingWorld) -> None:
    """Its links moved the ctimes; its record says so."""
    world.publish()
    second = world.following("v2")
    second.list_all(second.plan(REQUEST))
    second.copy_all()  # and then it was stopped
    rewritten(world.current / "a.txt")
    assert counts(world.following("v3").publish()) == (1, 2)
    assert counts(world.following("v4").publish()) == (0, 3)


def test_versions_that_go_move_the_ctimes_of_files_that_stay_linked(world: PublishingWorld) -> None:
    request = {**REQUEST, "publish": {**REQUEST["publish"], "keep": 1}}
    world.publish(request)
    for number in range(2, 5):
        assert counts(world.following(f"v{number}").publish(request)) == (0, 3)
    rewritten(world.current / "a.txt")
    assert counts(world.following("v5").publish(request)) == (1, 2)


@pytest.mark.parametrize("broken", [b"not whole", None], ids=["broken", "missing"])
def test_without_the_time_of_its_end_what_a_run_copied_is_copied_again(
    world: PublishingWorld, broken: bytes | None
) -> None:
    """What it had linked has a ctime of its own in the record."""
    world.publish()
    put(world, "n.txt", "n")
    second = world.following("v2")
    assert counts(second.publish()) == (1, 3)
    if broken is None:
        world.store.remove([f"{second.ledger.prefix}{SEALED}"])
    else:
        second.ledger.write_bytes(SEALED, broken)
    assert counts(world.following("v3").publish()) == (1, 3)


def test_a_resumed_run_copies_what_the_stopped_one_had_linked_and_somebody_removed(world: PublishingWorld) -> None:
    world.publish()
    second = world.following("v2")
    second.list_all(second.plan(REQUEST))
    second.copy_all()
    time.sleep(0.02)  # a ctime moves with the kernel's clock, every few milliseconds
    (world.mount / "site/versions/v2/a.txt").unlink()
    third = world.following("again")
    copied, _ = counts(third.publish({"resume_from": "v2"}))
    assert (copied, held(world.current)["a.txt"]) == (1, "a")


def rolled_back_to(world: PublishingWorld, version: str) -> str:
    """The note of a rollback on the version that it publishes again."""
    summary = world.following(f"back-{next(world.nonces)}").publish(rollback_to(version))
    assert (summary["status"], summary["published"]["version"]) == ("SUCCEEDED", version)
    notes: list[str] = [note for note in summary["notes"] if "this version" in note]
    [said] = notes
    return said


TOUCHED: dict[str, tuple[Callable[[Path], object], str]] = {
    "mode": (lambda path: path.chmod(0o600), "mode"),
    "size": (lambda path: path.write_text("longer"), "size, mtime"),
    "mtime": (lambda path: os.utime(path, ns=(7, 7)), "mtime"),
    "gone": (Path.unlink, "gone"),
    "symlink": (evil, "mode"),
    "another file": (
        lambda path: (path.rename(path.with_name("x")), shutil.copy2(path.with_name("x"), path)),
        "replaced",
    ),
}


@pytest.mark.parametrize("touch", TOUCHED)
def test_a_rollback_says_what_of_its_version_somebody_touched(world: PublishingWorld, touch: str) -> None:
    world.publish()
    first = world.current
    put(world, "n.txt", "n")
    world.following("v2").publish()
    act, said = TOUCHED[touch]
    act(first / "d/b.txt")
    assert rolled_back_to(world, "v1").startswith(
        "of 3 entries of this version 1 are not as its run recorded them: d/b.txt ("
    )
    assert said in rolled_back_to(world, "v1")


def test_a_rollback_to_a_version_that_nobody_touched_says_so(world: PublishingWorld) -> None:
    """Its files have moved ctimes: the next version has names of them."""
    world.publish()
    world.following("v2").publish()
    assert rolled_back_to(world, "v1") == "3 entries of this version are as its run recorded them"
    world.store.remove([f"{world.ledger.prefix}{key}" for key in world.ledger.keys(keys.MADE)])
    world.following("v3").publish()
    assert "nobody looked" in rolled_back_to(world, "v1")


def test_a_rollback_names_five_of_many_and_counts_them_once(world: PublishingWorld) -> None:
    """Of an entry that two attempts made, either record will do."""
    for number in range(8):
        put(world, f"f{number}", "f")
    second = world.following("v1")
    second.list_all(second.plan(REQUEST))
    second.copy_all()
    world.store.remove([f"{second.ledger.prefix}{key}" for key in second.ledger.keys("outcomes/shards/")])
    second.copy_all()  # another attempt copies all of it once more
    second.finish_all(deletes=True)
    second.switch()
    second.end()
    world.following("v2").publish()
    assert "of this version are as" in rolled_back_to(world, "v1")
    for number in range(8):
        (world.mount / f"site/versions/v1/f{number}").chmod(0o600)
    said = rolled_back_to(world, "v1")
    assert " 8 are not as its run recorded them: f0 (mode); " in said and said.endswith("; and 3 more")


def test_a_version_that_a_resumed_run_finished_is_looked_at_by_both_records(world: PublishingWorld) -> None:
    first = world.following("v1")
    first.list_all(first.plan(REQUEST))
    first.copy_all()
    (world.mount / "site/versions/v1/a.txt").unlink()
    world.following("again").publish({"resume_from": "v1"})
    world.following("v2").publish()
    assert "of this version are as its run recorded them" in rolled_back_to(world, "v1")
    (world.mount / "site/versions/v1/a.txt").chmod(0o600)
    assert "a.txt (mode)" in rolled_back_to(world, "v1")
