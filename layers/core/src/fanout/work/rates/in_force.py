"""The one reader of limits.json and pacing/rate.json: what is not valid there leaves what held before."""

from __future__ import annotations

from typing import TypeVar

from fanout.ledger.kind import ObjectKind
from fanout.ledger.ledger import Ledger
from fanout.ledger.objects import START_AGAIN
from fanout.model.errors import LedgerBroken
from fanout.request.request import Request
from fanout.work.rates.run_limits import LIMITS, PACED_RATE, PacedRate, RunLimits


def limits_asked(request: Request) -> RunLimits:
    """The limits of a request, which hold until somebody changes them."""
    return RunLimits(request.limits.bytes_per_second, request.limits.files_per_second)


Rates = TypeVar("Rates", RunLimits, PacedRate)


def limits_in_force(ledger: Ledger, known: RunLimits | None = None) -> tuple[RunLimits, str]:
    """The limits of a run as limits.json has them, and an empty text.

    Where it is not valid, or is gone, the ``known`` ones stay: at first those of the request. The text says why.
    """
    found, problem = _found(ledger, LIMITS, known)
    if found is None and problem:
        found = limits_asked(ledger.read_plan().request)
    return found or RunLimits(), problem


def paced_in_force(ledger: Ledger, known: PacedRate) -> tuple[PacedRate, str]:
    """The same of the pacing's rate."""
    found, problem = _found(ledger, PACED_RATE, known)
    return found or known, problem


def _found(ledger: Ledger, key: ObjectKind[Rates], known: Rates | None) -> tuple[Rates | None, str]:
    try:
        found = ledger.find(key)
    except LedgerBroken as error:
        problem = str(error).removesuffix(f"; {START_AGAIN}")
        return known, f"{problem}; what held before holds on, at first the limits of the request"[:500]
    return known if found is None else found, ""
