"""A run replayed at other settings, beside a run at these: on a simulated file system, in simulated hours."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from fanout.facts.units import MIB
from fanout.model.entry import Kind
from fanout.model.errors import InvalidRequest
from fanout.model.file_system import ThroughputMode
from fanout.model.shard import Rates
from fanout_cli.estimates.whatif.what_if import OtherSettings, what_if
from tests.support.flow import REQUEST, World
from tests.support.memory import MemoryTree
from tests.support.simulated_shards import GB, ShardedCopy, ledger_of, sizes_of

SIZES = sizes_of(2_000 * GB, 400)
FAILING = frozenset(range(0, 400, 23))
# What the plan takes a function to do: a tenth more than the simulated ones, of which every fifth shard is slower.
RATES = Rates(0.001, 60 * MIB)
MOST_ERROR = 0.15
ELASTIC, BURSTING = ThroughputMode.ELASTIC, ThroughputMode.BURSTING


@dataclass(frozen=True)
class Setting:
    functions: int
    mode: ThroughputMode = ELASTIC
    rate: int | None = None

    def run(self) -> ShardedCopy:
        copy = ShardedCopy(
            mode=self.mode,
            stored=1_000 * GB,
            credits_percent=60.0,
            sizes=SIZES,
            failing=FAILING,
            most=self.functions,
            planned=self.functions,
            reserve_percent=20.0,
            function_rate=60 * MIB,
            bytes_per_second=self.rate,
        )
        copy.run()
        return copy

    @property
    def limits(self) -> dict[str, Any]:
        return {"bytes_per_second": self.rate} if self.rate else {}


def turned(recorded: Setting, asked: Setting, copy: ShardedCopy) -> OtherSettings:
    """What is asked for beside the run that was recorded."""
    state = None if asked.mode is recorded.mode else lambda _state: copy.state
    rate = None if asked.rate == recorded.rate else asked.rate
    return OtherSettings(asked.functions, None, rate, state)


@pytest.mark.parametrize(
    ("recorded", "asked"),
    [
        (Setting(4), Setting(12)),
        (Setting(12), Setting(4)),
        (Setting(8), Setting(40)),  # the file system binds it
        (Setting(40), Setting(8)),  # it bound the run that was recorded
        (Setting(12), Setting(12, BURSTING)),
        (Setting(12, BURSTING), Setting(12)),
        (Setting(12, BURSTING), Setting(3, BURSTING)),
        (Setting(12), Setting(12, rate=200 * MIB)),
        (Setting(12, rate=200 * MIB), Setting(16, rate=400 * MIB)),
    ],
    ids=str,
)
def test_what_is_predicted_is_what_a_run_at_these_settings_takes(recorded: Setting, asked: Setting) -> None:
    was, then = recorded.run(), asked.run()
    ledger, other = ledger_of(was, RATES, **recorded.limits), ledger_of(then, RATES, **asked.limits)
    found = what_if(ledger, turned(recorded, asked, then))
    real = what_if(other, OtherSettings())
    assert found.replayed_seconds == pytest.approx(found.happened.copy_seconds, rel=MOST_ERROR)
    assert found.would.copy_seconds == pytest.approx(real.happened.copy_seconds, rel=MOST_ERROR)
    assert found.would.seconds == pytest.approx(real.happened.seconds, rel=MOST_ERROR)
    assert found.would.dollars["total"] == pytest.approx(real.happened.dollars["total"], rel=MOST_ERROR)
    assert bool(found.notes) is (found.happened.bound != "functions")


@pytest.mark.parametrize("short", [False, True])
@pytest.mark.parametrize("mode", ["copy", "sync", "move"])
def test_the_ledger_of_a_whole_run_is_replayed(mode: str, short: bool) -> None:
    world = World(short=short)
    assert isinstance(world.source, MemoryTree)
    for number in range(300):
        world.source.put(f"d{number % 4}/f{number}", Kind.FILE, b"x" * 50)
    summary = world.run({**REQUEST, "mode": mode, "limits": {"shard_seconds": 0.1}})
    assert summary["status"] == "SUCCEEDED"
    found = what_if(world.ledger, OtherSettings(functions=1, megabytes=3_538))
    assert found.happened.dollars == summary["forecast"]["actual_dollars"]
    assert found.would.functions == 1 and found.would.dollars["lambda"] > found.happened.dollars["lambda"]
    assert found.would.dollars["total"] - found.happened.dollars["total"] == pytest.approx(
        found.would.dollars["lambda"] - found.happened.dollars["lambda"], abs=1e-4
    )


@pytest.mark.parametrize(("request_", "why"), [({"mode": "verify"}, "copies nothing"), ({"mode": "plan"}, "copies")])
def test_a_run_that_copies_nothing_is_refused(request_: dict[str, Any], why: str) -> None:
    world = World()
    world.run({**REQUEST, **request_})
    with pytest.raises(InvalidRequest, match=why):
        what_if(world.ledger, OtherSettings())
