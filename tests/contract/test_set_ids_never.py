"""A stack whose ``SetIds`` is never: no file and no directory that a run writes has a set-id bit, and none differs."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

import pytest

from fanout.adapters.posix.tree import PosixTree
from fanout.adapters.s3.tree import S3Tree
from fanout.model.document import Json
from fanout.request.parse import parse_request
from fanout.request.parts.allowed_attributes import StackAllows, allowed_for
from tests.contract.conftest import client_of, new_bucket
from tests.support.flow import World
from tests.support.memory_store import MemoryStore
from tests.support.s3_servers import S3Server

NEVER = StackAllows(set_ids=False)
OWNED = {"x-amz-meta-file-owner": str(os.geteuid()), "x-amz-meta-file-group": str(os.getegid())}
MODES = {"shared": 0o2770, "both": 0o6755, "plain": 0o750, "shared/below": 0o2755, "shared/f": 0o640, "program": 0o755}
LEFT_OUT = {"shared", "both", "shared/below", "program"}


def source_on_mount(root: Path) -> None:
    for name in ("shared/below", "both", "plain"):
        (root / "in" / name).mkdir(parents=True, exist_ok=True)
    for name in ("shared/f", "program"):
        (root / "in" / name).write_bytes(b"f")
    for name in reversed(MODES):
        (root / "in" / name).chmod(MODES[name] | (0o6000 if name == "program" else 0))


def source_in_bucket(server: S3Server) -> S3Tree:
    client: Any = client_of(server)
    bucket = new_bucket(client)
    for name, mode in MODES.items():
        is_file = name in ("shared/f", "program")
        bits = mode | (0o6000 if name == "program" else 0) | (stat.S_IFREG if is_file else stat.S_IFDIR)
        headers = {**OWNED, "x-amz-meta-file-permissions": f"0{bits:06o}"}
        client.put_object(bucket, f"in/{name}{'' if is_file else '/'}", b"f" * is_file, headers)
    return S3Tree(client, bucket, "in/", is_source=True)


class Stack:
    """Runs of one stack; each opens its trees anew."""

    def __init__(self, mount: Path, keys: S3Tree | None) -> None:
        self.mount, self.keys, self.store = mount, keys, MemoryStore()
        self.ends: Json = {"source": "s3://a-bucket/in/" if keys else "efs:///in", "destination": "efs:///out"}

    def run(self, run_id: str, **options: Any) -> tuple[Json, World]:
        """The summary of a run, and its world."""
        request = {**self.ends, "verify": "all", **options}
        allowed = allowed_for(parse_request(request, ("data",), 10), NEVER)
        source = self.keys or PosixTree(self.mount, "in", run_id, "s", "source")
        destination = PosixTree(self.mount, "out", run_id, "d", allowed=allowed)
        world = World(source=source, destination=destination, allows=NEVER, run_id=run_id, store=self.store)
        return world.run(request), world


@pytest.fixture(params=["s3", "mount"])
def stack(request: pytest.FixtureRequest, moto_server: S3Server, tmp_path: Path) -> Stack:
    if request.param == "s3":
        return Stack(tmp_path, source_in_bucket(moto_server))
    source_on_mount(tmp_path)
    return Stack(tmp_path, None)


def modes_below(root: Path) -> dict[str, int]:
    return {str(one.relative_to(root)): stat.S_IMODE(one.stat().st_mode) for one in root.rglob("*")}


WITHOUT = {name: mode & 0o777 for name, mode in MODES.items()}


def test_a_copy_has_none_and_no_verification_calls_that_a_difference(stack: Stack) -> None:
    summary, _ = stack.run("run-1")
    assert (summary["status"], summary["verification"]["differences"]) == ("SUCCEEDED", 0)
    assert modes_below(stack.mount / "out") == WITHOUT
    (note,) = [str(one) for one in summary["notes"] if "set-id bits were left out" in str(one)]
    assert f"allows none: {len(LEFT_OUT)}, for example" in note
    assert stack.run("run-2", mode="verify")[0]["verification"]["differences"] == 0


def test_bits_that_directories_have_already_go_with_a_run_that_compares_nothing(stack: Stack) -> None:
    """An earlier release left them. What size and time show as unchanged keeps its mode."""
    assert stack.run("run-1")[0]["status"] == "SUCCEEDED"
    for name in LEFT_OUT - {"program"}:
        (stack.mount / "out" / name).chmod(MODES[name])
    summary, world = stack.run("run-2", compare="always")
    assert summary["status"] == "SUCCEEDED", list(world.ledger.read_rows("failures.jsonl"))
    assert modes_below(stack.mount / "out") == WITHOUT


def test_a_move_leaves_what_would_lose_them(stack: Stack) -> None:
    summary, world = stack.run("run-1", mode="move", verify="none")
    assert summary["status"] == "FAILED_WITH_ITEMS"
    failed = {row["path"].rstrip("/"): row for row in world.ledger.read_rows("failures.jsonl")}
    assert set(failed) == LEFT_OUT, failed
    assert all("the stack's SetIds does not allow" in row["message"] for row in failed.values())
    assert modes_below(stack.mount / "out") == WITHOUT


def test_a_directory_that_keys_imply_gets_none_by_request_either(moto_server: S3Server, tmp_path: Path) -> None:
    client: Any = client_of(moto_server)
    bucket = new_bucket(client)
    client.put_object(bucket, "in/implied/f", b"f", {})
    stack = Stack(tmp_path, S3Tree(client, bucket, "in/", is_source=True))
    assert stack.run("run-1", attributes={"directory_mode": "2775"})[0]["status"] == "SUCCEEDED"
    assert modes_below(tmp_path / "out")["implied"] == 0o775
