"""Unchanged entries in columns: each comes back out of the ledger's rows as the outcome that it had."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from fanout.ledger.rows import listed_outcomes, outcome_row
from fanout.listing.listed_outcomes import SameEntries
from fanout.model.entry import Entry, Kind
from fanout.model.entry_outcome import Outcome
from fanout.model.outcome import Reason

ENTRIES = st.builds(Entry, st.text(min_size=1), st.sampled_from(Kind), st.integers(0, 2**50))


@given(st.lists(ENTRIES, max_size=8))
def test_what_goes_in_comes_out(entries: list[Entry]) -> None:
    same = SameEntries()
    for entry in entries * 200:  # up to two rows
        same.add(entry)
    rows = json.loads(json.dumps(list(same.rows())))
    found = [outcome for row in rows for outcome in listed_outcomes(row)]
    one = [Outcome.because(entry, Reason.SAME) for entry in entries]
    assert found == one * 200
    assert len(rows) == -(-len(found) // 1_000)


def test_a_row_of_one_outcome_is_that_outcome() -> None:
    outcome = Outcome.because(Entry("a", Kind.FILE, 3), Reason.NAME_DOT, "why")
    assert list(listed_outcomes(outcome_row(outcome))) == [outcome]
