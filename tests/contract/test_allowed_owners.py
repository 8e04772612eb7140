"""Owners and set-id bits that objects, packs and rows name, where the stack bounds them: on every way to a mount."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from fanout.adapters.posix.tree import PosixTree
from fanout.adapters.s3.client.client import S3Client
from fanout.adapters.s3.tree import S3Tree
from fanout.model.entry import Attributes, Entry, Kind
from fanout.request.parts.allowed_attributes import Allowed, StackAllows, owners_of
from tests.contract.conftest import client_of, new_bucket
from tests.support.flow import World
from tests.support.nobody import NOBODY
from tests.support.s3_servers import S3Server

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
REQUEST = {"source": "s3://a-bucket/in/", "destination": "efs:///out", "verify": "all"}
ALLOWED, FORBIDDEN = 1500, 700
OWN = (0, 0)


def named(owner: int, mode: int) -> dict[str, str]:
    return {
        "x-amz-meta-file-owner": str(owner),
        "x-amz-meta-file-group": str(owner),
        "x-amz-meta-file-permissions": f"0{mode:06o}",
    }


def world_of(server: S3Server, tmp_path: Path, stack: StackAllows) -> tuple[World, S3Client, str]:
    client: S3Client = client_of(server)
    name = new_bucket(client)
    allowed = Allowed(stack.owners, spares_root=True)
    destination = PosixTree(tmp_path, "out", "run-1", "d", allowed=allowed)
    source = S3Tree(client, name, "in/", is_source=True)
    return World(source=source, destination=destination, allows=stack), client, name


def owners(root: Path) -> dict[str, tuple[int, int]]:
    found = [root, *root.rglob("*")]
    stats = {str(one.relative_to(root)): one.lstat() for one in found}
    return {name: (one.st_uid, one.st_gid) for name, one in stats.items() if name != "."}


def test_each_kind_of_entry_has_an_owner_that_the_stack_allows(moto_server: S3Server, tmp_path: Path) -> None:
    world, client, bucket = world_of(moto_server, tmp_path, StackAllows(owners_of(f"{ALLOWED}:{ALLOWED}")))
    for owner in (ALLOWED, FORBIDDEN):
        client.put_object(bucket, f"in/{owner}/", b"", named(owner, stat.S_IFDIR | 0o2750))
        client.put_object(bucket, f"in/{owner}/file", b"f", named(owner, stat.S_IFREG | 0o640))
        client.put_object(bucket, f"in/{owner}/big", b"b" * 9_000_000, named(owner, stat.S_IFREG | 0o640))
        client.put_object(bucket, f"in/{owner}/link", b"file", named(owner, stat.S_IFLNK | 0o777))
    summary = world.run({**REQUEST, "limits": {"split_bytes": 8 * 1024 * 1024}})
    assert (summary["status"], summary["verification"]["differences"]) == ("SUCCEEDED", 0)
    found = owners(tmp_path / "out")
    assert len(found) == 8
    assert {name: owner for name, owner in found.items() if name.startswith(str(ALLOWED))} == dict.fromkeys(
        (f"{ALLOWED}{rest}" for rest in ("", "/file", "/big", "/link")), (ALLOWED, ALLOWED)
    )
    assert {owner for name, owner in found.items() if name.startswith(str(FORBIDDEN))} == {OWN}
    assert stat.S_IMODE((tmp_path / f"out/{FORBIDDEN}/file").stat().st_mode) == 0o640
    (note,) = [one for one in summary["notes"] if "whose owner was left out" in str(one)]
    assert f"{FORBIDDEN}:{FORBIDDEN}" in str(note)


def test_a_directory_that_a_local_user_made_first_is_not_left_to_him(moto_server: S3Server, tmp_path: Path) -> None:
    """An owner that is refused is the function's user, not nobody."""
    world, client, bucket = world_of(moto_server, tmp_path, StackAllows(owners_of(f"{ALLOWED}:{ALLOWED}")))
    client.put_object(bucket, "in/p/", b"", named(FORBIDDEN, stat.S_IFDIR | 0o755))
    client.put_object(bucket, "in/p/file", b"f", named(FORBIDDEN, stat.S_IFREG | 0o640))
    (tmp_path / "out/p").mkdir(parents=True)
    os.chown(tmp_path / "out/p", NOBODY, NOBODY)
    (tmp_path / "out/p").chmod(0o2777)
    summary = world.run(REQUEST)
    assert (summary["status"], summary["verification"]["differences"]) == ("SUCCEEDED", 0)
    assert owners(tmp_path / "out") == {"p": OWN, "p/file": OWN}
    assert stat.S_IMODE((tmp_path / "out/p").stat().st_mode) == 0o755


