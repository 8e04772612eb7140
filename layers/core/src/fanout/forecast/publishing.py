"""Forecasts the publishing of a version: one old version is removed, by one function."""

from __future__ import annotations

from collections.abc import Mapping

from fanout.efs.load import Work
from fanout.efs.model import Load
from fanout.efs.phase_cost import STATE_SECONDS, Basis, PhaseCost
from fanout.facts import aws
from fanout.facts.tuning import CLIENT_OPERATIONS_IN_FLIGHT
from fanout.forecast.deleting import EFS_LOOK_SECONDS
from fanout.request.request import Request


def publishing(request: Request, work: Work, basis: Basis) -> PhaseCost:
    """Removing one old version; a run that removes none is sooner done."""
    loads = loads_to_publish(request, work)
    if not loads:
        return PhaseCost()
    each = (EFS_LOOK_SECONDS + aws.EFS_WRITE_SECONDS) / CLIENT_OPERATIONS_IN_FLIGHT
    seconds = STATE_SECONDS + work.listed * each
    return PhaseCost(seconds=seconds, function_seconds=seconds, loads=loads)


def loads_to_publish(request: Request, work: Work) -> Mapping[str, Load]:
    """The load of removing one old version: a look at each of its names, and the removal, at the least metered size."""
    if request.publish is None or request.destination.is_keyed:
        return {}
    names, least = float(work.listed), float(work.listed * aws.EFS_LEAST_METERED)
    return {request.destination.mount: Load(names, least, names, least)}
