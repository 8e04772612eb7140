"""The phases of a run, in their order: one object each, which a new phase is added as.

The forecast, the count of dollars and those who watch a run ask the phases; none of them knows one by its name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec import Struct

from fanout.checksums.forecast import computed, computing
from fanout.efs.capacity import Load
from fanout.efs.load import RequestCount, Work
from fanout.efs.phase_cost import MAP_SECONDS, STATE_SECONDS, Basis, Overhead, PhaseCost, WorkDone
from fanout.facts import aws
from fanout.facts.tuning import CLIENT_OPERATIONS_IN_FLIGHT
from fanout.forecast.between_regions import to_copy
from fanout.forecast.deleting import EFS_LOOK_SECONDS, deleted, deleting
from fanout.forecast.verifying import verified, verifying
from fanout.forecast.way import Overheads
from fanout.request.options import Verify
from fanout.request.request import Request
from fanout.restoring.forecast import restored, restoring

# Requests to the work bucket, calls and states of a publication; of a shard that links what the version before holds.
PUBLISHING = Overheads(Overhead(gets=21, puts=8, calls=1, transitions=2), Overhead(gets=3, puts=2))
LINKED_SHARD = Overhead(gets=4, puts=1)


def publishing(request: Request, work: Work, basis: Basis) -> PhaseCost:
    """Removing one old version; a run that removes none is sooner done."""
    loads = loads_to_publish(request, work)
    if not loads:
        return PhaseCost()
    each = (EFS_LOOK_SECONDS + aws.EFS_WRITE_SECONDS) / CLIENT_OPERATIONS_IN_FLIGHT
    seconds = STATE_SECONDS + work.listed * each
    linked = work.shards * work.linked.entries / max(1, work.linked.entries + work.entries)
    overhead = PUBLISHING.run + PUBLISHING.shard * work.shards + LINKED_SHARD * linked
    return PhaseCost(seconds=seconds, function_seconds=seconds, loads=loads, overhead=overhead)


def published(request: Request, done: WorkDone, _price: Mapping[str, float]) -> PhaseCost:
    """The requests and states of a publication, as far as shards were copied for it; no old version is counted."""
    shards = done.tasks - done.tasks_after if request.publish is not None else 0
    return PhaseCost(overhead=PUBLISHING.run + PUBLISHING.shard * shards if shards else Overhead())


def loads_to_publish(request: Request, work: Work) -> Mapping[str, Load]:
    """The load of removing one old version: a look at each of its names, and the removal, at the least metered size."""
    if request.publish is None or request.destination.is_keyed:
        return {}
    names, least = float(work.listed), float(work.listed * aws.EFS_LEAST_METERED)
    return {request.destination.mount: Load(names, least, names, least)}


# Assumed: seconds that SummariseTransfer takes for a shard: four requests of 20 ms, 16 shards at once.
SUMMARY_SECONDS_PER_SHARD = 4 * 0.02 / 16


class Phase(Struct, frozen=True, kw_only=True):
    """A phase: its name in the ledger, whether a run has it, and what it adds to the copy.

    Its begin is noted, unless it is carried out ``inside`` of another. ``waits`` says what its seconds depend on that
    is neither a function's nor a file system's, so that no other setting can be tried on them.
    ``predicted`` is its addition to a forecast; ``spent`` the requests, the load and the dollars of what it has done.
    Those of the copy itself are in no phase, but for its transfer between regions.
    """

    name: str
    inside: str = ""
    waits: str = ""
    runs: Callable[[Request], bool] = lambda _: True
    predicted: Callable[[Request, Work, Basis], PhaseCost] = lambda *_: PhaseCost(seconds=STATE_SECONDS)
    spent: Callable[[Request, WorkDone, Mapping[str, float]], PhaseCost] = lambda *_: PhaseCost()


def _copying(request: Request, work: Work, basis: Basis) -> PhaseCost:
    services = to_copy(request, work.bytes, work.compared.bytes, basis.regions, basis.price)
    return PhaseCost(seconds=MAP_SECONDS + basis.copy_seconds if work.shards else 0.0, services=services)


PHASES = (
    Phase(name="plan"),
    Phase(
        name="list",
        runs=lambda request: not request.course.goes_back,
        predicted=lambda _, work, basis: PhaseCost(seconds=basis.list_seconds, requests=RequestCount(gets=work.heads)),
        spent=lambda _, done, _price: PhaseCost(requests=RequestCount(gets=done.heads)),
    ),
    Phase(name="partition", runs=lambda request: not request.course.goes_back),
    Phase(
        name="copy",
        runs=lambda request: request.course.copies,
        predicted=_copying,
        spent=lambda request, done, price: PhaseCost(
            services=to_copy(request, done.moved.bytes, 0, done.regions, price)
        ),
    ),
    Phase(
        name="restore",
        inside="copy",
        waits="waited for archived objects",
        runs=lambda request: request.course.copies and request.brings_back,
        predicted=restoring,
        spent=restored,
    ),
    Phase(name="finish", runs=lambda request: request.course.copies),
    Phase(name="delete", runs=lambda request: request.course.deletes_extras, predicted=deleting, spent=deleted),
    Phase(
        name="checksums",
        inside="verify",
        runs=lambda request: request.computes_checksums,
        predicted=computing,
        spent=computed,
    ),
    Phase(
        name="verify",
        runs=lambda request: request.course.compares or request.verifies_after is not Verify.NONE,
        predicted=verifying,
        spent=verified,
    ),
    # A move deletes what the verification has proven.
    Phase(name="delete", runs=lambda request: request.course.deletes_proven, predicted=deleting, spent=deleted),
    Phase(
        name="publish",
        runs=lambda request: request.publish is not None and not request.course.plans,
        predicted=publishing,
        spent=published,
    ),
    Phase(
        name="summarise",
        predicted=lambda _, work, _basis: PhaseCost(seconds=STATE_SECONDS + work.shards * SUMMARY_SECONDS_PER_SHARD),
    ),
)

# Each phase once, whatever the mode; and the names of those whose begin a run notes.
ONCE = tuple({phase.name: phase for phase in PHASES}.values())
NOTED = tuple(phase.name for phase in ONCE if not phase.inside)

# The phases that are carried out inside of others, by those.
INSIDE = {phase.name: phase.inside for phase in ONCE if phase.inside}


def phases_of(request: Request) -> tuple[Phase, ...]:
    """The phases of a run of this request, as far as each has something to do."""
    return tuple(phase for phase in PHASES if phase.runs(request))
