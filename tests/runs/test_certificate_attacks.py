"""A writer below ``runs/`` who has no secret: what it writes is neither compared nor signed."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec import convert, to_builtins
from msgspec.structs import replace

from fanout.adapters.posix.tree import PosixTree
from fanout.certificate.document import decoded
from fanout.certificate.tree_digest import TreeDigest
from fanout.ledger.ledger import Ledger
from fanout.ledger.seals import sealed_json
from fanout.model.document import Json
from fanout.model.entry import Attributes, Kind
from fanout.model.errors import LedgerBroken
from fanout.model.shard import Shard
from fanout.partition.partition_shards import partition_shards
from fanout.shards.finished_tree import directory_files, mark_finished
from fanout.shards.found_sums import Certified
from fanout.shards.record import read_record, record_key
from fanout.summary.summarise_transfer import summarise_transfer
from fanout.verifying.verify_shard import verify_shard
from tests.support.flow import REQUEST, World
from tests.support.memory import MemoryTree
from tests.support.signing import LocalSigner

COPY: Json = {**REQUEST, "verify": "content", "certificate": True}
ONLY: Json = {**REQUEST, "mode": "verify", "verify": "content", "certificate": True}
Attack = Callable[[Ledger], None]


@pytest.fixture
def world(tmp_path: Path) -> World:
    world = World(destination=PosixTree(tmp_path, "", "run-1", "n"), signer=LocalSigner())
    assert isinstance(world.source, MemoryTree)
    for number in range(4):
        world.source.put(f"d/f{number}", Kind.FILE, b"%d" % number, Attributes(mtime_ns=1))
    World(source=world.source, destination=world.destination, run_id="first").run()
    return world


def one(ledger: Ledger, prefix: str, ending: str) -> str:
    """The first file of the ledger that is named so."""
    return next(key for key in sorted(ledger.keys(prefix)) if key.endswith(ending))


def other_sums(ledger: Ledger) -> None:
    """The sums of trees that nobody compared, with the seal that anybody can make."""
    tree = TreeDigest()
    for number in range(4):
        tree.add(Kind.FILE, f"d/f{number}", 1, "ab" * 32)
    key = one(ledger, "outcomes/shards/", ".json")
    forged = replace(read_record(key, ledger), key="", certified=Certified(tree.sum(), tree.sum()))
    ledger.write(record_key.at(key), forged)


def other_sums_without_a_seal(ledger: Ledger) -> None:
    """The same as plain JSON."""
    other_sums(ledger)
    row = ledger.read_json(one(ledger, "outcomes/shards/", ".json"))
    ledger.write_bytes(one(ledger, "outcomes/shards/", ".json"), json.dumps(row).encode())


def sums_of_another_run(ledger: Ledger) -> None:
    """A seal of another secret."""
    key = one(ledger, "outcomes/shards/", ".json")
    ledger.write_bytes(key, sealed_json(ledger.prefix + key, ledger.read_json(key), bytes(32)))


def more_outcomes(ledger: Ledger) -> None:
    """Outcomes of an entry that nobody looked at."""
    key = one(ledger, "outcomes/shards/", ".json")
    row = ledger.read_json(key)
    ledger.write_json(key, {**row, "seconds": 1.0})


def fewer_shards(ledger: Ledger) -> None:
    """Entries that are left out of both trees."""
    ledger.write_json("shards.json", [])


def other_plan(ledger: Ledger) -> None:
    """Another source in the words of the certificate."""
    plan = ledger.read_json("plan.json")
    source = {**plan["request"]["source"], "prefix": "other/"}
    ledger.write_json("plan.json", {**plan, "request": {**plan["request"], "source": source}})
    assert str(ledger.read_plan().request.source) == "s3://a-bucket/other/"


def other_request(ledger: Ledger) -> None:
    """Another request in the words of the certificate."""
    ledger.write_json("request.json", {**ledger.read_json("request.json"), "request": {**ONLY, "exclude": ["*"]}})


def other_execution(ledger: Ledger) -> None:
    """An execution of the attacker's wording."""
    plan = ledger.read_json("plan.json")
    ledger.write_json("plan.json", {**plan, "origin": {**plan["origin"], "execution": "arn:of:somebody"}})


ATTACKS: list[Attack] = [
    other_sums,
    other_sums_without_a_seal,
    sums_of_another_run,
    more_outcomes,
    fewer_shards,
    other_plan,
    other_request,
    other_execution,
]


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.__name__)
@pytest.mark.parametrize("request_", [COPY, ONLY], ids=["after a copy", "alone"])
def test_nothing_is_signed_that_bears_no_seal_of_the_run(world: World, attack: Attack, request_: Json) -> None:
    inner = compared(world, request_)
    about_the_run = attack in (other_plan, other_request, other_execution)
    attack(world.ledger if about_the_run else inner)
    signed = certificate_after(world)
    assert signed is None, attack.__doc__


