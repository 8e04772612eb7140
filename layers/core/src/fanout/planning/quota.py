"""How many functions a run starts at once, by what Lambda lets the account run."""

from __future__ import annotations

from msgspec.structs import replace

from fanout.efs.measure import asked
from fanout.model.errors import FanoutError
from fanout.request.parts.limits import most_functions
from fanout.request.request import Request
from fanout.work.context import Context


def find_quota(context: Context, notes: list[str]) -> int | None:
    """The most functions that a run may start at once; ``None`` where nothing says so, with a note why.

    Functions with reserved concurrency get that, whatever the account lets others run.
    """
    reserved, account = context.stack.facts.reserved_concurrency, context.stack.account
    if reserved:
        return reserved
    if account is None:
        return None
    try:
        return most_functions(asked(account.unreserved_concurrency, context))
    except FanoutError as error:
        problem = f"{type(error).__name__}: {error}"
        notes.append(f"how many functions the account lets run is not known, so the run's own limit holds ({problem})")
        return None


def within_quota(request: Request, quota: int | None, context: Context, notes: list[str]) -> Request:
    """The request with no more functions than the quota; a note says what was lowered, and why."""
    wanted = request.limits.max_concurrency
    if quota is None or wanted <= quota:
        return request
    why = (
        f"ReservedFanOutConcurrency is {quota:,}"
        if context.stack.facts.reserved_concurrency
        else "of the concurrency that the account has without reservations, a tenth, and 2 at least, stays for others"
    )
    notes.append(f"limits.max_concurrency is {quota:,} and not {wanted:,}: {why}")
    return replace(request, limits=replace(request.limits, max_concurrency=quota))
