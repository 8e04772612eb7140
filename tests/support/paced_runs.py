"""A run whose copying was paced for an hour: decisions by the rule over a file system that runs low on credits."""

from __future__ import annotations

from fanout.efs.capacity import FileSystemState
from fanout.facts.units import GIB, MIB
from fanout.ledger import keys
from fanout.model.file_system import ThroughputMode
from fanout.pacing.rows import PacingDecision, decision
from fanout.pacing.rule import Observed, Pacing, PacingLimits, decide
from fanout.summary.summarise_transfer import summarise_transfer
from tests.support import runs
from tests.support.flow import World

MINUTES = 60
SILENT = range(5, 15)


def decisions(began: float) -> list[PacingDecision]:
    """One a minute; functions are throttled in the twentieth, and ``SILENT`` are without PercentIOLimit."""
    bounds, pacing, rows = PacingLimits(most=64, planned=24, reserve_percent=20.0), Pacing(24, None, began), []
    credits = 600.0 * GIB
    for minute in range(MINUTES):
        now, throttled = began + 60.0 * (minute + 1), 3 if minute == 20 else 0
        state = FileSystemState(
            mode=ThroughputMode.BURSTING,
            permitted_bytes_per_second=100.0 * MIB,
            standard_bytes=100 * GIB,
            credits_bytes=credits,
        )
        used = min(pacing.bytes_per_second or 90.0 * MIB, 90.0 * MIB)
        left = 1.5 * GIB * (MINUTES - minute)
        percent = None if minute in SILENT else 30.0 + minute
        seen = [Observed("data", state, left, credits, 180.0, percent, used, used)]
        after = decide(now, pacing, seen, throttled, bounds)
        rows.append(decision(now, pacing, after, seen, pacing.concurrency, 100 - minute, throttled))
        credits, pacing = max(0.0, credits - (used - 5.0 * MIB) * 60), after
    return rows


def paced() -> World:
    """A run that copied everything, with those decisions in its ledger."""
    world = runs.succeeded()
    world.ledger.write_rows(f"{keys.DECISIONS}1-00000000.jsonl", decisions(world.clock.time))
    world.store.remove([f"{world.ledger.prefix}{keys.SUMMARY}"])  # else it stays, with its report
    summarise_transfer(None, world.context())
    return world
