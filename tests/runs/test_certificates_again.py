"""A certified run whose tasks run twice, die, or lose what they wrote, and a key that does not sign."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest
from msgspec import convert
from msgspec.structs import replace

from fanout.certificate.document import decoded
from fanout.model.document import Json
from fanout.model.entry import Kind
from fanout.model.errors import AccessDenied, LedgerBroken, Throttled
from fanout.model.shard import Shard
from fanout.partition.partition_shards import partition_shards
from fanout.shards.record import read_record, record_key, record_keys
from fanout.summary.summarise_transfer import summarise_transfer
from fanout.verifying.verify_shard import verify_shard
from tests.runs.test_certificates import BIG, COPY, CUT, ONLY, certificate, digest_below, is_signed, world
from tests.support.flow import World
from tests.support.memory import MemoryTree
from tests.support.memory_store import MemoryStore
from tests.support.signing import KEY_ARN, LocalSigner

__all__ = ["world"]


def verified(world: World, request: Json) -> list[Shard]:
    world.list_all(world.plan(request))
    partition_shards(world.context())
    return [convert(row["shard"], Shard) for row in world.ledger.read_json("shards.json")]


@pytest.mark.parametrize("more", [{}, CUT], ids=["whole", "in blocks"])
def test_tasks_that_ran_twice_at_the_same_time_count_each_entry_once(world: World, tmp_path: Path, more: Json) -> None:
    World(source=world.source, destination=world.destination, run_id="first").run()
    shards = verified(world, ONLY | more)

    class Before(MemoryStore):
        """A ledger in which an attempt sees nothing of another that runs at the same time."""

        def list(self, prefix: str) -> Any:
            return iter([one for one in super().list(prefix) if "/outcomes/" not in one])

    for shard in shards:
        assert verify_shard(shard, world.context())["done"]
        hidden = Before()
        assert isinstance(world.store, MemoryStore)
        hidden.__dict__.update(world.store.__dict__)
        twin = World(**{**world.__dict__, "store": hidden})
        assert verify_shard(shard, twin.context())["done"]
    summarise_transfer(None, world.context())
    document = certificate(world).document
    assert (document.source.entries, document.source.bytes) == (9, 302 + BIG)
    assert document.source.tree_digest == digest_below(tmp_path)


def test_a_task_that_died_after_its_sums_leaves_nothing_that_counts(world: World, tmp_path: Path) -> None:
    class Dying(MemoryStore):
        def put(self, key: str, data: bytes) -> None:
            if "/outcomes/shards/" in key:
                raise ConnectionResetError(key)
            super().put(key, data)

    World(source=world.source, destination=world.destination, run_id="first").run()
    shards = verified(world, ONLY)
    assert isinstance(world.store, MemoryStore)
    dying = Dying()
    dying.__dict__.update(world.store.__dict__)
    for shard in shards:
        with pytest.raises(ConnectionResetError):
            verify_shard(shard, World(**{**world.__dict__, "store": dying}).context())
        assert verify_shard(shard, world.context())["done"]
    summarise_transfer(None, world.context())
    assert certificate(world).document.source.tree_digest == digest_below(tmp_path)


def test_sums_that_are_lost_end_the_run_and_are_not_guessed(world: World) -> None:
    World(source=world.source, destination=world.destination, run_id="first").run()
    for shard in verified(world, ONLY):
        assert verify_shard(shard, world.context())["done"]
    assert isinstance(world.store, MemoryStore)
    key = next(record_keys(world.ledger))
    bare = replace(read_record(key, world.ledger), certified=None, key="")
    world.context("VerifyShard").ledger.write(record_key.at(key), bare)
    with pytest.raises(LedgerBroken, match="holds no sums for a certificate"):
        summarise_transfer(None, world.context())
    assert not world.ledger.has("certificate.json")


def test_a_summary_that_is_written_again_keeps_the_certificate(world: World) -> None:
    world.run(COPY)
    first = world.ledger.read_bytes("certificate.json")
    world.clock.time += 60
    summarise_transfer(None, world.context())
    assert world.ledger.read_bytes("certificate.json") == first
    assert isinstance(world.signer, LocalSigner)
    assert world.signer.signed == 1


@pytest.mark.parametrize("at", ["certificate.json", "report.html", "summary.json"])
def test_a_summary_that_dies_between_two_writes_ends_with_one_certificate(world: World, at: str) -> None:
    class Dying(MemoryStore):
        armed = True

        def put(self, key: str, data: bytes) -> None:
            if self.armed and key.endswith(at):
                type(self).armed = False
                raise ConnectionResetError(key)
            super().put(key, data)

    world.store = Dying()
    with pytest.raises(ConnectionResetError):
        world.run(COPY)
    summarise_transfer(None, world.context())
    summary = world.ledger.read_json("summary.json")
    data = world.ledger.read_bytes("certificate.json")
    assert summary["status"] == "SUCCEEDED"
    assert summary["certificate"]["sha256"] == hashlib.sha256(data).hexdigest()
    assert is_signed(decoded(data))


@pytest.mark.parametrize("foreign", [True, False], ids=["of other trees", "no certificate"])
def test_something_else_in_the_place_of_a_certificate_is_named_and_stays(world: World, foreign: bool) -> None:
    other = World(signer=LocalSigner())
    assert isinstance(other.source, MemoryTree)
    other.source.put("other", Kind.FILE, b"other")
    other.run(COPY)
    found = other.ledger.read_bytes("certificate.json") if foreign else b"no certificate"
    World(source=world.source, destination=world.destination, run_id="first").run()
    for shard in verified(world, ONLY):
        assert verify_shard(shard, world.context())["done"]
    world.ledger.write_bytes("certificate.json", found)
    summarise_transfer(None, world.context())
    assert world.ledger.read_bytes("certificate.json") == found
    error = world.ledger.read_json("summary.json")["error"]
    assert "certificate.json" in error["message"] and "somebody else" in error["message"]


def test_a_key_that_refuses_fails_the_run_by_its_error(world: World) -> None:
    refusal = AccessDenied("kms:Sign", KEY_ARN, "allow kms:Sign to the function's role")
    world.signer = LocalSigner([refusal])
    summary = world.run(COPY)
    assert (summary["status"], summary["certificate"]) == ("FAILED", None)
    assert summary["error"]["name"] == "AccessDenied"
    assert "the certificate was not signed: kms:Sign on" in summary["error"]["message"]
    assert "mode verify" in summary["error"]["message"]


def test_a_throttled_signature_is_tried_again_by_the_state(world: World) -> None:
    world.signer = LocalSigner([Throttled("kms:Sign")])
    with pytest.raises(Throttled):
        world.run(COPY)
    summarise_transfer(None, world.context())
    assert world.ledger.read_json("summary.json")["status"] == "SUCCEEDED"
    assert is_signed(certificate(world))
