"""Values for the seconds, the load and the dollars that a phase adds to a run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec import Struct, field
from msgspec.structs import astuple

from fanout.efs.capacity import FileSystemState, Load, merged
from fanout.efs.load import RequestCount
from fanout.model.books import Count
from fanout.model.shard import Rates

# Assumed: seconds of a state that calls one function which has little to do, and of starting the Map of a phase.
STATE_SECONDS = 3.0
MAP_SECONDS = 5.0


class Overhead(Struct, frozen=True):
    """Requests to the work bucket, metrics, GB-seconds and calls of functions, transitions, and requests to KMS."""

    gets: float = 0.0
    puts: float = 0.0
    metrics: float = 0.0
    gb_seconds: float = 0.0
    calls: float = 0.0
    transitions: float = 0.0
    signatures: float = 0.0

    def __add__(self, other: Overhead) -> Overhead:
        return Overhead(*map(sum, zip(astuple(self), astuple(other), strict=True)))

    def __mul__(self, times: float) -> Overhead:
        return Overhead(*(times * one for one in astuple(self)))


class Basis(Struct, frozen=True, kw_only=True):
    """The figures of the copy, from which the phases during and after it are predicted.

    ``list_seconds`` are those of listing both ends in so many ``segments``, ``copy_seconds`` those of the copy, for
    which its functions work ``function_seconds`` together, at most ``functions`` at once. ``states`` are by mount,
    ``regions`` those of the buckets that are not in the stack's.
    """

    list_seconds: float
    segments: int
    copy_seconds: float
    function_seconds: float
    functions: int
    rates: Rates
    states: Mapping[str, FileSystemState]
    price: Mapping[str, float]
    regions: Mapping[str, str] = field(default_factory=dict)


class WorkDone(Struct, frozen=True, kw_only=True):
    """The work that a run has done: entries listed and deleted, what was moved, and what was verified after a copy.

    ``tasks`` copied or compared for ``task_seconds`` together, over ``copying_seconds`` of the run; of these
    ``tasks_after`` for ``seconds_after`` verified after a copy, for which whole trees were listed again in ``rounds``
    of ``segments``. Both listings took so many ``heads`` besides their pages. ``asked_back`` was asked for,
    by what held it; ``computed`` are jobs that compute checksums, and their objects. ``regions`` are those of the
    buckets that are not in the stack's. ``sizes`` and ``directories`` are those of ``Work``.
    """

    listed: int
    moved: Count
    verified: Count
    deleted: int
    tasks: int
    task_seconds: float
    copying_seconds: float
    tasks_after: int = 0
    seconds_after: float = 0.0
    rounds: int = 0
    segments: int = 0
    heads: int = 0
    asked_back: Mapping[str, Count] = field(default_factory=dict)
    computed: tuple[int, int] = (0, 0)
    regions: Mapping[str, str] = field(default_factory=dict)
    sizes: tuple[Count, ...] = ()
    directories: int | None = None


class PhaseCost(Struct, frozen=True, kw_only=True):
    """The addition of one phase to a run; ``seconds`` is ``None`` of a phase that has nothing to do.

    ``function_seconds`` are those of functions as large as those that copy, ``loads`` are by mount. ``services``
    are dollars that no other figure holds, by the name of the service in the summary.
    """

    seconds: float | None = None
    function_seconds: float = 0.0
    loads: Mapping[str, Load] = field(default_factory=dict)
    requests: RequestCount = RequestCount()
    overhead: Overhead = Overhead()
    services: Mapping[str, float] = field(default_factory=dict)


def together(costs: Iterable[PhaseCost]) -> PhaseCost:
    """The sum of phases, but for their seconds."""
    function_seconds = 0.0
    services: dict[str, float] = {}
    costs = list(costs)
    loads = merged(cost.loads for cost in costs)
    requests, overhead = RequestCount(), Overhead()
    for cost in costs:
        function_seconds += cost.function_seconds
        requests, overhead = requests + cost.requests, overhead + cost.overhead
        for name, dollars in cost.services.items():
            services[name] = services.get(name, 0.0) + dollars
    return PhaseCost(
        function_seconds=function_seconds, loads=loads, requests=requests, overhead=overhead, services=services
    )
