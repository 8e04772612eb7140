"""How many functions a run gets: enough to reach the limit of its file systems, no more."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from fanout.domain import limits
from fanout.domain.efs_model import FileSystemState, Load, iops_seconds, kept_rate, reserve_bytes
from fanout.domain.weights import Rates

# Chosen, below what is measured (docs/benchmarks.md): 300 files a second and the network of a function. A function that
# turns out faster only waits for the file system; too few of them would leave the limit unreached.
SURE_RATES = Rates(seconds_per_entry=1 / 300, bytes_per_second=float(limits.LAMBDA_NETWORK_BYTES_PER_SECOND))


@dataclass(frozen=True, slots=True)
class Pace:
    """Functions at once, threads of each, and bytes a second of each (of data, not metered ones).

    ``floor_seconds`` is the time that the file systems take at least at this pace.
    """

    max_concurrency: int
    threads: int
    bytes_per_second: float
    floor_seconds: float


def limit_seconds(state: FileSystemState, load: Load, reserve_percent: float) -> tuple[float, float]:
    """Seconds that throughput and that operations take at least, the first with the reserve of credits kept."""
    metered = load.metered_bytes
    if not metered:
        return 0.0, iops_seconds(state, load)
    seconds = metered / kept_rate(state, metered, reserve_bytes(state, reserve_percent))
    if state.credits_bytes is None:  # of Elastic and Provisioned, reads have a limit of their own
        seconds = max(seconds, load.read_bytes / state.quota.read_bytes_per_second)
    return seconds, iops_seconds(state, load)


def pace(
    entries: int,
    size: int,
    loads: Mapping[str, Load],
    states: Mapping[str, FileSystemState],
    most: int,
    reserve_percent: float,
    rates: Rates,
) -> Pace:
    """The pace of copying so many entries of ``size`` bytes in all with ``most`` functions or fewer.

    A function is taken to do ``SURE_RATES``, rounded up to one more; but where credits are spent ``rates``, the best
    that it does, rounded down, so that the reserve stays. One function is the least, even if it is too fast.
    """
    measured = [(states[mount], load) for mount, load in loads.items() if mount in states]
    floor = max((max(limit_seconds(state, load, reserve_percent)) for state, load in measured), default=0.0)
    threads = limits.CLIENT_OPERATIONS_IN_FLIGHT
    if floor <= 0:
        return Pace(most, threads, rates.bytes_per_second, 0.0)
    careful = any(state.credits_bytes is not None for state, _ in measured)
    best = rates.seconds(entries, size)
    wanted = math.floor(best / floor) if careful else math.ceil(SURE_RATES.seconds(entries, size) / floor)
    functions = max(1, min(most, wanted))
    threads = max(1, min(threads, math.ceil(threads * best / functions / floor)))
    return Pace(functions, threads, min(rates.bytes_per_second, size / functions / floor), floor)
