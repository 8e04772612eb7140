"""Decides the functions of a run, and the threads of each: enough to reach the limit of its file systems, no more.

``floor`` is the least seconds of the slowest measured file system. ``sure`` and ``best`` are the seconds of one
function for all of the work, if it is slow and at its best.

| file systems           | functions                                    | threads of each                          |
|------------------------|----------------------------------------------|------------------------------------------|
| none measured          | the most                                     | 64                                       |
| none with credits      | ``sure / floor``, rounded up                 | 64; of one that alone is too fast,       |
|                        |                                              | ``sure / floor`` of them, rounded up     |
| one with burst credits | ``best / floor``, rounded down, at least one | 64; of one that alone is too fast,       |
|                        |                                              | ``best / floor`` of them, rounded up     |

Never more functions than the request and the stack allow. Bytes a second of each are all bytes over the functions and
the floor, but not over its best.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from msgspec import Struct

from fanout.efs.capacity import FileSystemState, Load, iops_seconds, kept_rate, reserve_bytes
from fanout.facts import aws, tuning
from fanout.model.shard import Rates

# Chosen, below what is measured (docs/develop/benchmarks/mounts.md): 300 files a second and the network of a function.
# A function that turns out faster only waits for the file system; too few of them would leave the limit unreached.
SURE_RATES = Rates(seconds_per_entry=1 / 300, bytes_per_second=float(aws.LAMBDA_NETWORK_BYTES_PER_SECOND))


class Pace(Struct, frozen=True):
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


def rates_at(rates: Rates, threads: int) -> Rates:
    """The rates of a function with fewer threads than operations in flight: a file takes longer, a byte does not."""
    slower = tuning.CLIENT_OPERATIONS_IN_FLIGHT / threads
    return Rates(rates.seconds_per_entry * slower, rates.bytes_per_second)


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

    It assumes slow functions, so that enough of them reach the limit. Where credits are spent it assumes their best,
    ``work.rates``, so that the reserve stays.
    """
    measured = [(states[mount], load) for mount, load in loads.items() if mount in states]
    floor = max((max(limit_seconds(state, load, reserve_percent)) for state, load in measured), default=0.0)
    threads = tuning.CLIENT_OPERATIONS_IN_FLIGHT
    if floor <= 0:
        return Pace(most, threads, rates.bytes_per_second, 0.0)
    careful = any(state.credits_bytes is not None for state, _ in measured)
    best = rates.seconds(entries, size)
    taken = best if careful else SURE_RATES.seconds(entries, size)
    functions = max(1, min(most, math.floor(taken / floor) if careful else math.ceil(taken / floor)))
    if functions == 1:
        threads = max(1, min(threads, math.ceil(threads * taken / floor)))
    return Pace(functions, threads, min(rates.bytes_per_second, size / functions / floor), floor)
