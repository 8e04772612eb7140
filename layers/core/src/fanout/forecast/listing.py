"""Forecasts listing and partitioning a tree: rounds by the budgets of segments."""

from __future__ import annotations

import math

from msgspec import Struct

from fanout.facts import tuning

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
