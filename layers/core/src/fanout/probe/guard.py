"""Whether a file system has what a probe's budget needs.

Every byte of the budget counts as written, which errs towards the file system: what is read is metered as a third.
"""

from __future__ import annotations

from fanout.efs.model import FileSystemState, reserve_bytes
from fanout.facts.units import MIB
from fanout.model.errors import InvalidRequest
from fanout.probe.experiments import ProbeRequest


def check_credits(state: FileSystemState, request: ProbeRequest) -> None:
    """Raise ``InvalidRequest`` where the budget would spend burst credits that are to stay for others."""
    if state.credits_bytes is None:
        return
    spare = state.credits_bytes - reserve_bytes(state, request.credit_reserve_percent)
    if spare >= request.budget_bytes:
        return
    why = "; ".join(note for note in state.assumptions if note.startswith("BurstCredit"))
    problem = f"{_mib(request.budget_bytes)} are more than the burst credits that may be spent, {_mib(max(0.0, spare))}"
    allowed = "wait for credits, or ask for less or for a smaller credit_reserve_percent"
    raise InvalidRequest("budget_bytes", f"{problem} ({why})" if why else problem, allowed)


def check_space(free_bytes: int, request: ProbeRequest) -> None:
    """Raise ``InvalidRequest`` where the budget would fill the file system."""
    if free_bytes < request.budget_bytes:
        problem = f"{_mib(request.budget_bytes)} are more than what is free, {_mib(free_bytes)}"
        raise InvalidRequest("budget_bytes", problem, "free space, or ask for less")


def _mib(size: float) -> str:
    return f"{int(size // MIB):,} MiB"
