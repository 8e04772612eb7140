"""The sentence of a run that went through with trouble: it names what there is, and nothing that there is none of."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from fanout.books.ending import Ending
from fanout.books.summary_document import Difference, Verified
from fanout.model.books import Books, Count
from fanout.model.outcome import Reason, Result

MISSING = {Reason.MISSING: 5}
OWNER = {Reason.OWNER_DIFFERS: 1}


def ending(failed: int, rejected: int, rows: int, found: Mapping[Reason, int], *, complete: bool = True) -> Ending:
    results = {Result.FAILED: Count(failed), Result.REJECTED: Count(rejected)}
    books = Books().plus(Count(failed + rejected), results)
    differences = [Difference(reason, entries) for reason, entries in found.items()]
    verified = Verified(Count(9), sum(found.values()), differences, [], "", "", []) if found else None
    return Ending(books, complete, rows, verification=verified)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (ending(2, 0, 2, {}), "2 failed"),
        (ending(1_200, 1, 1_201, {}), "1,200 failed, 1 rejected"),
        (ending(0, 0, 3, {}), "3 could not be listed, finished or deleted"),
        (ending(5, 0, 5, MISSING), "5 failed; trees differ: 5 missing at the destination"),
        (ending(0, 0, 1, OWNER), "trees differ: 1 owner differs"),
        (ending(0, 0, 3, OWNER), "2 could not be listed, finished or deleted; trees differ: 1 owner differs"),
        (ending(0, 0, 0, {}, complete=False), "a directory could not be listed"),
    ],
)
def test_what_went_wrong_is_said_in_its_numbers(given: Ending, says: str) -> None:
    assert given.reported is not None
    assert given.reported.message == f"{says}; failures.jsonl says which and why"
