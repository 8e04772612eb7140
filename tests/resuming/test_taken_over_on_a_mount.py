"""A look at what an earlier run had done on a file system: directories, hard links, and files of the same size."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from tests.resuming.test_resume_on_a_mount import OLD_NS, assert_links, following, linked_source
from tests.support.mounts import REQUEST, files, fill, reasons, world_of


@pytest.mark.parametrize("times", [1, 2])
def test_what_was_deleted_or_changed_is_copied_again(tmp_path: Path, times: int) -> None:
    source = fill(tmp_path, *(f"d{number % 3}/e/f{number}" for number in range(30)), "top", "d0.txt")
    (source / "d1/link").symlink_to("e/f1")
    for directory in ("d0", "d0/e", "d2"):
        (source / directory).chmod(0o750)
        os.utime(source / directory, ns=(OLD_NS, OLD_NS))
    world, out = world_of(tmp_path), tmp_path / "out"
    assert world.run(REQUEST)["status"] == "SUCCEEDED"
    for number in range(1, times):
        world = following(world, tmp_path)
        assert world.run({"resume_from": f"run-{number}"})["totals"]["copied"]["entries"] == 0
        world.run_id = f"run-{number + 1}"
    shutil.rmtree(out / "d0")
    (out / "d1/e/f1").unlink()
    (out / "d1/link").unlink()
    (out / "top").write_text("longer than it was, by far")
    later = following(world, tmp_path)
    later.run_id = f"run-{times + 1}"
    summary = later.run({"resume_from": f"run-{times}", "verify": "copied"})
    assert summary["status"] == "SUCCEEDED"
    assert files(out) == files(source)
    assert os.readlink(out / "d1/link") == "e/f1"
    for directory in ("d0", "d0/e", "d2"):
        found = (out / directory).stat()
        assert (found.st_mtime_ns, found.st_mode & 0o777) == (OLD_NS, 0o750)
    assert summary["totals"]["copied"]["entries"] == 2 + 10 + 3


def test_a_file_of_the_same_size_with_another_mtime_is_copied_again(tmp_path: Path) -> None:
    source = fill(tmp_path, "a", "b", "c")
    world = world_of(tmp_path)
    world.run(REQUEST)
    (tmp_path / "out/b").write_text("content of x")
    summary = following(world, tmp_path).run({"resume_from": "run-1"})
    assert (summary["status"], summary["totals"]["copied"]["entries"]) == ("SUCCEEDED", 1)
    assert files(tmp_path / "out") == files(source)


@pytest.mark.parametrize("gone", ["d/first", "e/second", "e/other", "alone"])
def test_a_hard_link_that_was_deleted_is_made_again(tmp_path: Path, gone: str) -> None:
    linked_source(tmp_path)
    world = world_of(tmp_path)
    world.run(REQUEST)
    (tmp_path / "out" / gone).unlink()
    summary = following(world, tmp_path).run({"resume_from": "run-1"})
    assert summary["status"] == "SUCCEEDED"
    assert files(tmp_path / "out") == files(tmp_path / "in")
    assert_links(tmp_path / "out")


def test_another_kind_of_entry_in_its_place_is_no_success(tmp_path: Path) -> None:
    fill(tmp_path, "a", "b/c")
    world = world_of(tmp_path)
    world.run(REQUEST)
    (tmp_path / "out/a").unlink()
    (tmp_path / "out/a").mkdir()
    later = following(world, tmp_path)
    assert later.run({"resume_from": "run-1"})["status"] == "FAILED_WITH_ITEMS"
    assert reasons(later) == {"a": "destination has another kind of entry"}


def test_a_file_that_became_a_directory_at_the_source_is_listed_with_what_that_holds(tmp_path: Path) -> None:
    source = fill(tmp_path, "a", "b")
    world = world_of(tmp_path)
    world.run(REQUEST)
    later = following(world, tmp_path)
    later.run({"resume_from": "run-1"})
    (source / "a").unlink()
    fill(tmp_path, "a/f")
    (tmp_path / "out/a").unlink()
    last = following(world, tmp_path)
    last.run_id = "run-3"
    summary = last.run({"resume_from": "run-2"})
    assert (summary["status"], files(tmp_path / "out")) == ("SUCCEEDED", files(source))
