"""Directories that their owner may not write to (0555, as Go, Nix and ``chmod -w`` make them), as a plain user."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec import convert

from fanout.copying.copy_shard import copy_shard
from fanout.model.document import Json
from fanout.model.shard import Shard
from fanout.partition.partition_shards import partition_shards
from tests.support.flow import World
from tests.support.mounts import REQUEST, reasons, world_of
from tests.support.nobody import NOBODY, as_nobody, open_directory

SYNC = {**REQUEST, "mode": "sync", "delete_guard": {"max_percent": 99.0}, "verify": "all"}


@pytest.fixture
def mount() -> Iterator[Path]:
    with open_directory() as path:
        for name in ("in", "out"):
            (path / name).mkdir()
        if not os.geteuid():
            for one in (path, path / "in", path / "out"):
                os.chown(one, NOBODY, NOBODY)
        yield path


def write(root: Path, files: dict[str, str]) -> None:
    """Write files, and take the right to write from every directory; the older ones are opened for that."""
    change(root, 0o755)
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    change(root, 0o555)


def change(root: Path, mode: int) -> None:
    """Give every directory below a root a mode."""
    for directory, names, _ in os.walk(root):
        for name in names:
            if not name.startswith(".fanout"):
                Path(directory, name).chmod(mode)


def modes(root: Path) -> dict[str, str]:
    found = {}
    for directory, names, _ in os.walk(root):
        for name in names:
            path = Path(directory, name)
            found[str(path.relative_to(root))] = f"{stat.S_IMODE(path.lstat().st_mode):o}"
    return found


def texts(root: Path) -> dict[str, str]:
    return {str(path.relative_to(root)): path.read_text() for path in sorted(root.rglob("*")) if path.is_file()}


def ran(world: World, request: Json) -> tuple[str, dict[str, str]]:
    return world.run(request)["status"], reasons(world)


def after(earlier: World, run_id: str) -> World:
    """A later run, which sees the ledgers of those before."""
    mount = Path(earlier.destination._directories.base)  # type: ignore[attr-defined]
    later = world_of(mount, run_id)
    later.store, later.clock = earlier.store, earlier.clock
    return later


def copied(world: World) -> World:
    """A run that ends without a word when its copies are made."""
    world.list_all(world.plan(SYNC))
    partition_shards(world.context())
    for row in world.ledger.read_json("shards.json"):
        copy_shard(convert(row["shard"], Shard), world.context())
    return world


def test_a_sync_puts_in_replaces_and_deletes_and_leaves_the_modes_as_they_are(mount: Path) -> None:
    def run() -> Any:
        write(mount / "in", {"m/a": "1", "m/b": "1", "m/d/c": "1", "other/x": "1"})
        ends = [ran(world_of(mount, "run-1"), SYNC)]
        write(mount / "in", {"m/a": "22", "m/new": "2", "m/e/f": "2"})
        change(mount / "in", 0o755)
        (mount / "in/m/b").unlink()
        (mount / "in/m/d/c").unlink()
        (mount / "in/m/d").rmdir()
        change(mount / "in", 0o555)
        ends += [ran(world_of(mount, "run-2"), SYNC), ran(world_of(mount, "run-3"), SYNC)]
        return ends, texts(mount / "out"), modes(mount / "out")

    ends, files, found = as_nobody(run)
    assert ends == [["SUCCEEDED", {}]] * 3
    assert files == {"m/a": "22", "m/new": "2", "m/e/f": "2", "other/x": "1"}
    assert found == {"m": "555", "m/e": "555", "other": "555"}


def test_a_directory_that_no_entry_names_gets_its_mode_back(mount: Path) -> None:
    """The file changes and its directory does not: no entry of the run sets the directory's mode."""

    def run() -> Any:
        write(mount / "in", {"m/a": "1"})
        first = ran(world_of(mount, "run-1"), SYNC)
        change(mount / "in", 0o755)
        (mount / "in/m/a").write_text("22")
        change(mount / "in", 0o555)
        os.utime(mount / "in/m", ns=(1, (mount / "out/m").stat().st_mtime_ns))
        return first, ran(world_of(mount, "run-2"), SYNC), texts(mount / "out"), modes(mount / "out")

    assert as_nobody(run) == [["SUCCEEDED", {}], ["SUCCEEDED", {}], {"m/a": "22"}, {"m": "555"}]


