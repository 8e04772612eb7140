"""The delete guard counts what the request is about: entries out of scope at either end change no verdict."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fanout.facts import tuning
from fanout.model.document import Json
from fanout.model.entry import Attributes, Kind
from fanout.model.errors import DeleteRefused
from tests.support.flow import World
from tests.support.memory import MemoryTree

SYNC: Json = {"source": "efs:///in", "destination": "efs:///out", "mode": "sync", "delete_guard": {"max_percent": 90}}
LATE, EARLY = 2_000_000_000 * 10**9, 1_000_000_000 * 10**9
AFTER = "2025-01-01T00:00:00Z"
Tree = dict[str, tuple[int, int]]
"""Paths, each with its size and mtime."""


def tree(template: str, count: int, size: int = 1, mtime_ns: int = LATE) -> Tree:
    return {template.format(number): (size, mtime_ns) for number in range(count)}


def fill(place: Any, entries: Tree) -> None:
    assert isinstance(place, MemoryTree)
    for path, (size, mtime_ns) in entries.items():
        place.put(path, Kind.DIRECTORY if path.endswith("/") else Kind.FILE, b"x" * size, Attributes(mtime_ns=mtime_ns))


def world_of(source: Tree, destination: Tree, run_id: str = "run-1") -> World:
    world = World(run_id=run_id)
    fill(world.source, source)
    fill(world.destination, destination)
    return world


def verdict(source: Tree, destination: Tree, request: Json) -> str:
    """What a sync says of it; a plan must say the same, and a refused sync leaves the destination alone."""
    planned = (
        world_of(source, destination, "plan").run({**SYNC, **request, "mode": "plan"})["planned"]["delete_refused"]
        or ""
    )
    world = world_of(source, destination)
    try:
        world.run({**SYNC, **request})
    except DeleteRefused as error:
        assert isinstance(world.destination, MemoryTree)
        assert set(world.destination.contents()) == set(destination)
        found = str(error).removesuffix("; nothing was copied or deleted")
        assert found == planned or not planned  # a plan of nothing refuses nothing
        return found
    assert not planned
    return ""


TEXTS = {"include": ["*.txt"]}
OTHERS = tree("other-{}.log", 200)
TABLE = [
    # request, source, destination, a part of the refusal
    (TEXTS, {"new.txt": (1, LATE)} | OTHERS, tree("{}.txt", 20) | OTHERS, "20 of the destination's 20 entries that"),
    (TEXTS, {"0.txt": (1, LATE)} | OTHERS, tree("{}.txt", 20) | OTHERS, "95.0 %, over delete_guard.max_percent 90"),
    (TEXTS, tree("{}.txt", 2) | OTHERS, tree("{}.txt", 20) | OTHERS, ""),
    (TEXTS, OTHERS, tree("{}.txt", 20) | OTHERS, "the source holds nothing that the filters take"),
    (TEXTS, OTHERS, OTHERS, "the source holds nothing that the filters take"),
    (
        {"exclude": ["*.log"]},
        {"new.txt": (1, LATE)} | OTHERS,
        tree("{}.txt", 20) | OTHERS,
        "20 of the destination's 20",
    ),
    ({"exclude": ["old/"]}, {"new": (1, LATE)}, tree("{}", 20) | tree("old/{}", 200), "20 of the destination's 20"),
    ({"min_size": 5}, {"new": (9, LATE)} | OTHERS, tree("{}", 20, 9) | OTHERS, "20 of the destination's 20"),
    ({"max_size": 5}, {"new": (1, LATE)}, tree("{}", 20) | tree("big-{}", 200, 9), "20 of the destination's 20"),
    (
        {"modified_after": AFTER},
        {"new": (1, LATE)} | tree("old-{}", 200, 1, EARLY),
        tree("{}", 20) | tree("old-{}", 200, 1, EARLY),
        "20 of the destination's 20",
    ),
    (
        {"modified_before": AFTER},
        {"new": (1, EARLY)} | tree("late-{}", 200),
        tree("{}", 20, 1, EARLY) | tree("late-{}", 200),
        "20 of the destination's 20",
    ),
    # The source's entry decides for a pair: the old version of a file that is too large now is nobody's business.
    ({"max_size": 5}, {"new": (1, LATE)} | tree("p{}", 200, 9), tree("{}", 20) | tree("p{}", 200), "20 of the dest"),
    # A directory on the way is not included by itself, so it is kept and does not count.
    (TEXTS, {"d/": (0, LATE), "d/new.txt": (1, LATE)}, {"d/": (0, LATE), "d/old.txt": (1, LATE)}, "1 of the destinat"),
    ({}, {"new": (1, LATE)}, tree("{}", 20), "20 of the destination's 20 entries are not"),
    ({}, {}, tree("{}", 20), "the source holds nothing;"),
]


@pytest.mark.parametrize(("request_", "source", "destination", "part"), TABLE)
def test_the_guard_counts_what_is_in_scope(request_: Json, source: Tree, destination: Tree, part: str) -> None:
    found = verdict(source, destination, request_)
    assert bool(found) == bool(part), found
    assert part in found


NAMES = st.sampled_from([f"{directory}{number}" for directory in ("", "a/", "b/") for number in range(4)])
FILES = st.dictionaries(NAMES, st.tuples(st.integers(0, 9), st.sampled_from([EARLY, LATE])), max_size=8)
FILTERS: list[tuple[Json, Any]] = [
    ({"include": ["*.txt"]}, lambda name: (f"{name}.log", 1, LATE)),
    ({"include": ["*.txt"], "exclude": ["cache/"]}, lambda name: (f"cache/{name}.txt", 1, LATE)),
    ({"exclude": ["*.log"]}, lambda name: (f"{name}.log", 1, LATE)),
    ({"min_size": 2}, lambda name: (f"{name}.log", 1, LATE)),
    ({"max_size": 7}, lambda name: (f"{name}.log", 8, LATE)),
    ({"modified_after": AFTER}, lambda name: (f"{name}.log", 3, EARLY)),
    ({"modified_before": AFTER}, lambda name: (f"{name}.log", 3, LATE)),
]


@settings(deadline=None, max_examples=15)
@given(st.data())
def test_entries_out_of_scope_change_no_verdict(data: st.DataObject) -> None:
    request, out_of_scope = data.draw(st.sampled_from(FILTERS))
    guard = {"max_percent": data.draw(st.sampled_from([0, 10, 50, 100])), "max_count": data.draw(st.integers(0, 9))}
    request = {**request, "delete_guard": guard}
    ends: list[tuple[Tree, Tree]] = []
    for _ in ("source", "destination"):
        held = {f"{path}.txt": found for path, found in data.draw(FILES).items()}
        more = {}
        for name in data.draw(st.lists(NAMES, max_size=30)):
            path, size, mtime_ns = out_of_scope(name)
            more[path] = (size, mtime_ns)
        ends.append((held, held | more))
    cut = data.draw(st.sampled_from([2, tuning.SEGMENT_ENTRIES]))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tuning, "SEGMENT_ENTRIES", cut)
        alone = verdict(ends[0][0], ends[1][0], request)
        together = verdict(ends[0][1], ends[1][1], request)
    assert together == alone
