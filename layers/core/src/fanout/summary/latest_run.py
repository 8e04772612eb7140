"""Keeps the figures of the last run with the same source, destination and mode, which the next one's report shows.

They lie next to the runs, one document for the ends and the mode. Each run that is summarised writes it whole; of two
runs that end at the same time either one stays.
"""

from __future__ import annotations

from msgspec import Struct

from fanout.books.summary_document import EarlierRun, SummaryDocument, figures_of
from fanout.ledger import run_places
from fanout.ledger.ledger import Ledger
from fanout.ledger.objects import START_AGAIN
from fanout.model.errors import LedgerBroken
from fanout.request.plan import Plan


class Latest(Struct, frozen=True):
    """The last run, and the one before it: a second attempt to summarise the last run finds that one."""

    run: EarlierRun
    before: EarlierRun | None


def find_earlier(plan: Plan, ledger: Ledger) -> tuple[EarlierRun | None, list[str]]:
    """The run before this one, and a note if its figures cannot be read; ``None`` if none is on record."""
    try:
        latest = ledger.of_run(run_places.LATEST).find(_key(plan), Latest)
    except LedgerBroken as error:
        problem = str(error).removesuffix(f"; {START_AGAIN}")
        return None, [f"the figures of the run before cannot be read, so none stand beside this one's: {problem}"[:500]]
    if latest is None:
        return None, []
    return (latest.before if latest.run.run_id == plan.run_id else latest.run), []


def write_latest(plan: Plan, summary: SummaryDocument, ledger: Ledger) -> None:
    """Make this run the one that the next run is compared with."""
    ledger.of_run(run_places.LATEST).write(_key(plan), Latest(figures_of(summary), summary.earlier))


def _key(plan: Plan) -> str:
    request = plan.request
    return run_places.latest_key(str(request.source), str(request.destination), request.mode.value)
