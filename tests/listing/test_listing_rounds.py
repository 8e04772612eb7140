"""Listing in rounds: whatever the budgets and the cuts, the result is that of one function that lists it all."""

from __future__ import annotations

import stat
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import convert

from fanout.facts import tuning
from fanout.ledger.rows import listed_outcomes
from fanout.listing.list_segment import list_segment
from fanout.model.document import Json
from fanout.model.entry import Attributes, Kind
from fanout.model.outcome import Reason
from fanout.model.segment import Segment
from fanout.model.shard import Shard
from tests.support.flow import REQUEST, World
from tests.support.memory import MemoryTree

KEYS = st.sets(st.text(alphabet="ab/-.", min_size=1, max_size=6), max_size=30)


def listed(world: World, request: Json | None = None) -> dict[str, Any]:
    """What each key became, by its outcome or that it is to be copied; each exactly once."""
    world.list_all(world.plan(request))
    found: dict[str, Any] = {}
    for key in world.ledger.keys("segments/round-"):
        if not key.endswith("-done.json"):
            continue
        done = world.ledger.read_json(key)
        rows = [row for file in done["outcome_files"] for row in world.ledger.read_rows(file)]
        outcomes = [outcome for row in rows for outcome in listed_outcomes(row)]
        shards = [convert(row, Shard) for row in done["shards"] + done["loose"]]
        pairs: list[tuple[str, Any]] = [(one.path, (one.result, one.reason)) for one in outcomes]
        pairs += [(entry.path, "copy") for shard in shards for entry in world.ledger.read_shard(shard)]
        for path, became in pairs:
            assert path not in found
            found[path] = became
    return found


@given(KEYS, KEYS, st.integers(1, 4), st.sampled_from(["fail", "escape", "skip"]))
@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
def test_rounds_find_what_one_function_finds(keys: set[str], there: set[str], budget: int, on_conflict: str) -> None:
    source, destination = MemoryTree(), MemoryTree()
    for key in keys:
        source.put(key, Kind.DIRECTORY if key.endswith("/") else Kind.FILE)
    for key in there:
        destination.put(key, Kind.DIRECTORY if key.endswith("/") else Kind.FILE)
    request = {**REQUEST, "on_conflict": on_conflict}
    whole = listed(World(source=source, destination=destination), request)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tuning, "SEGMENT_ENTRIES", budget)
        in_rounds = listed(World(source=source, destination=destination), request)
    assert set(whole) == keys
    assert {path: became for path, became in in_rounds.items() if not path.endswith("/")} == {
        path: became for path, became in whole.items() if not path.endswith("/")
    }
    for path in keys:
        if path.endswith("/") and in_rounds[path] != whole[path]:
            assert in_rounds[path] == "copy", "a directory that is cut gets its attributes again"


@pytest.mark.parametrize(
    ("data", "reason"), [(b"", Reason.MARKER_AND_DIRECTORY), (b"content", Reason.FILE_AND_DIRECTORY)]
)
def test_a_file_that_is_a_directory_too_is_found_by_the_segment_of_what_lies_below_it(
    monkeypatch: pytest.MonkeyPatch, data: bytes, reason: Reason
) -> None:
    world = World()
    world.source.put("a", Kind.FILE, data)  # type: ignore[attr-defined]
    for path in (*(f"a-{number:03d}" for number in range(100)), "a/b", "b"):
        world.source.put(path, Kind.FILE)  # type: ignore[attr-defined]
    monkeypatch.setattr(tuning, "SEGMENT_ENTRIES", 10)
    became = listed(world)
    assert became["a/b"] == ("rejected", reason.value)
    assert list(became.values()).count("copy") == 102


def test_a_directory_that_another_segment_goes_on_in_gets_its_attributes_again() -> None:
    """The other segment may write into it, which moves its time."""
    world = World()
    source, destination = MemoryTree(world.changes), MemoryTree(world.changes)
    for tree in (source, destination):
        attributes = Attributes(mode=stat.S_IFDIR | 0o755, mtime_ns=1)
        for path in ("d/", "e/"):
            tree.put(path, Kind.DIRECTORY, b"", attributes)
        for path in ("d/f", "d/g", "e/f"):
            tree.put(path, Kind.FILE, b"", Attributes(mtime_ns=1))
    world = replace(world, source=source, destination=destination)
    world.plan({"source": "efs:///a", "destination": "efs:///b"})
    list_segment(Segment("x", until="d/f"), world.context())
    assert world.ledger.read_json("segments/done/x.json")["to_copy"]["entries"] == 1
    list_segment(Segment("y", until="e/"), world.context())
    assert world.ledger.read_json("segments/done/y.json")["to_copy"]["entries"] == 1  # e/, not d/


def test_the_first_round_hands_back_tens_of_segments_and_a_small_rest_few(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    for number in range(1000):
        world.source.put(f"{number:04d}", Kind.FILE)  # type: ignore[attr-defined]
    monkeypatch.setattr(tuning, "FIRST_SEGMENT_ENTRIES", 100)
    state = world.plan()
    assert state["list"]["segment"]["budget_entries"] == 100
    list_segment(convert(state["list"]["segment"], Segment), world.context())
    left = world.ledger.read_json("segments/done/0001-000000.json")["left"]
    assert len(left) in range(32, tuning.FRONTIER_SEGMENTS + 1)


def test_a_segment_that_takes_long_hands_back_what_is_left() -> None:
    world = World()
    for number in range(3000):
        world.source.put(f"{number:04d}", Kind.FILE)  # type: ignore[attr-defined]
    state = world.plan()
    world.clock.step = tuning.FIRST_SEGMENT_SECONDS  # each look at the clock
    list_segment(convert(state["list"]["segment"], Segment), world.context())
    record = world.ledger.read_json("segments/done/0001-000000.json")
    assert 512 <= record["listed"]["entries"] < 522  # two looks, each after a whole block of five
    assert record["left"]


def test_a_segment_too_large_for_a_state_is_read_from_the_rounds_list(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tuning, "SEGMENT_STATE_BYTES", 10)
    assert "segment" not in World().plan()["list"]
