"""The books, the coverage of a shard, and the ledger's rows."""

from __future__ import annotations

import itertools
import json

from hypothesis import given
from hypothesis import strategies as st

from fanout.ledger.documents import disjoint, indexes_of, ranges_of
from fanout.ledger.json_lines import lines_of, rows_of
from fanout.ledger.rows import entry_from_row, entry_row, outcome_from_row, outcome_row
from fanout.model.books import Books, Count, tally
from fanout.model.entry import Entry, Kind
from fanout.model.entry_outcome import Outcome
from fanout.model.outcome import Reason, Result

TEXT = st.text(alphabet=st.characters(codec=None), max_size=10)
OUTCOMES = st.builds(
    Outcome,
    path=TEXT,
    kind=st.sampled_from([kind.value for kind in Kind]),
    size=st.integers(0, 2**63),
    result=st.sampled_from(list(Result)),
    reason=st.none() | st.sampled_from(list(Reason)),
    message=TEXT,
    crc64nvme=st.none() | st.just("AAAAAAAAAAA="),
)


@given(st.lists(OUTCOMES, max_size=20))
def test_books_balance_just_when_every_listed_entry_has_an_outcome(outcomes: list[Outcome]) -> None:
    of_source = [outcome for outcome in outcomes if outcome.result is not Result.DELETED]
    listed = Count(len(of_source), sum(outcome.size for outcome in of_source))
    assert Books().plus(listed, tally(outcomes)).balanced
    assert not Books().plus(listed + Count(1, 0), tally(outcomes)).balanced
    assert not Books().plus(listed + Count(0, 1), tally(outcomes)).balanced


@given(OUTCOMES)
def test_an_outcome_survives_the_ledger(outcome: Outcome) -> None:
    assert outcome_from_row(json.loads(json.dumps(outcome_row(outcome, 3)))) == outcome
    (row,) = rows_of(b"".join(lines_of([outcome_row(outcome, 3)])))
    assert outcome_from_row(row) == outcome
    assert row["index"] == 3


@given(st.binary(min_size=1, max_size=20))
def test_a_name_of_any_bytes_survives_the_ledger(name: bytes) -> None:
    entry = Entry(name.decode("utf-8", "surrogateescape"), Kind.FILE, 1, 2, 3, "e")
    assert entry_from_row(json.loads(json.dumps(entry_row(entry)))) == entry


@given(st.sets(st.integers(0, 100)))
def test_ranges_hold_just_their_indexes(indexes: set[int]) -> None:
    ranges = ranges_of(indexes)
    assert indexes_of(ranges) == indexes
    assert disjoint([ranges])
    assert all(before[1] < after[0] for before, after in itertools.pairwise(ranges))


@given(st.sets(st.integers(0, 30)), st.sets(st.integers(0, 30)))
def test_groups_are_disjoint_just_when_no_index_is_in_both(one: set[int], two: set[int]) -> None:
    assert disjoint([ranges_of(one), ranges_of(two)]) == (not one & two)
