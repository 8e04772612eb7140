"""What does not change once it is written: the first attempt's stays, and another's is named."""

from __future__ import annotations

import pytest

from fanout.ledger import keys
from fanout.ledger.documents import Notes
from fanout.ledger.ledger import Ledger
from fanout.model.errors import LedgerBroken
from tests.support.memory_store import MemoryStore

NOTE = keys.PLAN.of(Notes)
MINE, LATER, ANOTHERS = (Notes([one]) for one in ("mine", "mine, later", "another's"))


def is_mine(found: Notes) -> bool:
    return found.notes[0].startswith("mine")


def test_the_first_of_two_attempts_stays_and_the_second_goes_on_with_it() -> None:
    ledger = Ledger(MemoryStore(), "r")
    assert ledger.write_once(NOTE, MINE, is_mine) is MINE
    written = ledger.read_bytes(NOTE)
    assert ledger.write_once(NOTE, LATER, is_mine) == MINE
    assert ledger.read_bytes(NOTE) == written


def test_another_s_document_is_named_and_not_replaced() -> None:
    ledger = Ledger(MemoryStore(), "r")
    ledger.write(NOTE, ANOTHERS)
    with pytest.raises(LedgerBroken, match=r"runs/r/plan\.json was written by somebody else"):
        ledger.write_once(NOTE, MINE, is_mine)
    assert ledger.read(NOTE) == ANOTHERS


def test_an_answer_that_was_lost_is_the_own_document() -> None:
    class Loses(MemoryStore):
        def put_new(self, key: str, data: bytes) -> bool:
            super().put_new(key, data)
            return False

    assert Ledger(Loses(), "r").write_once(NOTE, MINE, is_mine) == MINE
