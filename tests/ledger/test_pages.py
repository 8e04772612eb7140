"""Lists that Maps read, in pages: a shard is found without reading the whole list."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from fanout.ledger import keys, objects
from fanout.ledger.ledger import Ledger
from fanout.model.errors import LedgerBroken
from fanout.model.shard import Shard
from fanout.shards.partitioned import MapItem, shards_of
from tests.support.memory_store import MemoryStore

WHOLE = objects.PAGE_BYTES
LIST = keys.SHARDS.of(list[MapItem])
SHARDS = [Shard(f"s{number}", f"shards/s{number}.jsonl.gz", number, 1, 0.5) for number in range(9)]


def written(shards: Sequence[Shard], page_bytes: int, monkeypatch: pytest.MonkeyPatch) -> tuple[Ledger, list[Shard]]:
    monkeypatch.setattr(objects, "PAGE_BYTES", page_bytes)
    ledger = Ledger(MemoryStore(), "r")
    return ledger, ledger.write_items(LIST, shards, MapItem)


@pytest.mark.parametrize("page_bytes", [1, 400, WHOLE])
def test_each_shard_is_on_its_page_and_the_list_holds_all(page_bytes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger, shards = written(SHARDS, page_bytes, monkeypatch)
    assert shards_of(ledger) == shards
    assert [replace(one, page=0) for one in shards] == SHARDS
    for one in shards:
        assert ledger.find_item(LIST, one.id, one.page) == MapItem(one)
        for page in {other.page for other in shards} - {one.page}:
            assert ledger.find_item(LIST, one.id, page) is None
    pages = {1: 9, 400: 3, WHOLE: 0}[page_bytes]
    assert len(list(ledger.keys(f"{LIST}-"))) == pages


def test_a_short_list_is_its_own_page_whatever_lists_its_shards_come_from(monkeypatch: pytest.MonkeyPatch) -> None:
    """As those of an earlier run."""
    ledger, shards = written([replace(one, page=7) for one in SHARDS], WHOLE, monkeypatch)
    assert shards == SHARDS
    assert list(ledger.keys("")) == [LIST]
    assert "page" not in json.dumps(ledger.read_json(LIST))


def test_a_page_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    ledger, _ = written(SHARDS, 1, monkeypatch)
    with pytest.raises(LedgerBroken, match=r"shards\.json-0099 is missing"):
        ledger.find_item(LIST, "s1", 99)
