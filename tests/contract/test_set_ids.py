"""Set-id bits that objects name: whoever may write an object would make a program that acts as root."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from fanout.adapters.posix.tree import PosixTree
from fanout.adapters.s3.client.client import S3Client
from fanout.adapters.s3.tree import S3Tree
from fanout.model.errors import InvalidRequest
from fanout.request.parse import parse_request
from tests.contract.conftest import client_of, new_bucket
from tests.support.flow import World
from tests.support.s3_servers import S3Server

REQUEST = {"source": "s3://a-bucket/in/", "destination": "efs:///out", "verify": "all"}
OWNER = (os.geteuid() or 1234, os.getegid() or 1234)  # root's bits are another matter
OWNED = {"x-amz-meta-file-owner": str(OWNER[0]), "x-amz-meta-file-group": str(OWNER[1])}


def of_mode(mode: int) -> dict[str, str]:
    return {**OWNED, "x-amz-meta-file-permissions": f"0{mode:06o}"}


@pytest.mark.parametrize(("drops", "mode"), [(True, 0o755), (False, 0o6755)])
def test_a_file_from_s3_acts_as_nobody_unless_the_request_says_so(
    moto_server: S3Server, tmp_path: Path, drops: bool, mode: int
) -> None:
    client: S3Client = client_of(moto_server)
    name = new_bucket(client)
    client.put_object(name, "in/shell", b"#!", of_mode(stat.S_IFREG | 0o6755))
    client.put_object(name, "in/plain", b"", of_mode(stat.S_IFREG | 0o1644))
    client.put_object(name, "in/d/", b"", of_mode(stat.S_IFDIR | 0o2750))
    client.put_object(name, "in/d/f", b"f", of_mode(stat.S_IFREG | 0o640))
    source = S3Tree(client, name, "in/", is_source=True)
    world = World(source=source, destination=PosixTree(tmp_path, "out", "run-1", "d"))
    summary = world.run({**REQUEST, "attributes": {"set_ids": not drops}} if not drops else REQUEST)
    assert (summary["status"], summary["verification"]["differences"]) == ("SUCCEEDED", 0)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "out").rglob("*")}
    assert modes == {"shell": mode, "plain": 0o1644, "d": 0o2750, "f": 0o640}
    noted = [note for note in summary["notes"] if "set-id bits were left out" in note]
    assert (len(noted), "shell" in str(noted)) == ((1, True) if drops else (0, False))


def test_a_move_leaves_an_object_whose_set_id_bits_were_left_out(moto_server: S3Server, tmp_path: Path) -> None:
    """They would be at no place any more."""
    client: S3Client = client_of(moto_server)
    name = new_bucket(client)
    client.put_object(name, "in/shell", b"#!", of_mode(stat.S_IFREG | 0o6755))
    client.put_object(name, "in/f", b"f", of_mode(stat.S_IFREG | 0o640))
    source = S3Tree(client, name, "in/", is_source=True)
    world = World(source=source, destination=PosixTree(tmp_path, "out", "run-1", "d"))
    summary = world.run({**REQUEST, "mode": "move", "verify": "none"})
    assert summary["status"] == "FAILED_WITH_ITEMS"
    (row,) = world.ledger.read_rows("failures.jsonl")
    assert (row["path"], row["reason"]) == ("shell", "attribute of the source cannot be read")
    assert "set-id bits without attributes.set_ids: mode '6755' at the source" in row["message"]
    assert source.find("shell") is not None


@pytest.mark.parametrize("ends", [("efs:///in", "efs:///out"), ("s3://a-bucket/in/", "s3://b-bucket/out/")])
def test_it_is_for_what_comes_from_s3_to_a_mount(ends: tuple[str, str]) -> None:
    with pytest.raises(InvalidRequest, match="attributes"):
        parse_request({"source": ends[0], "destination": ends[1], "attributes": {"set_ids": True}}, ("data",), 10)