@pytest.mark.parametrize("mode", ["copy", "verify"])
def test_what_is_his_where_an_owner_is_refused_differs_and_a_copy_mends_it(
    moto_server: S3Server, tmp_path: Path, mode: str
) -> None:
    world, client, bucket = world_of(moto_server, tmp_path, StackAllows(owners_of(f"{ALLOWED}:{ALLOWED}")))
    client.put_object(bucket, "in/p/", b"", named(FORBIDDEN, stat.S_IFDIR | 0o755))
    client.put_object(bucket, "in/p/file", b"f", named(FORBIDDEN, stat.S_IFREG | 0o640))
    assert world.run(REQUEST)["status"] == "SUCCEEDED"
    for path in ("p", "p/file"):
        os.chown(tmp_path / "out" / path, NOBODY, NOBODY)
    again = World(
        run_id="run-2",
        source=world.source,
        destination=PosixTree(tmp_path, "out", "run-2", "d", allowed=Allowed(world.allows.owners, spares_root=True)),
        store=world.store,
        allows=world.allows,
    )
    summary = again.run({**REQUEST, "mode": mode, **({"verify": "none"} if mode == "verify" else {})})
    if mode == "verify":
        assert summary["verification"]["differences"] == 2
    else:
        assert (summary["status"], owners(tmp_path / "out")) == ("SUCCEEDED", {"p": OWN, "p/file": OWN})


def test_a_move_leaves_an_object_whose_owner_was_left_out(moto_server: S3Server, tmp_path: Path) -> None:
    world, client, bucket = world_of(moto_server, tmp_path, StackAllows(owners_of(f"{ALLOWED}:{ALLOWED}")))
    for owner in (ALLOWED, FORBIDDEN):
        client.put_object(bucket, f"in/{owner}", b"f", named(owner, stat.S_IFREG | 0o640))
    summary = world.run({**REQUEST, "mode": "move", "verify": "none"})
    assert summary["status"] == "FAILED_WITH_ITEMS"
    (row,) = world.ledger.read_rows("failures.jsonl")
    assert row["path"] == str(FORBIDDEN)
    assert f"AllowedOwners does not name: '{FORBIDDEN}:{FORBIDDEN}'" in row["message"]
    assert [world.source.find(str(one)) is None for one in (ALLOWED, FORBIDDEN)] == [True, False]


@pytest.mark.parametrize(
    ("tool", "said"),
    [
        ("s3fs", {"mode": str(stat.S_IFREG | 0o6755), "uid": "1234", "gid": "1234"}),
        ("s3cmd", {"s3cmd-attrs": f"uid:1234/gid:1234/mode:{stat.S_IFREG | 0o6755}"}),
        ("mc", {"mc-attrs": f"uid:1234/gid:1234/mode:{stat.S_IFREG | 0o6755}"}),
    ],
)
def test_metadata_of_other_tools_makes_no_program_that_acts_as_its_owner(
    moto_server: S3Server, tmp_path: Path, tool: str, said: dict[str, str]
) -> None:
    """They were read after the bits had been left out."""
    world, client, bucket = world_of(moto_server, tmp_path, StackAllows())
    client.put_object(bucket, "in/shell", b"#!", {f"x-amz-meta-{name}": text for name, text in said.items()})
    summary = world.run({**REQUEST, "attributes": {"from": tool}})
    assert (summary["status"], summary["verification"]["differences"]) == ("SUCCEEDED", 0)
    assert stat.S_IMODE((tmp_path / "out/shell").stat().st_mode) == 0o755
    assert any("set-id bits were left out" in str(note) for note in summary["notes"])


FORGED = Attributes(stat.S_IFREG | 0o6755, FORBIDDEN, FORBIDDEN, 1, 1)


@pytest.mark.parametrize("way", ["file", "blocks", "symlink", "directory"])
def test_the_mount_itself_takes_no_other_owner_whatever_a_row_or_a_pack_says(tmp_path: Path, way: str) -> None:
    """An attacker who can write below runs/ needs no object."""
    allowed = Allowed(owners_of(f"{ALLOWED}:{ALLOWED}"), "set_ids", spares_root=True)
    tree = PosixTree(tmp_path, "out", "run-1", "d", allowed=allowed)
    tree.check(writing=True)
    ways: dict[str, Any] = {"file": write_file, "blocks": write_blocks, "symlink": link, "directory": directory}
    ways[way](tree)
    tree.close()
    found = (tmp_path / "out/entry").lstat()
    assert (found.st_uid, found.st_gid) == OWN
    assert way == "symlink" or not found.st_mode & stat.S_ISUID


def write_file(tree: PosixTree) -> None:
    target = tree.create(Entry("entry", Kind.FILE, 1), FORGED)
    target.write(0, b"x")
    target.commit(0)


def write_blocks(tree: PosixTree) -> None:
    entry = Entry("entry", Kind.FILE, 1)
    blocks = tree.open_blocks(entry, tree.begin_blocks(entry, FORGED))
    blocks.write(0, 0, b"x", 0)
    blocks.sync()
    blocks.complete([], 0, FORGED)


def link(tree: PosixTree) -> None:
    tree.make_symlink(Entry("entry", Kind.SYMLINK), b"t", FORGED)


def directory(tree: PosixTree) -> None:
    entry = Entry("entry/", Kind.DIRECTORY)
    made = Attributes(stat.S_IFDIR | 0o755, FORBIDDEN, FORBIDDEN)
    tree.make_directory(entry, made)
    tree.set_attributes(replace(entry, inode=tree.place_of(entry).inode), made)
