"""A certificate is signed only over books that balance: what was listed is what was compared, and what was left out."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from fanout.adapters.posix.tree import PosixTree
from fanout.certificate.document import decoded
from fanout.certificate.tree_digest import TreeDigest
from fanout.ledger.ledger import Ledger
from fanout.ledger.sealing import demanding
from fanout.model.books import Count
from fanout.model.document import Json
from fanout.model.entry import Attributes, Kind
from fanout.model.errors import LedgerBroken
from fanout.model.outcome import Result
from fanout.shards.found_sums import Certified
from fanout.shards.record import Record, read_record, record_key
from fanout.shards.round_records import round_done_key
from fanout.summary.summarise_transfer import summarise_transfer
from tests.runs.test_certificate_attacks import COPY, ONLY, compared, one
from tests.support.flow import REQUEST, World
from tests.support.memory import MemoryTree
from tests.support.signing import LocalSigner

# What a file of one byte is, in each tree.
SIZE = 1
State = Callable[[Ledger], None]


@pytest.fixture
def world(tmp_path: Path) -> World:
    world = World(destination=PosixTree(tmp_path, "", "run-1", "n"), signer=LocalSigner())
    assert isinstance(world.source, MemoryTree)
    for number in range(4):
        world.source.put(f"d/f{number}", Kind.FILE, b"%d" % number, Attributes(mtime_ns=1))
    world.source.put("d/empty", Kind.FILE, b"", Attributes(mtime_ns=1))
    World(source=world.source, destination=world.destination, run_id="first").run()
    return world


def changed_record(ledger: Ledger, change: Callable[[Record], Record]) -> None:
    key = record_key.at(one(ledger, "outcomes/shards/", ".json"))
    ledger.write(key, replace(change(read_record(key, ledger)), key=""))


def more_is_listed(ledger: Ledger) -> None:
    """The listing counts an entry that no shard holds."""
    key = round_done_key.at(one(ledger, "segments/round-", "done.json"))
    record = ledger.read(key)
    ledger.write(key, replace(record, listed=record.listed + Count(1, 0)))


def larger_is_listed(ledger: Ledger) -> None:
    """The listing counts more bytes than were compared."""
    key = round_done_key.at(one(ledger, "segments/round-", "done.json"))
    record = ledger.read(key)
    ledger.write(key, replace(record, listed=record.listed + Count(0, SIZE)))


def fewer_in_the_sums(ledger: Ledger) -> None:
    """The sums of the trees lack a file without bytes, which the record counts as compared."""

    def change(record: Record) -> Record:
        tree = TreeDigest()
        for number in range(4):
            tree.add(Kind.FILE, f"d/f{number}", SIZE, "ab" * 32)
        return replace(record, certified=Certified(tree.sum(), tree.sum()))

    changed_record(ledger, change)


def fewer_at_one_end(ledger: Ledger) -> None:
    """The sum of the destination alone lacks it."""

    def change(record: Record) -> Record:
        assert record.certified is not None
        there = record.certified.destination
        return replace(record, certified=replace(record.certified, destination=replace(there, entries=4)))

    changed_record(ledger, change)


def another_index(ledger: Ledger) -> None:
    """A record is about an entry that its shard does not hold, instead of one that it holds."""

    def change(record: Record) -> Record:
        assert record.ranges == [(0, 5)]
        return replace(record, ranges=[(0, 4), (7, 8)])

    changed_record(ledger, change)


def one_shard_twice(ledger: Ledger) -> None:
    """A file of shards names one shard twice, so that the number of entries is that of the listing."""
    (row,) = ledger.read_json("shards.json")
    ledger.write_json("shards.json", [row, row])
    key = round_done_key.at(one(ledger, "segments/round-", "done.json"))
    record = ledger.read(key)
    (shard,) = record.shards + record.loose
    outcomes = {result: count + count for result, count in record.outcomes.items()}
    changed = replace(record, listed=record.listed + record.listed, shards=[], loose=[shard, shard], outcomes=outcomes)
    ledger.write(key, changed)


STATES: list[State] = [
    more_is_listed,
    larger_is_listed,
    fewer_in_the_sums,
    fewer_at_one_end,
    another_index,
    one_shard_twice,
]


@pytest.mark.parametrize("state", STATES, ids=lambda state: state.__name__)
@pytest.mark.parametrize("request_", [COPY, ONLY], ids=["after a copy", "alone"])
def test_books_that_do_not_balance_are_not_signed(world: World, state: State, request_: Json) -> None:
    """Each state bears the seal of the run, so nothing but the balance can refuse it."""
    state(demanding(compared(world, request_)))
    try:
        status = summarise_transfer(None, world.context("SummariseTransfer"))["status"]
    except LedgerBroken:
        status = "FAILED"
    assert status == "FAILED", state.__doc__
    assert isinstance(world.signer, LocalSigner) and world.signer.signed == 0
    assert not world.ledger.has("certificate.json")


@pytest.mark.parametrize("state", [more_is_listed, larger_is_listed])
def test_a_comparison_that_does_not_balance_proves_nothing(world: World, state: State) -> None:
    """Also where nothing is to be signed."""
    state(compared(world, {**COPY, "certificate": False}))
    with pytest.raises(LedgerBroken, match="the books of the comparison do not balance"):
        summarise_transfer(None, world.context("SummariseTransfer"))


MODES: list[Json] = [
    {"mode": "copy"},
    {"mode": "copy", "verify": "all"},
    {"mode": "sync", "delete_guard": {"max_percent": 100}},
    {"mode": "verify"},
]
MORE: list[Json] = [{}, {"exclude": ["*.no"]}, {"min_size": 1}, {"symlinks": "skip"}]


@pytest.mark.parametrize("more", MORE, ids=["whole", "exclude", "min_size", "symlinks"])
@pytest.mark.parametrize("mode", MODES, ids=["copy", "all", "sync", "verify"])
def test_honest_books_of_each_mode_balance(world: World, mode: Json, more: Json) -> None:
    """With what is skipped, directories, a symlink, an empty file, unread metadata, and extras that a sync deletes."""
    assert isinstance(world.source, MemoryTree)
    world.source.put("own/", Kind.DIRECTORY)
    world.source.put("e/skipped.no", Kind.FILE, b"no", Attributes(mtime_ns=1))
    world.source.put("link", Kind.FILE, b"d/f1", Attributes(mode=0o120777))
    World(source=world.source, destination=world.destination, run_id="second").run()
    if mode["mode"] == "sync":
        World(source=world.source, destination=world.destination, run_id="third").run({**REQUEST, "mode": "copy"})
        world.source.remove("d/f0")
    summary = world.run({**COPY, **mode, **more})
    assert summary["status"] == "SUCCEEDED", (summary["error"], summary["verification"])
    document = decoded(world.ledger.read_bytes("certificate.json")).document
    skipped = 0 if mode["mode"] != "verify" else summary["totals"][Result.SKIPPED.value]["entries"]
    assert document.source.entries == document.destination.entries > 0
    assert document.source.entries + skipped <= 8
