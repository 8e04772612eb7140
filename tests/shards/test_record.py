"""Records of attempts at one shard: which of their findings count."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from fanout.ledger.documents import indexes_of, ranges_of
from fanout.model.books import Count
from fanout.model.entry_outcome import EntryFinding, Outcome
from fanout.model.errors import LedgerBroken
from fanout.model.outcome import TROUBLE, Result
from fanout.model.shard import Receipt, Shard
from fanout.shards.record import (
    each_once,
    read_receipts,
    record_of,
    records,
    settled,
    write_outcomes,
    write_receipts,
)
from fanout.shards.shard_results import shard_outcomes, shard_result, sums_of
from fanout.verifying.verify_rules import FINDINGS
from tests.support.flow import World
from tests.support.memory_store import MemoryStore

RESULTS = st.sampled_from([Result.COPIED, Result.FAILED, Result.REJECTED])
ATTEMPTS = st.lists(st.dictionaries(st.integers(0, 6), RESULTS, min_size=1), min_size=1, max_size=4)


def outcome(index: int, result: Result, who: int = 0) -> Outcome:
    """Of an entry, by one attempt."""
    return Outcome(f"f{index}", "file", 1, result, message=str(who), unread=((f"said by {who}", "x"),))


@given(ATTEMPTS)
def test_each_entry_counts_once_and_what_was_done_counts_before_a_failure(found: list[dict[int, Result]]) -> None:
    ledger = World().ledger
    indexes = sorted({index for results in found for index in results})  # the shard holds these alone
    found = [{indexes.index(index): one for index, one in results.items()} for results in found]
    for who, results in enumerate(found):
        write_outcomes("s", f"n{who}", {index: outcome(index, one, who) for index, one in results.items()}, ledger)
    known = records("s", ledger)
    counted = {index: one for _, index, one in each_once(known, ledger)}
    assert settled(known) == counted.keys() == {index for results in found for index in results}
    for index, one in counted.items():
        tried = [(results[index], who) for who, results in enumerate(found) if index in results]
        done = [who for result, who in tried if result not in TROUBLE]
        assert int(one.message) == (done[0] if done else tried[-1][1])
    sums = sums_of(known, ledger)
    assert sum(one.entries for one in sums.unread.values()) == len(counted)
    shard = Shard("s", "k", len(counted), len(counted), 0.0)
    result = shard_result(shard, ledger)
    assert sum(result.results.values(), Count()) == Count(len(counted), len(counted))
    assert {one.path for one in result.failures} == {one.path for one in shard_outcomes(shard, ledger, TROUBLE)}


def test_a_record_about_an_entry_that_its_shard_does_not_hold_is_said() -> None:
    ledger = World().ledger
    write_outcomes("s", "n", {0: outcome(0, Result.COPIED), 5: outcome(5, Result.COPIED)}, ledger)
    with pytest.raises(LedgerBroken, match="is about entry 5 of a shard of 2"):
        shard_result(Shard("s", "k", 2, 2, 0.0), ledger)


def test_of_receipts_the_first_that_was_written_counts() -> None:
    ledger = World().ledger
    bad = Receipt(1, message="lost")
    write_receipts("s", "a", {0: Receipt(0, 1), 1: bad}, 1, ledger)
    write_receipts("s", "b", {0: Receipt(0, 2), 1: Receipt(1, 3)}, 2, ledger, taken_over=1)
    assert {index: one.crc64nvme for index, one in read_receipts("s", ledger).items()} == {0: 1, 1: 0}
    assert [one.taken_over for one in records("s", ledger)] == [0, 1]


def test_rows_that_no_record_names_are_nothing() -> None:
    world = World()
    write_outcomes("s", "n", {0: outcome(0, Result.COPIED)}, world.ledger)
    world.store.remove([f"{world.ledger.prefix}{records('s', world.ledger)[0].key}"])
    assert records("s", world.ledger) == []
    assert list(world.ledger.keys("outcomes/shards/s/"))


def test_a_record_without_its_rows_is_said() -> None:
    world = World()
    write_outcomes("s", "n", {0: outcome(0, Result.FAILED)}, world.ledger)
    found = records("s", world.ledger)
    assert list(each_once(found, world.ledger, {Result.COPIED})) == []  # nobody reads them
    world.store.remove([f"{world.ledger.prefix}{found[0].rows}"])
    with pytest.raises(LedgerBroken, match="is missing"):
        list(each_once(found, world.ledger))


def test_a_record_knows_its_shard_and_its_name_from_its_key() -> None:
    ledger = World().ledger
    write_outcomes("verified-s-0001", "n7-0000", {3: outcome(3, Result.COPIED), 4: outcome(4, Result.COPIED)}, ledger)
    (found,) = records("verified-s-0001", ledger)
    assert (found.shard_id, found.name, found.entries) == ("verified-s-0001", "n7-0000", 2)
    assert found.rows == "outcomes/shards/verified-s-0001/n7-0000.jsonl.gz"
    assert found.said("said by 0") == indexes_of(found.ranges) == {3, 4}
    assert record_of({}).entries == 0


def test_the_rows_of_attempts_that_overlap_are_read_once() -> None:
    world, read = World(), list[str]()

    class Counting(MemoryStore):
        def get(self, key: str) -> bytes:
            read.append(key)
            return super().get(key)

    world.store = Counting()
    for name in ("a", "b"):
        write_outcomes("s", name, {0: outcome(0, Result.COPIED), 1: outcome(1, Result.FAILED)}, world.ledger)
    read.clear()
    result = shard_result(Shard("s", "k", 2, 2, 0.0), world.ledger)
    assert result.results[Result.COPIED] == result.results[Result.FAILED] == Count(1, 1)
    assert len([key for key in read if key.endswith(".jsonl.gz")]) == 2


@pytest.mark.parametrize("what", EntryFinding)
def test_a_finding_of_attempts_that_overlap_counts_each_entry_once(what: EntryFinding) -> None:
    ledger = World().ledger
    for name, indexes in (("a", range(3)), ("b", range(2, 5))):
        outcomes = {index: outcome(index, Result.COPIED) for index in indexes}
        record = replace(record_of(outcomes), findings={what: ranges_of(indexes)})
        write_outcomes("s", name, outcomes, ledger, record)
    assert shard_result(Shard("s", "k", 5, 5, 0.0), ledger).sums.findings == {what: 5}


def test_each_finding_has_its_rule() -> None:
    assert FINDINGS.keys() == set(EntryFinding)