def test_the_mode_of_the_source_wins_over_the_one_from_before(mount: Path) -> None:
    def run() -> Any:
        write(mount / "in", {"m/a": "1"})
        first = ran(world_of(mount, "run-1"), SYNC)
        write(mount / "in", {"m/b": "1"})
        (mount / "in/m").chmod(0o755)
        return first, ran(world_of(mount, "run-2"), SYNC), modes(mount / "out")

    assert as_nobody(run) == [["SUCCEEDED", {}], ["SUCCEEDED", {}], {"m": "755"}]


@pytest.mark.parametrize("again", [False, True], ids=["another tree's change", "the same change"])
def test_the_next_run_closes_what_a_dead_one_opened(mount: Path, again: bool) -> None:
    def run() -> Any:
        write(mount / "in", {"m/a": "1", "n/a": "1"})
        ran(first := world_of(mount, "run-1"), SYNC)
        write(mount / "in", {"m/a": "22"})
        copied(second := after(first, "run-2"))
        opened = modes(mount / "out")
        write(mount / "in", {"m/a": "333"} if again else {"n/a": "333"})
        return opened["m"], ran(after(second, "run-3"), SYNC), modes(mount / "out")

    assert as_nobody(run) == ["755", ["SUCCEEDED", {}], {"m": "555", "n": "555"}]


def test_the_right_is_given_to_the_owner_alone(mount: Path) -> None:
    def run() -> Any:
        write(mount / "in", {"m/a": "1"})
        (mount / "in/m").chmod(0o550)
        ran(world_of(mount, "run-1"), SYNC)
        write(mount / "in", {"m/b": "22"})
        (mount / "in/m").chmod(0o550)
        copied(world_of(mount, "run-2"))
        return {path: mode for path, mode in modes(mount / "out").items() if not path.startswith(".")}

    assert as_nobody(run) == {"m": "750"}


@pytest.mark.skipif(bool(os.geteuid()), reason="gives a directory to another user")
def test_the_directory_of_another_user_stays_closed(mount: Path) -> None:
    (mount / "out/m").mkdir(mode=0o555)
    (mount / "out/m").chmod(0o555)

    def run() -> Any:
        write(mount / "in", {"m/a": "1"})
        return [*ran(world_of(mount, "run-1"), REQUEST), modes(mount / "out")]

    found = as_nobody(run)
    assert found[1]["m/a"] == "destination cannot be written"
    assert found[2] == {"m": "555"}


NOTES: dict[str, Callable[[Path], object]] = {
    "garbage": lambda notes: (notes / ("0" * 64)).write_bytes(b"777 m/"),
    "a symlink": lambda notes: (notes / "link").symlink_to("/etc/passwd"),
    "a directory": lambda notes: (notes / "directory").mkdir(),
    "half of a note": lambda notes: (notes / f"{'0' * 64}-1-ab").write_bytes(b"55"),
}


@pytest.mark.parametrize("note", NOTES.values(), ids=NOTES)
def test_what_is_not_a_whole_note_is_left_out(mount: Path, note: Callable[[Path], object]) -> None:
    def run() -> Any:
        write(mount / "in", {"m/a": "1"})
        ran(first := world_of(mount, "run-1"), SYNC)
        write(mount / "in", {"m/a": "22"})
        copied(second := after(first, "run-2"))
        [notes] = (mount / "out").glob(".fanout-staging-run-2/*opened")
        note(notes)
        return ran(after(second, "run-3"), SYNC), modes(mount / "out")

    assert as_nobody(run) == [["SUCCEEDED", {}], {"m": "555"}]
