"""Placing: what stands at the place of a staged file decides what becomes of the two."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from fanout.adapters.posix.backup import Backup
from fanout.adapters.posix.fencing.fencing_token import FencingToken
from fanout.adapters.posix.fencing.placed_files import PlacedFiles
from fanout.adapters.posix.paths.directories import Directories
from fanout.adapters.posix.placing import Placing
from fanout.model.errors import ItemError
from fanout.model.outcome import Reason
from fanout.request.options import Overwrite

LEAVING = (Overwrite.NEVER, Overwrite.IF_NEWER)
NS = 1_700_000_000_000_000_000


@contextmanager
def staged(tmp_path: Path, data: bytes | None, target: str = "") -> Iterator[tuple[int, int]]:
    """The descriptors of a directory with a staged file or symlink, and of the one where its place is."""
    for name in ("staged", "tree/there"):
        (tmp_path / name).mkdir(parents=True, exist_ok=True)
    new = tmp_path / "staged/new"
    if data is None:
        new.symlink_to(target)
    else:
        new.write_bytes(data)
    os.utime(new, ns=(NS, NS), follow_symlinks=False)
    opened = [os.open(tmp_path / name, os.O_RDONLY) for name in ("staged", "tree")]
    try:
        yield opened[0], opened[1]
    finally:
        for descriptor in opened:
            os.close(descriptor)


def noted(tmp_path: Path) -> PlacedFiles:
    """The files with further names that a run put in their places: none yet."""
    directories = Directories(str(tmp_path))
    token = FencingToken(directories, "", "run-1")
    token.make()
    return PlacedFiles(directories, token)


def place(tmp_path: Path, overwrite: Overwrite, here: int, there: int) -> None:
    Placing(Directories(str(tmp_path / "tree")), overwrite).place(here, "new", there, "a", noted(tmp_path))


def put(path: Path, data: bytes) -> None:
    path.write_bytes(data)
    os.utime(path, ns=(NS, NS))


@pytest.mark.parametrize("overwrite", LEAVING)
def test_the_same_file_of_an_attempt_before_counts_as_placed(tmp_path: Path, overwrite: Overwrite) -> None:
    with staged(tmp_path, b"ours") as (here, there):
        put(tmp_path / "tree/a", b"ours")
        place(tmp_path, overwrite, here, there)
    assert (tmp_path / "tree/a").read_bytes() == b"ours"
    assert not (tmp_path / "staged/new").exists()


@pytest.mark.parametrize("overwrite", LEAVING)
def test_further_names_are_linked_to_the_same_file_of_another_run(tmp_path: Path, overwrite: Overwrite) -> None:
    with staged(tmp_path, b"ours") as (here, there):
        put(tmp_path / "tree/a", b"ours")
        placed, found = noted(tmp_path), (tmp_path / "tree/a").stat()
        placed.note("a", (tmp_path / "staged/new").stat())
        Placing(Directories(str(tmp_path / "tree")), overwrite).place(here, "new", there, "a", placed)
        placed.require("a", found)
    assert (tmp_path / "tree/a").stat().st_ino == found.st_ino
    assert not (tmp_path / "staged/new").exists()


@pytest.mark.parametrize("overwrite", LEAVING)
def test_no_name_is_linked_to_a_file_with_another_mode(tmp_path: Path, overwrite: Overwrite) -> None:
    with staged(tmp_path, b"ours") as (here, there):
        put(tmp_path / "tree/a", b"ours")
        (tmp_path / "tree/a").chmod(0o666)
        placed = noted(tmp_path)
        placed.note("a", (tmp_path / "staged/new").stat())
        with pytest.raises(ItemError, match="owner or mode") as raised:
            Placing(Directories(str(tmp_path / "tree")), overwrite).place(here, "new", there, "a", placed)
        assert raised.value.reason is Reason.KEPT
        with pytest.raises(ItemError, match="others wrote there"):
            placed.require("a", (tmp_path / "tree/a").stat())


@pytest.mark.parametrize("overwrite", LEAVING)
def test_a_file_of_the_same_size_and_mtime_with_other_bytes_is_kept(tmp_path: Path, overwrite: Overwrite) -> None:
    with staged(tmp_path, b"ours") as (here, there):
        put(tmp_path / "tree/a", b"them")
        with pytest.raises(ItemError, match="other bytes") as raised:
            place(tmp_path, overwrite, here, there)
    assert raised.value.reason is Reason.KEPT
    assert (tmp_path / "tree/a").read_bytes() == b"them"


@pytest.mark.parametrize("overwrite", LEAVING)
def test_symlinks_are_told_apart_by_their_targets(tmp_path: Path, overwrite: Overwrite) -> None:
    with staged(tmp_path, None, "one") as (here, there):
        (tmp_path / "tree/a").symlink_to("two")
        os.utime(tmp_path / "tree/a", ns=(NS, NS), follow_symlinks=False)
        with pytest.raises(ItemError, match="other bytes"):
            place(tmp_path, overwrite, here, there)
        (tmp_path / "tree/a").unlink()
        (tmp_path / "tree/a").symlink_to("one")
        os.utime(tmp_path / "tree/a", ns=(NS, NS), follow_symlinks=False)
        place(tmp_path, overwrite, here, there)


@pytest.mark.parametrize("data", [b"ours", None])
@pytest.mark.parametrize("overwrite", list(Overwrite))
def test_a_directory_at_the_place_is_another_kind_of_entry(
    tmp_path: Path, overwrite: Overwrite, data: bytes | None
) -> None:
    kept = Directories(str(tmp_path))
    with staged(tmp_path, data, "nowhere") as (here, there), pytest.raises(IsADirectoryError):
        Placing(kept, overwrite, Backup(kept, "tree/", "kept/", "r1")).place(
            here, "new", there, "tree/there", noted(tmp_path)
        )
    kept.close()
    assert (tmp_path / "tree/there").is_dir()
