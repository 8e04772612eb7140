"""What is found by so many listers of a tree, or by another tool, and what it takes."""

from __future__ import annotations

import multiprocessing
import os
import resource
import subprocess
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from benchmarks.versitygw import KEY
from fanout.facts import tuning
from fanout.model.columns import FileColumns
from fanout.model.segment import Segment, cut
from fanout.ports.tree import Tree

MakeTree = Callable[[], Tree]
WHOLE = Segment("whole")


class Found(NamedTuple):
    """Entries, the seconds by the clock and of processors that finding them took, and the pieces of the whole."""

    entries: int
    seconds: float
    cpu_seconds: float
    pieces: int


def _count(tree: Tree, segment: Segment) -> int:
    return sum(len(one) if isinstance(one, FileColumns) else 1 for one in tree.list_columns(segment))


def _lister(
    make: MakeTree,
    pieces: multiprocessing.Queue[Segment | None],
    counts: multiprocessing.Queue[tuple[int, float]],
) -> None:
    tree = make()
    counts.put((0, 0.0))  # started
    found, began = 0, time.process_time()
    while (piece := pieces.get()) is not None:
        found += _count(tree, piece)
    counts.put((found, time.process_time() - began))


def listed(make: MakeTree, listers: int) -> Found:
    """What so many listers find of the whole, each a process with the adapter alone; its start is not in the time.

    Several share as many pieces as the first round of a run is cut into.
    """
    if listers == 1:
        tree = make()
        began, cpu_began = time.perf_counter(), time.process_time()
        found = _count(tree, WHOLE)
        return Found(found, time.perf_counter() - began, time.process_time() - cpu_began, 1)
    pieces: multiprocessing.Queue[Segment | None] = multiprocessing.Queue()
    counts: multiprocessing.Queue[tuple[int, float]] = multiprocessing.Queue()
    processes = [multiprocessing.Process(target=_lister, args=(make, pieces, counts)) for _ in range(listers)]
    for process in processes:
        process.start()
    for _ in processes:
        counts.get()
    began, cpu_began = time.perf_counter(), time.process_time()
    segments = cut(WHOLE, make().cuts(WHOLE, tuning.FRONTIER_SEGMENTS))
    cutting = time.process_time() - cpu_began
    for piece in [*segments, *[None] * listers]:
        pieces.put(piece)
    of_each = [counts.get() for _ in processes]
    seconds = time.perf_counter() - began
    for process in processes:
        process.join()
    return Found(sum(one for one, _ in of_each), seconds, cutting + sum(cpu for _, cpu in of_each), len(segments))


def tool(command: Sequence[str]) -> Found:
    """Lines that a tool prints, and what it takes from its start."""
    environment = os.environ | {"AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": KEY, "AWS_REGION": "us-east-1"}
    environment.pop("AWS_CA_BUNDLE", None)  # rclone refuses one, and the server speaks plain HTTP
    began, cpu_began = time.perf_counter(), _of_children()
    found = subprocess.run(command, check=True, stdout=subprocess.PIPE, env=environment).stdout.count(b"\n")
    return Found(found, time.perf_counter() - began, _of_children() - cpu_began, 1)


def _of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
