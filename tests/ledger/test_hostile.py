"""Rows that somebody wrote to stop a function: each is ``LedgerBroken``, with its object and the remedy."""

from __future__ import annotations

import pytest

from fanout.model.errors import LedgerBroken
from tests.support.flow import World

ROWS = {
    "arrays in each other": b"[" * 200_000 + b"]" * 200_000,
    "objects in each other": b'{"a":' * 200_000 + b"1" + b"}" * 200_000,
    "a number of 5,000 digits": b'{"size": 1' + b"0" * 5_000 + b"}",
    "a number without an end": b'{"size": 1e999}',
    "no number": b'{"size": NaN}',
}


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
def test_a_hostile_row_is_broken(row: bytes) -> None:
    world = World()
    world.plan()
    ledger = world.ledger
    world.store.put(f"{ledger.prefix}rows.jsonl", row + b"\n")
    with pytest.raises(LedgerBroken, match=r"rows\.jsonl is not whole"):
        list(ledger.read_rows("rows.jsonl"))
