"""Documents of the ledger: there and back, and what is refused."""

from __future__ import annotations

import json

import pytest
from msgspec import Struct

from fanout.ledger import keys
from fanout.ledger.ledger import Ledger
from fanout.model.errors import LedgerBroken
from fanout.shards.partitioned import SHARDS
from tests.support.memory_store import MemoryStore


class Note(Struct, frozen=True):
    path: str
    bytes: int = 0


NOTE = keys.PLAN.at("note.json").of(Note)
NOTES = SHARDS.at("notes.json").of(list[Note])


@pytest.fixture
def ledger() -> Ledger:
    return Ledger(MemoryStore(), "run-1")


def test_a_document_comes_back_as_it_was_also_with_a_name_that_is_no_utf_8(ledger: Ledger) -> None:
    note = Note("caf\udce9/\n", 7)
    ledger.write(NOTE, note)
    assert ledger.read(NOTE) == note
    assert ledger.read_json("note.json") == {"schema_version": 2, "path": "caf\udce9/\n", "bytes": 7}
    assert ledger.find(NOTE.at("other.json")) is None


def test_a_list_for_a_map_comes_back_as_it_was(ledger: Ledger) -> None:
    ledger.write(NOTES, [Note("a"), Note("b", 1)])
    assert ledger.read(NOTES) == [Note("a"), Note("b", 1)]
    assert ledger.read_json("notes.json") == [{"path": "a", "bytes": 0}, {"path": "b", "bytes": 1}]


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"path": "a"}, "schema version is None"),
        ([], "schema version is None"),
        ({"schema_version": 2}, "missing required field `path`"),
        ({"schema_version": 2, "path": 3}, r"Expected `str`, got `int` - at `\$.path`"),
    ],
)
def test_what_is_no_such_document_is_refused_with_its_key_and_the_way_on(
    ledger: Ledger, row: object, said: str
) -> None:
    ledger.write_json("note.json", json.loads(json.dumps(row)))
    with pytest.raises(LedgerBroken, match=rf"runs/run-1/note.json is not whole.*{said}.*start the request again"):
        ledger.read(NOTE)


def test_one_of_another_version_is_not_called_broken(ledger: Ledger) -> None:
    ledger.write_json("note.json", {"schema_version": 3, "path": "a"})
    said = "note.json was written by another version of the product .its schema version is 3, and this .* reads 2"
    with pytest.raises(LedgerBroken, match=rf"{said}.*start the request again"):
        ledger.read(NOTE)


def test_a_missing_document_is_named(ledger: Ledger) -> None:
    with pytest.raises(LedgerBroken, match=r"runs/run-1/note.json is missing"):
        ledger.read(NOTE)
