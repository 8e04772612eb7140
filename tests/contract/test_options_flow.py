"""Options in whole runs from every adapter to a directory: ages, checksums, policies, reports, certificates."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from msgspec.structs import replace

from fanout.adapters.posix.tree import PosixTree
from fanout.certificate.document import decoded
from fanout.model.document import Json
from fanout.ports.tree import Tree
from tests.contract.tree_use import FILE_ATTRIBUTES, finish, write
from tests.support.flow import World
from tests.support.signing import LocalSigner

DAY = 86_400
FILES = {"a": b"first", "d/b": b"second", "d/e/c": b"third"}


@pytest.fixture
def mount(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The mount of the destination."""
    mount = tmp_path_factory.mktemp("mount")
    (mount / "out").mkdir()
    return mount


@pytest.fixture
def world(tree: Tree, kind_of_tree: str, tmp_path: Path, mount: Path) -> World:
    """A run, two days from now, from a tree of each adapter to a directory."""
    now = replace(FILE_ATTRIBUTES, mtime_ns=time.time_ns())
    for path, body in FILES.items():
        write(tree, path, body, now)
    finish(tree)
    if isinstance(tree, PosixTree):
        tree = PosixTree(tmp_path, "" if kind_of_tree == "mount-root" else "tree", "run-1", "s", "source")
    world = World(source=tree, destination=PosixTree(mount, "out", "run-1", "d"), signer=LocalSigner())
    world.clock.time = time.time() + 2 * DAY
    return world


def held(place: Path) -> dict[str, bytes]:
    return {str(path.relative_to(place)): path.read_bytes() for path in place.rglob("*") if path.is_file()}


def put(mount: Path, path: str, body: bytes) -> None:
    place = mount / "out" / path
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(body)


def ended(world: World, **fields: object) -> Json:
    source = "efs:///in" if isinstance(world.source, PosixTree) else "s3://a-bucket/in/"
    summary = world.run({"source": source, "destination": "efs:///out", **fields})
    assert (summary["status"], summary["balanced"]) == ("SUCCEEDED", True), summary
    return {name: count["entries"] for name, count in summary["totals"].items() if count["entries"]}


def test_ages_are_those_of_every_listing(world: World, mount: Path) -> None:
    found = ended(world, older_than="1d")
    assert found["copied"] >= len(FILES)  # and directories
    assert held(mount / "out") == FILES


def test_what_is_too_old_is_left_out_of_every_listing(world: World, mount: Path) -> None:
    ended(world, newer_than="1d")
    assert held(mount / "out") == {}


def test_only_other_bytes_are_copied_from_every_source(world: World, mount: Path) -> None:
    put(mount, "a", b"first")
    put(mount, "d/b", b"SECOND")
    os.utime(mount / "out/a", (DAY, DAY))
    ended(world, compare="checksum")
    assert held(mount / "out") == FILES
    assert (mount / "out/a").stat().st_mtime == DAY


def test_every_outcome_is_reported(world: World, mount: Path) -> None:
    put(mount, "a", b"theirs")
    ended(world, overwrite="never", report_entries="all")
    rows = [row for key in world.ledger.keys("entries/") for row in world.ledger.read_rows(key)]
    assert {row["path"]: row["outcome"] for row in rows if row["kind"] == "file"} == {
        "a": "skipped",
        "d/b": "copied",
        "d/e/c": "copied",
    }
    assert all(row["seconds"] is not None for row in rows if row["outcome"] == "copied" and row["kind"] == "file")
    assert held(mount / "out") == {**FILES, "a": b"theirs"}


@pytest.mark.usefixtures("with_links")
def test_what_is_replaced_is_kept(world: World, mount: Path) -> None:
    world.destination = PosixTree(mount, "out", "run-1", "d", backup_to="kept/")
    put(mount, "d/b", b"theirs")
    ended(world, backup_to="efs:///kept")
    assert held(mount / "out") == FILES
    assert held(mount / "kept") == {"run-1/d/b": b"theirs"}


def test_a_certificate_has_one_digest_of_both_trees(world: World) -> None:
    ended(world, verify="content", certificate=True)
    found = decoded(world.ledger.read_bytes("certificate.json")).document
    assert found.source.tree_digest == found.destination.tree_digest