def test_a_plan_that_another_one_stood_for_while_the_comparison_began_is_not_signed(world: World) -> None:
    """What the comparison is about is sealed, and made of a plan that is not."""
    world.list_all(world.plan(COPY))
    partition_shards(world.context())
    world.copy_all()
    world.finish_all()
    written = world.ledger.read_bytes("plan.json")
    other_plan(world.ledger)
    with pytest.raises(LedgerBroken, match="BeginVerification comes after FinishTree"):
        world.verify_trees()
    # Whoever may write the plan writes the mark of FinishTree too.
    mark_finished(world.ledger.read_plan(), directory_files(world.ledger), world.ledger)
    world.verify_trees()
    world.ledger.write_bytes("plan.json", written)
    mark_finished(world.ledger.now().read_plan(), directory_files(world.ledger), world.ledger)
    with pytest.raises(LedgerBroken, match="compares something else than the plan that PlanTransfer wrote"):
        summarise_transfer(None, world.context("SummariseTransfer"))


def test_what_nobody_attacked_is_signed(world: World) -> None:
    compared(world, ONLY)
    signed = certificate_after(world)
    assert signed is not None
    assert signed["document"]["run"]["execution"] == world.execution


@pytest.mark.parametrize("name", ["shards/", "plan.json"])
def test_nothing_is_compared_that_bears_no_seal_of_the_run(world: World, name: str) -> None:
    """A shard that leads elsewhere, or a plan of another source, ends the comparison before it reads a file."""
    world.list_all(world.plan(ONLY))
    partition_shards(world.context())
    (row,) = world.ledger.read_json("shards.json")
    if name == "plan.json":
        other_plan(world.ledger)
    else:
        key = one(world.ledger, name, ".jsonl.gz")
        world.ledger.write_rows(key, world.ledger.read_rows(key))
    with pytest.raises(LedgerBroken, match="bears no seal of this run"):
        verify_shard(convert(row["shard"], Shard), world.context())


def test_a_certificate_that_lies_there_is_kept_only_if_its_signature_is_the_keys(world: World) -> None:
    compared(world, ONLY)
    first = certificate_after(world)
    assert certificate_after(world) == first, "what was handed out stays the one"
    assert first is not None
    forged = {**first, "signature": other_signature(world)}
    world.ledger.write_bytes("certificate.json", json.dumps(forged, separators=(",", ":"), sort_keys=True).encode())
    world.store.remove(["runs/run-1/summary.json"])
    answer = summarise_transfer(None, world.context("SummariseTransfer"))
    assert answer["status"] == "FAILED" and "somebody else" in answer["cause"]
    assert json.loads(world.ledger.read_bytes("certificate.json")) == forged, "it stays, to be looked at"


def test_a_ledger_without_its_secret_is_read_as_before(world: World) -> None:
    """People and the functions that prove nothing read what is sealed; gzip and JSON hold nothing else."""
    compared(world, ONLY)
    key = one(world.ledger, "outcomes/shards/", ".jsonl.gz")
    assert len(gzip.decompress(world.ledger.read_bytes(key)).splitlines()) == 4
    assert json.loads(world.ledger.read_bytes("plan.json"))["run_id"] == "run-1"
    assert world.ledger.read_plan().request.certificate


def test_a_run_without_its_secret_ends_by_name(world: World) -> None:
    compared(world, ONLY)
    world.store.remove(["seals/run-1.json"])
    with pytest.raises(LedgerBroken, match=r"seals/run-1.json is missing"):
        summarise_transfer(None, world.context("SummariseTransfer"))


def test_a_run_without_a_certificate_makes_no_secret(world: World) -> None:
    world.run({**COPY, "certificate": False})
    assert list(world.store.list("seals/")) == []


def other_signature(world: World) -> str:
    """A signature of another key, of the same document."""
    other = World(source=world.source, destination=world.destination, run_id="run-2", signer=LocalSigner())
    compared(other, ONLY)
    signed = certificate_after(other)
    assert signed is not None
    return str(signed["signature"])


def compared(world: World, request: Json) -> Ledger:
    """A run up to its summary; returns the ledger of its comparison."""
    world.list_all(world.plan(request))
    what = partition_shards(world.context())
    if what["next"] == "verify":
        world.verify_all()
        return world.ledger
    world.copy_all()
    world.finish_all()
    world.verify_trees()
    return world.ledger.verification()


def certificate_after(world: World) -> Any:
    """SummariseTransfer; the certificate as JSON, or ``None`` where there is none."""
    try:
        summarise_transfer(None, world.context("SummariseTransfer"))
    except LedgerBroken:
        return None
    summary = world.ledger.read_json("summary.json")
    if not summary["certificate"]:
        return None
    found = decoded(world.ledger.read_bytes("certificate.json"))
    assert world.signer is not None
    return to_builtins(found)
