"""The time that a stack with its defaults would take, where that is less than half of the time on this machine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fanout.report.text import dollars, duration

# Chosen: nobody deploys a stack to save less.
WORTH_SECONDS = 60.0
_WORKS = ("copied", "failed", "rejected")


def on_aws(document: dict[str, Any], summary: Mapping[str, Any]) -> str:
    """One line; empty where AWS would save little, or the run says nothing of its tree.

    ``document`` is the request, ``summary`` the run's. A plan compares two predictions, as nothing was copied here.
    """
    totals, planned = summary["totals"], summary.get("planned")
    copied = [planned["to_copy"]] if planned is not None else [totals[name] for name in _WORKS]
    took = summary["seconds"] if planned is None else (summary.get("forecast") or {})["predicted_seconds"]
    here, entries = sum(took.values()), sum(one["entries"] for one in copied)
    if not entries or here < WORTH_SECONDS:
        return ""
    return _compared(document, entries, sum(one["bytes"] for one in copied), totals["unchanged"], here)


def _compared(document: dict[str, Any], entries: int, size: int, unchanged: Mapping[str, int], here: float) -> str:
    # Of a run of a second, this is a tenth.
    from fanout.model.file_system import ThroughputMode
    from fanout.request.parse import parse_request
    from fanout_cli.arguments import mounts_of
    from fanout_cli.estimates.estimate import state_of
    from fanout_cli.estimates.from_totals import EstimateFacts, estimate
    from fanout_cli.estimates.on_paper import STACK_CONCURRENCY

    mounts = mounts_of(document)
    states = dict.fromkeys(mounts, state_of(ThroughputMode.ELASTIC, "0", "", 0))
    known = EstimateFacts(
        entries, size, states=states, unchanged=unchanged["entries"], unchanged_bytes=unchanged["bytes"]
    )
    found = estimate(parse_request(document, mounts, STACK_CONCURRENCY), known)
    there = sum(found.seconds.values())
    if there * 2 >= here:
        return ""
    return (
        f"on AWS: about {duration(there)} with {STACK_CONCURRENCY} functions, {dollars(found.dollars.total)}"
        " (fanout estimate says what that assumes)"
    )
