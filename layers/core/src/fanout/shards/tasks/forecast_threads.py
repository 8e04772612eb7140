"""The threads of a function that copies, as the forecast of its run says."""

from __future__ import annotations

from msgspec import Struct

from fanout.facts import tuning
from fanout.ledger import keys
from fanout.ledger.ledger import Ledger


class _ForecastThreads(Struct, frozen=True):
    threads: int


class _ForecastRead(Struct, frozen=True):
    """The part of forecast.json that a task reads."""

    pace: _ForecastThreads


def threads_of(ledger: Ledger) -> int:
    """The threads; all of them in a run that has no forecast."""
    found = ledger.find(keys.FORECAST.of(_ForecastRead))
    return tuning.CLIENT_OPERATIONS_IN_FLIGHT if found is None else found.pace.threads
