"""The rounds of a listing, and the way of a run: the functions, states and requests to the work bucket that it takes.

A small run is carried from the listing to the end of the copy by one function (``flow/short_way.py``), any other by one
for each step. The figures are those of whole runs of the handlers that tests/functions/test_forecast_counts.py counts;
it fails where they are a tenth away.

| the function is                               | assumed to take                                        |
|-----------------------------------------------|--------------------------------------------------------|
| cold: its sandbox, its imports, its mount     | ``COLD_SECONDS``                                       |
| warm                                          | ``WARM_SECONDS``                                       |
| at work besides                               | ``REQUEST_SECONDS`` a request that waits for another   |
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from msgspec import Struct

from fanout.efs.load import Work
from fanout.efs.phase_cost import Overhead
from fanout.facts import tuning
from fanout.request.proven_ends import ends_to_prove
from fanout.request.request import Request, may_go_short

# Assumed, below what is measured (docs/develop/benchmarks/listing.md): entries that one function lists, decides and
# writes a second.
LISTED_PER_SECOND = 5_000
# Assumed: seconds of a round besides the listing: starting the Map and its children, gathering.
ROUND_SECONDS = 10
# Assumed: entries of one segment at least, when what is left is cut.
PIECE_ENTRIES = 5_000


class ListingWalk(Struct, frozen=True):
    """Rounds, segments in all and in the widest round, seconds by the clock, and those of all functions together."""

    rounds: int
    segments: int
    widest_round: int
    seconds: float
    function_seconds: float


def walk_listing(entries: int, functions: int) -> ListingWalk:
    """Walk the rounds of so many entries with so many functions at once; segments are cut evenly."""
    left, width, rounds, segments, widest = float(entries), 1, 0, 0, 0
    seconds_in_all = 0.0
    by_functions = 0.0
    while left >= 1:
        few = width < tuning.FRONTIER_SEGMENTS // 4
        seconds = tuning.FIRST_SEGMENT_SECONDS if few else tuning.SEGMENT_SECONDS
        most = tuning.FIRST_SEGMENT_ENTRIES if few else tuning.SEGMENT_ENTRIES
        of_one = min(seconds * LISTED_PER_SECOND, most)
        listed = min(left, of_one * width)
        rounds, segments, widest = rounds + 1, segments + width, max(widest, width)
        waves = math.ceil(width / functions)
        seconds_in_all += ROUND_SECONDS + waves * min(seconds, listed / width / LISTED_PER_SECOND)
        by_functions += listed / LISTED_PER_SECOND
        left -= listed
        ways = max(2, math.ceil(tuning.FRONTIER_SEGMENTS / width))
        width = min(width * ways, max(1, math.floor(left / PIECE_ENTRIES)))
    return ListingWalk(rounds, segments, widest, seconds_in_all, by_functions)


COLD_SECONDS, WARM_SECONDS, REQUEST_SECONDS = 1.5, 0.05, 0.02


class Overheads(Struct, frozen=True):
    """Gets and puts (lists too) to the work bucket, calls of functions, states: of a run, and of each of its shards."""

    run: Overhead = Overhead()
    shard: Overhead = Overhead()


# A round of listing and each of its segments, and what a run takes besides, by the work that it is for; a plan takes no
# more than a copy. States around its shards.
ROUND = Overhead(gets=12, puts=2, calls=1, transitions=5)
SEGMENT = Overhead(gets=6, puts=4, calls=1, transitions=2)
RUNS = {
    "copy": Overheads(
        Overhead(gets=38, puts=34, calls=5, transitions=11),
        Overhead(gets=9, puts=6, calls=1, transitions=4),
    ),
    "verify": Overheads(
        Overhead(gets=18, puts=18, calls=4, transitions=5),
        Overhead(gets=7, puts=6, calls=1, transitions=4),
    ),
}
AROUND_SHARDS = {"copy": Overhead(gets=1, transitions=9), "verify": Overhead(transitions=4)}
# More where the destination is a mount, where the source of a copy is, and where a function sees one of two.
TO_MOUNT = {
    "copy": Overheads(Overhead(gets=31, puts=2), Overhead(gets=1)),
    "verify": Overheads(Overhead(gets=4, puts=1), Overhead(gets=1, puts=1)),
}
FROM_MOUNT = Overheads(Overhead(gets=3), Overhead(gets=1))
BETWEEN_MOUNTS = {
    "copy": Overheads(Overhead(gets=23, calls=2, transitions=4), Overhead(gets=13, puts=6, calls=1, transitions=1)),
    "verify": Overheads(
        Overhead(gets=30, puts=6, calls=2, transitions=4), Overhead(gets=9, puts=2, calls=1, transitions=2)
    ),
}
# By function of a run that goes the short way to a mount, and leaves an index; of each shard but its first.
SHORT = {
    "PlanTransfer": Overhead(gets=4, puts=10, calls=1, transitions=2),
    "ShortWay": Overhead(gets=16, puts=26, calls=1, transitions=2),
    "SummariseTransfer": Overhead(gets=27, puts=9, calls=1, transitions=3),
}
SHORT_SHARD = Overhead(gets=3, puts=5)
# Less of such a run where the destination is a bucket, and where no index is left.
SHORT_TO_BUCKET, SHORT_NO_INDEX = Overhead(gets=-8, puts=-5), Overhead(gets=-3, puts=-7)
# Requests of these functions that wait for one another (tests/flow/test_requests.py), and the phases that they are.
IN_SERIES = {"PlanTransfer": 3, "ShortWay": 10, "SummariseTransfer": 6}
_PHASES = {"PlanTransfer": "plan", "ShortWay": "list", "SummariseTransfer": "summarise"}
# Chosen: seconds of the functions around the Maps, each round's two and the seven others.
SMALL_SECONDS = 60.0


class Way(Struct, frozen=True):
    """The way: calls, states and requests to the work bucket; ``seconds`` of the functions that do little.

    ``phases`` are the seconds of those phases that the short way changes, and ``warm_seconds`` what a run of it saves
    where its functions are warm.
    """

    is_short: bool
    counts: Overhead
    seconds: float
    phases: Mapping[str, float] = {}
    warm_seconds: float = 0.0


def way_of(request: Request, work: Work, listing: ListingWalk, copying: float, alone: float) -> Way:
    """The way of a run that copies for so many seconds, and would with one function for ``alone``.

    A run counts from the end of its first round of listing on.
    """
    if not listing.rounds:
        return Way(is_short=False, counts=Overhead(), seconds=0.0)
    if not _goes_short(request, work, listing, copying, alone):
        counts = ordinary(request, work.shards) + ROUND * listing.rounds + SEGMENT * listing.segments
        return Way(is_short=False, counts=counts, seconds=SMALL_SECONDS * listing.rounds)
    seconds, listed = short_seconds(), work.listed / LISTED_PER_SECOND
    phases = {_PHASES[name]: took + listed * (name == "ShortWay") for name, took in seconds.items()}
    return Way(
        is_short=True,
        counts=short_counts(request, work.shards),
        seconds=sum(seconds.values()),
        phases={**phases, "partition": 0.0, "copy": max(copying, alone), "finish": 0.0},
        warm_seconds=(COLD_SECONDS - WARM_SECONDS) * len(seconds),
    )


def ordinary(request: Request, shards: int) -> Overhead:
    """A run with so many shards that goes the ordinary way, besides its rounds."""
    work = "verify" if request.course.compares else "copy"
    more = [TO_MOUNT[work]] * (not request.destination.is_keyed) + [BETWEEN_MOUNTS[work]] * request.between_mounts
    more += [FROM_MOUNT] * (work == "copy" and not request.source.is_keyed)
    around = AROUND_SHARDS[work] if shards else Overhead()
    return sum((one.run + one.shard * shards for one in (RUNS[work], *more)), around)


def short_counts(request: Request, shards: int) -> Overhead:
    """A run with so many shards that goes the short way."""
    found = sum(SHORT.values(), SHORT_SHARD * (shards - 1))
    found += SHORT_TO_BUCKET * request.destination.is_keyed
    return found + SHORT_NO_INDEX * (ends_to_prove(request) is None or request.manifest is not None)


def short_seconds() -> dict[str, float]:
    """Seconds of the functions of a run that goes the short way, which are cold, besides what they list and copy."""
    return {name: COLD_SECONDS + REQUEST_SECONDS * number for name, number in IN_SERIES.items()}


def _goes_short(request: Request, work: Work, listing: ListingWalk, copying: float, alone: float) -> bool:
    """Whether one function carries the run: its listing is one segment, and its shards do not gain from several."""
    is_small = work.shards <= 1 or alone <= tuning.SHORT_WAY_SHARDS_SECONDS
    within = work.listed / LISTED_PER_SECOND + copying <= tuning.SHORT_WAY_SECONDS
    return may_go_short(request) and listing.segments == 1 and is_small and within
