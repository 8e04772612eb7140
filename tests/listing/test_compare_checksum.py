"""compare: checksum: what holds the same bytes is left alone, whatever its times say."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fanout.facts import aws, tuning
from fanout.model.document import Json
from fanout.model.entry import Kind
from tests.support.flow import World
from tests.support.memory import MemoryTree
from tests.support.mounts import world_of

REQUEST: Json = {"source": "efs:///in", "destination": "efs:///out", "compare": "checksum"}


def write(root: Path, files: dict[str, bytes]) -> None:
    for path, data in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(data)


@pytest.mark.parametrize("size", [1, aws.SYMLINK_TARGET_BYTES + 1])
def test_equal_bytes_are_unchanged_and_others_copied(tmp_path: Path, size: int) -> None:
    files = {"same": b"a" * size, "other": b"b" * size, "longer": b"c" * (size + 1), "new": b"d"}
    write(tmp_path / "in", files)
    write(tmp_path / "out", {"same": b"a" * size, "other": b"x" * size, "longer": b"c" * size})
    for name in ("same", "other"):
        os.utime(tmp_path / "out" / name, ns=(1, 1))
        os.utime(tmp_path / "in" / name, ns=(1, 1))
    before = (tmp_path / "out/same").stat().st_ino
    summary = world_of(tmp_path).run(REQUEST)
    assert summary["status"] == "SUCCEEDED", summary
    assert summary["totals"]["copied"]["entries"] == 3
    assert summary["totals"]["unchanged"]["entries"] == 1
    assert {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()} == files
    assert (tmp_path / "out/same").stat().st_ino == before


def test_a_symlink_and_a_file_that_holds_its_target_are_not_the_same(tmp_path: Path) -> None:
    write(tmp_path / "in", {"link": b"target", "keeps": b"x"})
    (tmp_path / "out").mkdir()
    (tmp_path / "out/link").symlink_to("target")
    (tmp_path / "in/other").symlink_to("target")
    write(tmp_path / "out", {"other": b"target"})
    (tmp_path / "in/right").symlink_to("target")
    (tmp_path / "out/right").symlink_to("target")
    summary = world_of(tmp_path).run(REQUEST)
    assert summary["totals"]["unchanged"]["entries"] == 1
    assert (tmp_path / "out/link").read_bytes() == b"target" and not (tmp_path / "out/link").is_symlink()
    assert (tmp_path / "out/other").is_symlink()


def test_a_big_file_of_the_same_size_is_compared_and_one_beyond_the_limit_copied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tuning, "COMPARE_BYTES", tuning.BLOCK_BYTES + 1)
    for root in ("in", "out"):
        write(tmp_path / root, {"big": b"x" * (tuning.BLOCK_BYTES + 1), "bigger": b"x" * (tuning.BLOCK_BYTES + 2)})
    summary = world_of(tmp_path).run({**REQUEST, "limits": {"split_bytes": tuning.BLOCK_BYTES}})
    assert summary["status"] == "SUCCEEDED", summary
    assert summary["totals"]["unchanged"]["entries"] == 1
    assert summary["totals"]["copied"] == {"entries": 1, "bytes": tuning.BLOCK_BYTES + 2}


def test_names_of_one_file_are_copied_and_linked(tmp_path: Path) -> None:
    write(tmp_path / "in", {"a": b"x"})
    os.link(tmp_path / "in/a", tmp_path / "in/b")
    world_of(tmp_path).run(REQUEST)
    summary = world_of(tmp_path, "run-2").run(REQUEST)
    assert summary["status"] == "SUCCEEDED", summary
    assert (tmp_path / "out/a").stat().st_ino == (tmp_path / "out/b").stat().st_ino


def test_between_stores_that_keep_no_times() -> None:
    world = World()
    assert isinstance(world.source, MemoryTree) and isinstance(world.destination, MemoryTree)
    for path, there in (("same", b"abc"), ("other", b"xyz")):
        world.destination.put(path, Kind.FILE, there)
        world.source.put(path, Kind.FILE, b"abc")
    summary = world.run({"source": "s3://a-bucket/", "destination": "efs:///copy", "compare": "checksum"})
    assert summary["totals"]["unchanged"]["entries"] == summary["totals"]["copied"]["entries"] == 1


def test_a_directory_renamed_over_another_is_seen_without_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """size-mtime between file systems: files that come with a renamed directory have an old ctime."""
    monkeypatch.setattr("fanout.listing.deciding.decisions.MARGIN_NS", 0)  # all is written within a second here
    write(tmp_path / "in", {"d/file": b"old", "e/file": b"new"})
    for name, seconds in (("d", 100), ("e", 200)):
        os.utime(tmp_path / f"in/{name}/file", ns=(1, seconds * 10**9))
    plain = {**REQUEST, "compare": "size-mtime"}
    world_of(tmp_path).run(plain)
    (tmp_path / "in/d").rename(tmp_path / "in/gone")
    (tmp_path / "in/e").rename(tmp_path / "in/d")
    world_of(tmp_path, "run-2").run(plain)
    assert (tmp_path / "out/d/file").read_bytes() == b"new"
