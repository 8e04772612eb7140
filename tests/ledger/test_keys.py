"""A key is made of all its parts, in their order."""

from __future__ import annotations

import pytest

from fanout.ledger import keys


def test_a_key_takes_its_parts_in_order() -> None:
    assert keys.index_part_key("0001-000002", "nonce", 3) == "index/0001-000002-nonce-0003.jsonl.gz"


@pytest.mark.parametrize("parts", [("0001-000002", "nonce"), ("0001-000002", "nonce", 3, 4)])
def test_a_key_takes_no_other_number_of_parts(parts: tuple[str | int, ...]) -> None:
    with pytest.raises(ValueError, match="zip"):
        keys.index_part_key(*parts)
