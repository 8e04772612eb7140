"""The rounds of a listing, as GatherSegments closed them."""

from __future__ import annotations

from collections.abc import Iterator

from fanout.domain.rows import Json
from fanout.ledger import Ledger


def rounds_done(ledger: Ledger) -> Iterator[Json]:
    """What every round of the listing found, in order."""
    for key in ledger.keys("segments/round-"):
        if key.endswith("-done.json"):
            yield ledger.read_json(key)
