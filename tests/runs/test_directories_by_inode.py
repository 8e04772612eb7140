"""A local user who may rename at the root of the destination puts a private directory in the place of one of the run.

What the run gives a directory goes to the one that it listed or made, and its files are under their names, or it fails.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from fanout.adapters.posix.tree import PosixTree
from fanout.model.document import Json
from fanout.model.entry import Attributes, Kind
from fanout.model.outcome import Reason
from fanout.work.context import Context
from tests.support.hidden_writes import Watched
from tests.support.memory import MemoryTree
from tests.support.memory_store import MemoryStore
from tests.support.mounts import reasons
from tests.support.nobody import NOBODY, as_nobody, open_directory

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs two users")

FROM_KEYS: Json = {"source": "s3://a-bucket/x/", "destination": "efs:///out"}
WITHIN: Json = {"source": "efs:///in", "destination": "efs:///out"}
MOMENTS = ["PartitionShards", "CopyShards", "FinishTree"]


@dataclass
class Functions(Watched):
    """A run each of whose functions opens its trees anew, as functions do, or none (``is_one``)."""

    mount: Path = Path()
    keys: MemoryTree | None = None
    is_one: bool = False
    options: Json = field(default_factory=dict)
    numbers: Iterator[int] = field(default_factory=itertools.count)

    def __post_init__(self) -> None:
        """Its first trees."""
        self._open()
        super().__post_init__()

    def _open(self) -> None:
        name = f"n{next(self.numbers)}"
        self.source = self.keys or PosixTree(self.mount, "in", self.run_id, name, "source")
        self.destination = PosixTree(self.mount, "out", self.run_id, name, **self.options)

    def context(self, state: str = "VerifyShard") -> Context:
        """Of a function."""
        if not self.is_one:
            self._open()
        return super().context(state)


@pytest.fixture
def mount() -> Iterator[Path]:
    """The root of the destination is nobody's; in it is somebody's private directory."""
    with open_directory() as path:
        (path / "out/secret").mkdir(parents=True)
        (path / "out/secret/pay").write_text("salaries")
        (path / "out/secret").chmod(0o700)
        os.chown(path / "out", NOBODY, NOBODY)
        yield path


def swap(mount: Path) -> Callable[[], object]:
    """Nobody's deed."""

    def deed() -> bool:
        os.chdir(mount / "out")
        if os.path.lexists("x"):
            os.rename("x", "aside")
        os.rename("secret", "x")
        return True

    return lambda: as_nobody(deed)


def mend(mount: Path) -> None:
    (mount / "out/x").rename(mount / "out/secret")
    if (mount / "out/aside").exists():
        (mount / "out/aside").rename(mount / "out/x")


def read_by_nobody(path: Path) -> str:
    def read() -> str:
        try:
            return path.read_text()
        except OSError as error:
            return str(error.strerror)

    return str(as_nobody(read))


def ends(mount: Path, from_keys: bool, *, marked: bool = False) -> tuple[MemoryTree | None, Json]:
    """A source of ``x/g``, and the request."""
    if from_keys:
        keys = MemoryTree()
        if marked:
            keys.put("x/", Kind.DIRECTORY, b"", Attributes(mode=0o40755, uid=0, gid=0))
        keys.put("x/g", Kind.FILE, b"hello")
        return keys, FROM_KEYS
    (mount / "in/x").mkdir(parents=True, exist_ok=True)
    (mount / "in/x/g").write_text("hello")
    return None, WITHIN


def judge(mount: Path, world: Functions, status: str) -> None:
    """Nothing of the private directory is wider, and the file of a run that succeeds is under its name."""
    private = next(path for path in (mount / "out/x", mount / "out/secret") if (path / "pay").exists())
    found = private.stat()
    assert (found.st_mode & 0o7777, found.st_uid) == (0o700, 0)
    assert read_by_nobody(private / "pay") == "Permission denied"
    if status == "SUCCEEDED":
        assert (mount / "out/x/g").exists()
    else:
        assert set(reasons(world).values()) == {Reason.DESTINATION_CHANGED}


@pytest.mark.parametrize("is_one", [False, True], ids=["functions", "one function"])
@pytest.mark.parametrize("there", [False, True], ids=["new", "listed"])
@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("source", ["implied", "marked", "mount"])
def test_a_private_directory_is_not_opened(mount: Path, source: str, moment: str, there: bool, is_one: bool) -> None:
    keys, request = ends(mount, source != "mount", marked=source == "marked")
    store = MemoryStore()
    if there:
        assert Functions(mount=mount, keys=keys, store=store).run(request)["status"] == "SUCCEEDED"
        (mount / "in/x").mkdir(parents=True, exist_ok=True)
        (mount / "in/x/g").write_text("later")
        os.chown(mount / "out/x", 0, 0)
        if keys is not None:
            keys.put("x/g", Kind.FILE, b"later")
    deeds = {moment: swap(mount)}
    world = Functions(mount=mount, keys=keys, store=store, run_id="run-2", deeds=deeds, is_one=is_one)
    status = world.run(request)["status"]
    assert not world.deeds
    judge(mount, world, status)
    if moment == "FinishTree" or (there and moment in ("PartitionShards", "CopyShards") and source != "implied"):
        assert status == "FAILED_WITH_ITEMS"


@pytest.mark.parametrize("moment", ["CopyShards", "FinishTree"])
@pytest.mark.parametrize("source", ["implied", "marked", "mount"])
def test_a_retry_after_the_names_are_right_again_goes_on(mount: Path, source: str, moment: str) -> None:
    keys, request = ends(mount, source != "mount", marked=source == "marked")
    store = MemoryStore()
    world = Functions(mount=mount, keys=keys, store=store, deeds={moment: swap(mount)})
    assert world.run(request)["status"] == "FAILED_WITH_ITEMS"
    mend(mount)
    again = Functions(mount=mount, keys=keys, store=store, run_id="run-2")
    assert again.run({"resume_from": "run-1"})["status"] == "SUCCEEDED", reasons(again)
    assert (mount / "out/x/g").read_text() == "hello"
    assert (mount / "out/x").stat().st_mode & 0o7777 == 0o755
    assert (mount / "out/secret").stat().st_mode & 0o7777 == 0o700


@pytest.mark.parametrize("source", ["implied", "mount"])
def test_attributes_of_the_request_go_to_no_other_directory(mount: Path, source: str) -> None:
    keys, request = ends(mount, source != "mount")
    given = {"directory_mode": "0777", "override": True}
    world = Functions(mount=mount, keys=keys, deeds={"FinishTree": swap(mount)})
    status = world.run({**request, "attributes": given})["status"]
    assert status == "FAILED_WITH_ITEMS"
    judge(mount, world, status)
