"""The request that goes on with a run of this machine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fanout.ledger.keys import PLAN
from fanout_cli.here.ledger import HereLedger
from fanout_cli.runs.advice import changes_of, request_of_retry


def retried(ledger: HereLedger, run: str | None, changes: Sequence[str], *, again: bool) -> tuple[Any, dict[str, Any]]:
    """The request, and the one that names its ends. Raises ``CommandError`` for a run that is at work, or not there."""
    run_id = ledger.found(run)
    ledger.refuse_at_work(run_id)
    planned = ledger.read(run_id, PLAN) is not None
    other = changes_of(changes)

    def stored() -> Any:
        asked = ledger.asked(run_id)
        return first_request(ledger, asked) if again or other else asked

    request = request_of_retry(run_id, ledger.mode(run_id), stored, planned=planned, again=again, changes=other)
    return request, first_request(ledger, request)


def first_request(ledger: HereLedger, request: Any) -> dict[str, Any]:
    """A request that names its ends: this one, or that of the run that it resumes, and so on; else an empty one."""
    seen: set[str] = set()
    while isinstance(request, dict) and "source" not in request:
        run_id = str(request.get("resume_from", ""))
        if not run_id or run_id in seen:
            return {}
        seen.add(run_id)
        request = ledger.asked(run_id)
    return request if isinstance(request, dict) else {}
