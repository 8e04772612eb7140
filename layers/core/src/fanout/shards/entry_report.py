"""Writes the entries of a run one by one, as JSON lines that Athena reads: ``report_entries`` of a request.

| rows                                    | written by                                              | for          |
|-----------------------------------------|---------------------------------------------------------|--------------|
| copied, unchanged, skipped, deleted     | the task that writes their outcomes into the ledger     | all          |
| failed, rejected, without any outcome   | SummariseTransfer, which walks them for failures.jsonl  | failed, all  |

So no function walks all entries, and an entry that one attempt could not copy and another did is not reported as
failed. Two attempts at one shard at the same time may both report an entry that both copied.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

from fanout.ledger import keys
from fanout.ledger.ledger import Ledger
from fanout.model.document import Json
from fanout.model.entry_outcome import Outcome
from fanout.model.outcome import TROUBLE
from fanout.request.options import ReportEntries
from fanout.request.plan import Plan

# Rows of one file: bounds the memory that writing it takes.
ROWS_PER_FILE = 50_000


def report_done(plan: Plan, ledger: Ledger, phase: str, name: str, outcomes: Iterable[Outcome]) -> None:
    """Write those of a task's outcomes that are neither failed nor rejected, if the request reports all entries.

    ``name`` is the task's own, or such that a task that runs again writes the same files.
    """
    if plan.request.report_entries is ReportEntries.ALL and not ledger.is_verification:
        write_entries(ledger, phase, name, (one for one in outcomes if one.result not in TROUBLE))


def write_entries(ledger: Ledger, phase: str, name: str, outcomes: Iterable[Outcome]) -> None:
    """Write outcomes in files of ``ROWS_PER_FILE``; nothing for none."""
    rows = (_row(phase, one) for one in outcomes)
    number = 0
    while some := list(islice(rows, ROWS_PER_FILE)):
        ledger.write_rows(keys.entries_key(phase, f"{name}-{number:04d}"), some)
        number += 1


def _row(phase: str, outcome: Outcome) -> Json:
    """The columns of the table in docs/how-to/look-at-entries.md; ``None`` where there is nothing to say."""
    return {
        "outcome": outcome.result.value,
        "phase": phase,
        "kind": outcome.kind,
        "size": outcome.size,
        "path": outcome.path,
        "reason": None if outcome.reason is None else outcome.reason.value,
        "message": outcome.message or None,
        "crc64nvme": outcome.crc64nvme,
        "seconds": None if outcome.seconds is None else round(outcome.seconds, 4),
    }
