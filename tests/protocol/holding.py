"""Holds the traces of many scripts against the protocol, in several processes."""

from __future__ import annotations

import multiprocessing
import re

from tests.adversary.search import for_labs
from tests.adversary.worlds import script_of
from tests.protocol.checker import hold
from tests.protocol.traces import trace_of

# Scripts of one task of a process, which ends with what they leak.
SEEDS_A_TASK = 20


def _held(seeds: list[int]) -> tuple[bool, str]:
    with for_labs() as directory:
        traces = []
        for seed in seeds:
            traces.append(directory / f"{seed}.jsonl")
            traces[-1].write_text(trace_of(script_of(seed), directory / str(seed)))
        return hold(traces)


def hold_seeds(seeds: list[int], processes: int) -> tuple[bool, str]:
    """Hold the traces of seeds against the protocol; returns the figures, and what was refused."""
    some = [seeds[at : at + SEEDS_A_TASK] for at in range(0, len(seeds), SEEDS_A_TASK)]
    with multiprocessing.get_context("spawn").Pool(processes, maxtasksperchild=1) as pool:
        found = pool.map(_held, some, chunksize=1)
    refused = [line for well, said in found if not well for line in said.splitlines() if ".jsonl: " in line]
    counts = [re.search(r"^(\d+) traces, (\d+) events", said, re.MULTILINE) for _, said in found]
    traces, events = (sum(int(one[number]) for one in counts if one) for number in (1, 2))
    print(*refused, sep="\n", end="\n" * bool(refused))
    well = all(one for one, _ in found) and all(counts)
    return well, f"{traces:,} traces of real runs, {events:,} events: {len(refused)} refused."
