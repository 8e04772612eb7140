"""The outcomes of an earlier run, and by when each of them was done."""

from __future__ import annotations

from fanout.ledger import keys
from fanout.ledger.documents import PhaseBegan
from fanout.ledger.ledger import Ledger
from fanout.model.entry import Entry, Kind
from fanout.model.entry_outcome import Outcome
from fanout.request.units import parse_time
from fanout.resuming.rules import better


def ended_ns(ledger: Ledger) -> int | None:
    """The time at which the earlier run wrote its summary, to the second below; ``None`` where it has none."""
    summary = ledger.find_json(keys.SUMMARY)
    ended = summary.get("ended") if isinstance(summary, dict) else None
    return parse_time(ended) if isinstance(ended, str) else None


def entry_of(outcome: Outcome) -> Entry:
    """The entry of an outcome, which knows none of its times."""
    return Entry(outcome.path, Kind(outcome.kind), outcome.size)


def began(ledger: Ledger) -> float:
    """The time at which the earlier run began, in seconds since 1970: what it found unchanged stood there before."""
    found = ledger.find(keys.phase_key("plan"), PhaseBegan)
    return found.began if found is not None else 0.0


def outcomes_of(shard_id: str, ledger: Ledger) -> dict[int, Outcome]:
    """The outcomes of a shard that count, by the index of their entry."""
    return timed_outcomes_of(shard_id, ledger)[0]


def timed_outcomes_of(shard_id: str, ledger: Ledger) -> tuple[dict[int, Outcome], dict[int, float]]:
    """The outcomes that count, and by when each was done, in seconds since 1970; 0 where nobody said.

    Of several attempts, which may all have copied, the last one's time counts.
    """
    outcomes: dict[int, Outcome] = {}
    times: dict[int, float] = {}
    for file in ledger.outcome_files(shard_id):
        for index, outcome in ledger.read_outcomes(file):
            outcomes[index] = better(outcomes.get(index), outcome)
            times[index] = max(file.at, times.get(index, 0.0))
    return outcomes, times
