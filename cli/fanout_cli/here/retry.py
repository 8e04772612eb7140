"""The request that goes on with a run of this machine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fanout.ledger.keys import PLAN
from fanout_cli.command_error import CommandError
from fanout_cli.here.ledger import HereLedger
from fanout_cli.runs.advice import changes_of, request_of_retry


def retried(ledger: HereLedger, run: str | None, changes: Sequence[str], *, again: bool) -> tuple[Any, tuple[Any, Any]]:
    """The request, and its ends. Raises ``CommandError`` for a run that is at work, or that is not there."""
    run_id = ledger.found(run)
    if ledger.is_at_work(run_id):
        raise CommandError(f"{run_id} is still at work; wait for its end, or stop it with Ctrl-C where it runs")
    planned = ledger.read(run_id, PLAN) is not None
    other = changes_of(changes)
    request = request_of_retry(
        run_id, ledger.mode(run_id), lambda: ledger.asked(run_id), planned=planned, again=again, changes=other
    )
    return request, _ends(ledger, run_id, request)


def _ends(ledger: HereLedger, run_id: str, request: Any) -> tuple[Any, Any]:
    """The ends of a request, or of the run that it resumes, and so on."""
    seen: set[str] = set()
    while isinstance(request, dict) and "source" not in request and run_id not in seen:
        seen.add(run_id)
        run_id = str(request.get("resume_from", run_id))
        request = ledger.asked(run_id)
    ends = request if isinstance(request, dict) else {}
    return ends.get("source"), ends.get("destination")
