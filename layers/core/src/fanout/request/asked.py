"""Whether a plan is of a request: its fields are those of the document, but for what planning fills in.

| field of the plan's request | planning fills in                                                  |
|-----------------------------|--------------------------------------------------------------------|
| ``filters``                 | the moment that ages are reckoned from; names of S3 Files left out |
| ``limits.max_concurrency``  | the stack's, or less where the account lets fewer functions run    |
| ``prices``                  | the stack's, where the request names none                          |
| ``function``                | the size of the stack's functions                                  |
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from fanout.facts.mounts import S3_FILES
from fanout.model.errors import InvalidRequest
from fanout.model.file_system import Behind
from fanout.request.parse import parse_request
from fanout.request.plan import Plan
from fanout.request.request import Request, request_at

OWN_NAMES = f"/{S3_FILES.own_names}*"
# Planning has held the request against the stack's own figure.
_ANY_NUMBER = 1_000_000


def without_own_names(request: Request, behind: Mapping[str, Behind]) -> Request:
    """The request that leaves out what S3 Files keeps at the root of such a mount, at either end."""
    if not behind:
        return request
    filters = request.filters
    return replace(request, filters=replace(filters, exclude=(*filters.exclude, OWN_NAMES)))


def is_plan_of(plan: Plan, document: Any, mounts: tuple[str, ...]) -> bool:
    """Whether the plan carries out the request that the document is; ``mounts`` are the stack's, in their order."""
    try:
        asked = parse_request(document, mounts, _ANY_NUMBER)
    except InvalidRequest:
        return False
    return _with_filled_in(without_own_names(asked, plan.behind), plan.request) == plan.request


def is_same_plan(known: Plan, plan: Plan) -> bool:
    """Whether two attempts at planning made these: equal but for times, and for what each attempt measures."""
    measured = {name: getattr(plan, name) for name in MEASURED}
    both_move = (known.move_began is None) is (plan.move_began is None)
    return both_move and replace(known, request=_with_filled_in(known.request, plan.request), **measured) == plan


# The fields of a plan in which two attempts of one run may differ: times and measurements.
MEASURED = ("rates", "creations_per_second", "quota", "began", "move_began", "asked")


def _with_filled_in(request: Request, planned: Request) -> Request:
    """The request with what the table of the module names as it is in a planned one."""
    limits = replace(request.limits, max_concurrency=planned.limits.max_concurrency)
    prices = {**planned.prices, **request.prices}
    moment = planned.filters.ages_from_ns
    return replace(request_at(request, moment), limits=limits, prices=prices, function=planned.function)
