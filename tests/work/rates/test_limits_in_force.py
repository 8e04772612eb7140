"""limits.json as anybody may have written it: what is not valid changes nothing, and is said."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fanout.facts.units import MIB
from fanout.model.document import SCHEMA_VERSION
from fanout.work.rates.in_force import limits_in_force
from fanout.work.rates.run_limits import LIMITS, PACED_RATE, PacedRate, RunLimits
from fanout.work.rates.throttle import Throttle
from tests.support.flow import REQUEST, World

ASKED = RunLimits(None, 10.0)


def body(**fields: Any) -> bytes:
    return json.dumps({"schema_version": SCHEMA_VERSION, **fields}).encode()


INVALID = [
    body(files_per_second=0),
    body(files_per_second=-5),
    body(files_per_second=0.5),
    body(files_per_second=1e-320),
    body(files_per_second=1e308),
    body(files_per_second=10**39),
    body(files_per_second=True),
    body(files_per_second="100"),
    body(files_per_second=[100]),
    body(bytes_per_second=0, files_per_second=1000),
    body(bytes_per_second=1e400),
    body(files_per_second=float("nan")),
    body(files_per_second=float("inf")),
    b'{"files_per_second": 1000}',
    b"[]",
    b"null",
    b"1000",
    b"",
    b"not JSON \xff",
    b"{" * 100_000,
    b"[" * 100_000,
]


def planned(**limits: float) -> World:
    world = World()
    world.plan({**REQUEST, "limits": limits})
    return world


def throttle(world: World) -> Throttle:
    return Throttle("CopyShard", world.ledger, "n", world.clock.now, world.clock.sleep)


def files_a_second(held: Throttle, world: World) -> int:
    """How many files a function may begin in ten seconds that pass, a second."""
    begun = 0
    for _ in range(100):
        while begun < 10_000 and not held.ask_to_begin(1, 0):
            begun += 1
        world.clock.sleep(0.1)
    return begun // 10


@pytest.mark.parametrize("invalid", INVALID, ids=lambda one: repr(one[:50]))
def test_what_is_not_valid_leaves_the_limit_as_it_was(invalid: bytes) -> None:
    """Both of a function that knows the limit, and of one that begins now."""
    world = planned(files_per_second=10)
    knows = throttle(world)
    assert knows.holds()
    world.store.put("runs/run-1/limits.json", invalid)
    world.clock.sleep(20)
    begins = throttle(world)
    for held in (knows, begins):
        assert held.holds()
        assert held.problem.startswith("runs/run-1/limits.json ")
        assert 8 <= files_a_second(held, world) <= 16
    assert limits_in_force(world.ledger)[0] == ASKED
    assert limits_in_force(world.ledger, RunLimits(None, 3.0))[0] == RunLimits(None, 3.0)


def test_what_is_valid_holds_and_none_takes_a_limit_away() -> None:
    world = planned(files_per_second=10)
    for found in (RunLimits(5.0 * MIB, 3.0), RunLimits()):
        world.ledger.write(LIMITS, found)
        assert limits_in_force(world.ledger, ASKED) == (found, "")


def test_a_file_that_is_gone_takes_no_limit_away() -> None:
    world = planned(files_per_second=10)
    knows = throttle(world)
    assert knows.holds()
    world.store.remove(["runs/run-1/limits.json"])
    world.clock.sleep(20)
    assert knows.holds()


@pytest.mark.parametrize("rate", [0, -1, 1e308, "fast"])
def test_a_rate_of_the_pacing_that_is_not_valid_takes_no_limit_away(rate: Any) -> None:
    world = planned(files_per_second=10)
    world.ledger.write(PACED_RATE, PacedRate())
    world.store.put("runs/run-1/pacing/rate.json", body(bytes_per_second=rate, entry_bytes=0))
    held = throttle(world)
    assert held.holds() and "pacing/rate.json" in held.problem
    assert 8 <= files_a_second(held, world) <= 16
