"""A local user of the mount gives directories of others the names of probes' directories: none of them is removed."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from fanout.adapters.posix.probe.probe_directory import ABANDONED_SECONDS
from fanout.model.errors import FanoutError
from fanout.model.path_rules import PROBE_PREFIX
from tests.support.nobody import NOBODY, as_nobody, open_directory
from tests.support.probes import SMALL, ProbeWorld

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs two users")
OWN = f"{PROBE_PREFIX}p"
OLD_MARKER = "of-a-probe"
Deed = Callable[[], object]


@pytest.fixture
def mount() -> Iterator[Path]:
    """His is the directory that the probe works in: he may rename whatever is in it."""
    with open_directory() as path:
        (path / "his").mkdir()
        os.chown(path / "his", NOBODY, NOBODY)
        yield path


def private(mount: Path, name: str = "payroll", *, empty: bool = False, mode: int = 0o700) -> Path:
    """A directory that only root may read, in one of his."""
    place = mount / "his" / name
    place.mkdir(mode=mode)
    if not empty:
        (place / "deep").mkdir()
        (place / "deep/thesis").write_text("years of work")
    return place


def renamed(mount: Path, old: str, new: str) -> Deed:
    def deed() -> bool:
        os.rename(mount / "his" / old, mount / "his" / new)
        return True

    return lambda: as_nobody(deed)


def probe(mount: Path, probe_id: str = "p") -> ProbeWorld:
    world = ProbeWorld([mount])
    world.plan({**SMALL, "path": "/his"}, probe_id)
    return world


def inode_of(path: Path) -> int:
    return path.stat().st_ino


def thesis_of(mount: Path, inode: int) -> bool:
    """Whether the directory of an inode holds what it held, under whatever name."""
    (found,) = [one for one in (mount / "his").iterdir() if inode_of(one) == inode]
    return (found / "deep/thesis").is_file()


def test_what_has_the_name_before_the_probe_is_neither_taken_nor_removed(mount: Path) -> None:
    victim = inode_of(private(mount))
    renamed(mount, "payroll", OWN)()
    world = probe(mount)
    with pytest.raises(FanoutError, match="is there already"):
        world.open("p")
    world.close("p")
    assert thesis_of(mount, victim)


def test_nor_is_one_that_holds_nothing(mount: Path) -> None:
    """Root's, closed and empty: as OpenProbe makes it, but for its inode."""
    victim = inode_of(private(mount, empty=True))
    renamed(mount, "payroll", OWN)()
    world = probe(mount)
    with pytest.raises(FanoutError, match="is there already"):
        world.open("p")
    world.close("p")
    assert [inode_of(one) for one in (mount / "his").iterdir()] == [victim]


def test_what_gets_the_name_before_it_closes_is_left_and_noted_and_its_own_goes(mount: Path) -> None:
    victim = inode_of(private(mount))
    world = probe(mount)
    world.open("p")
    own = inode_of(mount / "his" / OWN)
    renamed(mount, OWN, "elsewhere")()
    renamed(mount, "payroll", OWN)()
    world.close("p")
    world.summarise("p")
    assert thesis_of(mount, victim)
    assert own not in [inode_of(one) for one in (mount / "his").iterdir()]
    (note,) = world.result("p")["notes"]
    assert f"/his/{OWN} is another directory than the run made" in note


def test_no_experiment_writes_into_what_has_the_name(mount: Path) -> None:
    private(mount)
    world = probe(mount)
    world.open("p")
    renamed(mount, OWN, "elsewhere")()
    renamed(mount, "payroll", OWN)()
    world.experiment("p", 0, 0)
    assert sorted(os.listdir(mount / "his" / OWN)) == ["deep"]
    (row,) = [world.ledger("p").read_json(key) for key in world.ledger("p").keys("samples/")]
    assert "is another directory than the run made" in row["problem"]["message"]


@pytest.mark.parametrize("kind", ["plain", "marked as a probe's", "empty", "of a probe that is noted"])
def test_the_next_probe_removes_no_old_one_that_no_ledger_notes(mount: Path, kind: str) -> None:
    """A run can have made the files of a marker: anybody who writes an object names them."""
    victim = private(mount, empty=kind == "empty")
    inode = inode_of(victim)
    if kind == "marked as a probe's":
        (victim / OLD_MARKER).write_bytes(b"fanout probe: the next one removes this directory\n")
    world = probe(mount)
    if kind == "of a probe that is noted":
        world.plan({**SMALL, "path": "/his"}, "stopped")
        world.open("stopped")
        age(mount / "his" / f"{PROBE_PREFIX}stopped")
        shutil.rmtree(mount / "his" / f"{PROBE_PREFIX}stopped")
    age(victim)
    renamed(mount, "payroll", f"{PROBE_PREFIX}stopped")()
    world.open("p")
    world.close("p")
    world.summarise("p")
    assert [inode_of(one) for one in (mount / "his").iterdir()] == [inode]
    assert kind == "empty" or thesis_of(mount, inode)
    assert any(f"/his/{PROBE_PREFIX}stopped" in note for note in world.result("p")["notes"])


def test_an_inode_that_was_given_to_another_directory_is_not_the_probes(mount: Path) -> None:
    """File systems give numbers of removed inodes away again, and the note may be older than that."""
    world = probe(mount)
    world.open("p")
    shutil.rmtree(mount / "his" / OWN)
    for attempt in range(200):
        victim = private(mount, f"payroll-{attempt}")
        if str(inode_of(victim)) == world.ledger("p").read_json("probe-directory.json")["inode"]:
            break
    else:
        note = world.ledger("p").read_json("probe-directory.json")
        world.ledger("p").write_json("probe-directory.json", {**note, "inode": str(inode_of(victim))})
    renamed(mount, victim.name, OWN)()
    world.close("p")
    assert (mount / "his" / OWN / "deep/thesis").is_file()


def test_no_experiment_writes_into_one_that_got_the_number_of_its_inode(mount: Path) -> None:
    world = probe(mount)
    world.open("p")
    shutil.rmtree(mount / "his" / OWN)
    victim = private(mount)
    note = world.ledger("p").read_json("probe-directory.json")
    world.ledger("p").write_json("probe-directory.json", {**note, "inode": str(inode_of(victim))})
    renamed(mount, "payroll", OWN)()
    world.experiment("p", 0, 0)
    assert sorted(os.listdir(mount / "his" / OWN)) == ["deep"]


def test_a_second_attempt_finds_its_own_directory_by_the_note(mount: Path) -> None:
    world = probe(mount)
    world.open("p")
    own = inode_of(mount / "his" / OWN)
    world.open("p")
    assert inode_of(mount / "his" / OWN) == own
    world.close("p")
    world.close("p")
    assert os.listdir(mount / "his") == []


def test_names_that_no_probe_has_do_not_stop_one(mount: Path) -> None:
    victim = private(mount)
    name = os.fsdecode(os.fsencode(PROBE_PREFIX) + b"\xff\n..")
    os.rename(victim, mount / "his" / name)
    world = probe(mount)
    world.open("p")
    world.close("p")
    world.summarise("p")
    assert os.listdir(mount / "his") == [name]


def age(directory: Path) -> None:
    past = time.time() - 10 * ABANDONED_SECONDS
    os.utime(directory, (past, past))
