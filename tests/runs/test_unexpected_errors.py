"""An exception that nobody reckoned with is the outcome of the entry it met, and ends neither shard nor run."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest

from fanout.adapters.posix.tree import PosixTree
from fanout.deleting.begin_deletion import begin_deletion
from fanout.deleting.delete_shard import delete_shard
from fanout.model.entry import Attributes, Entry, Kind
from fanout.model.errors import LedgerBroken, TimeUp, problem_of
from fanout.model.outcome import Reason
from fanout.ports.tree import Source
from tests.support.flow import World
from tests.support.memory import MemoryTree
from tests.support.mounts import REQUEST, copied, files, fill, listed, reasons, world_of
from tests.support.syncs import copied as synced
from tests.support.syncs import deletions, ended, extended
from tests.support.two_mounts import TwoMounts

ODD = [RecursionError("maximum recursion depth exceeded"), ValueError("embedded null byte"), AssertionError()]
ODD += [UnicodeEncodeError("utf-8", "\ud800", 0, 1, "surrogates not allowed"), KeyError("x"), TypeError("t")]
UNEXPECTED = Reason.UNEXPECTED.value


def failing(error: BaseException, path: str, plain: Callable[..., Any]) -> Callable[..., Any]:
    """As ``plain``, but for one path."""

    def call(first: Any, *rest: Any, **more: Any) -> Any:
        if (first.path if isinstance(first, Entry) else first) == path:
            raise error
        return plain(first, *rest, **more)

    return call


@pytest.mark.parametrize("error", ODD, ids=lambda one: type(one).__name__)
@pytest.mark.parametrize("end", ["source", "destination"])
def test_an_exception_of_one_entry_fails_that_entry_in_a_copy(tmp_path: Path, error: Exception, end: str) -> None:
    source = fill(tmp_path, "a", "b", "d/c")
    (source / "b").write_bytes(b"1" * 100_000)  # not by the short way
    world = listed(tmp_path)
    tree, name = (world.source, "open") if end == "source" else (world.destination, "create")
    setattr(tree, name, failing(error, "b", getattr(tree, name)))
    summary = copied(world)
    assert summary["status"] == "FAILED_WITH_ITEMS"
    assert reasons(world) == {"b": UNEXPECTED}
    [row] = world.ledger.read_rows("failures.jsonl")
    assert row["message"].startswith(f"{type(error).__name__}: ")
    assert row["remedy"] == Reason.UNEXPECTED.remedy
    assert set(files(tmp_path / "out")) == {"a", "d/c"}


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(1), MemoryError(), LedgerBroken("no row")])
def test_what_is_about_the_task_ends_the_task(tmp_path: Path, error: BaseException) -> None:
    (fill(tmp_path, "b") / "b").write_bytes(b"1" * 100_000)
    world = listed(tmp_path)
    world.source.open = failing(error, "b", world.source.open)  # type: ignore[method-assign]
    with pytest.raises(type(error)):
        world.copy_all()


def test_a_raw_error_of_the_system_may_pass() -> None:
    assert problem_of(OSError(24, "Too many open files")).reason is Reason.TRANSIENT
    with pytest.raises(TimeUp):
        problem_of(TimeUp())


def test_an_exception_of_one_directory_leaves_the_others_their_attributes(tmp_path: Path) -> None:
    (fill(tmp_path, "a/f", "b/f") / "b").chmod(0o751)
    world = listed(tmp_path)
    tree = world.destination.file_system
    assert tree is not None
    tree.set_attributes = failing(RecursionError("deep"), "a/", tree.set_attributes)  # type: ignore[method-assign]
    summary = copied(world)
    assert summary["status"] == "FAILED_WITH_ITEMS"
    assert summary["notes"] == [f"the attributes of 1 directories could not be set: {UNEXPECTED}"]
    assert (tmp_path / "out/b").stat().st_mode & 0o777 == 0o751


def test_an_exception_of_one_name_fails_that_name(tmp_path: Path) -> None:
    source = fill(tmp_path, "a", "z")
    for number, name in enumerate("az"):
        os.link(source / name, source / f"further{number}")
    world = listed(tmp_path)
    files = world.destination.file_system
    assert files is not None
    files.link = failing(ValueError("v"), "further0", files.link)  # type: ignore[method-assign]
    assert copied(world)["status"] == "FAILED_WITH_ITEMS"
    assert reasons(world) == {"further0": UNEXPECTED}


@pytest.mark.parametrize("verify", ["copied", "all"])
@pytest.mark.parametrize("end", ["source", "destination"])
def test_an_exception_of_one_entry_fails_that_entry_in_a_verification(tmp_path: Path, verify: str, end: str) -> None:
    fill(tmp_path, "a", "b", "d/c")
    world = world_of(tmp_path)
    world.list_all(world.plan({**REQUEST, "verify": verify}))
    world.copy_all()
    world.finish_all()
    tree = world.source if end == "source" else world.destination
    tree.find_stored = failing(RecursionError("deep"), "b", tree.find_stored)  # type: ignore[method-assign]
    assert world.end(verify)["status"] == "FAILED_WITH_ITEMS"
    assert reasons(world) == {"b": UNEXPECTED}


def test_between_two_mounts_an_exception_of_one_entry_fails_that_entry_in_a_verification(tmp_path: Path) -> None:
    mounts = TwoMounts(tmp_path)
    for name in "ab":
        (mounts.source_root / name).write_text(name)
    source = mounts.world.source
    source.find_stored = failing(ValueError("odd"), "b", source.find_stored)  # type: ignore[method-assign]
    assert mounts.run({"verify": "all"})["status"] == "FAILED_WITH_ITEMS"
    assert mounts.failures() == {"b": UNEXPECTED}


def test_an_exception_of_one_extra_keeps_it(tmp_path: Path) -> None:
    world = synced(extended(tmp_path))
    begin_deletion(world.context())
    world.source.find_stored = failing(ValueError("odd"), "old", world.source.find_stored)  # type: ignore[method-assign]
    files = world.destination.file_system
    assert files is not None
    files.remove_directory = failing(  # type: ignore[method-assign]
        RecursionError("deep"), "gone/empty/", files.remove_directory
    )
    for shard in deletions(world):
        assert delete_shard(shard, world.context())["done"]
    summary = ended(world)
    assert summary["status"] == "FAILED_WITH_ITEMS"
    assert reasons(world) == {"old": UNEXPECTED, "gone/empty/": UNEXPECTED}
    assert (tmp_path / "out/old").exists()


class OddSource:
    """A source whose second block cannot be read."""

    def __init__(self, plain: Source) -> None:
        self._plain = plain
        self.attributes = plain.attributes
        self.confirm, self.close, self.zeros_at = plain.confirm, plain.close, plain.zeros_at

    def read(self, offset: int, length: int) -> bytes:
        if offset:
            raise RecursionError("deep")
        return self._plain.read(offset, length)

    def stream(self, offset: int, length: int) -> Generator[bytes]:
        yield self.read(offset, length)


@pytest.mark.parametrize("mode", ["copy", "verify"])
def test_an_exception_of_one_block_fails_its_file(tmp_path: Path, mode: str) -> None:
    source = MemoryTree(keeps_checksums=mode == "copy")  # a verification reads what tells none
    for name in ("big", "other"):
        source.put(name, Kind.FILE, b"1" * (17 << 20), Attributes())
    world = World(source=source, destination=PosixTree(tmp_path, "out", "run-1", "n"))
    request: Any = {"source": "s3://a-bucket/x/", "destination": "efs:///out", "limits": {"split_bytes": 8 << 20}}
    if mode == "verify":
        world.run(request)
        world = world.next_run("run-2")
    plain = source.open
    source.open = lambda entry: OddSource(plain(entry)) if entry.path == "big" else plain(entry)  # type: ignore
    summary = world.run({**request, "mode": mode})
    assert summary["status"] == "FAILED_WITH_ITEMS"
    assert reasons(world) == {"big": UNEXPECTED}
