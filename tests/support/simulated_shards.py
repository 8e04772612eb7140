"""Copies of shards on the simulated file system, which leave the ledger that a run leaves of its copy."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from msgspec.structs import replace

from fanout.efs.measure import FILE_SYSTEMS, MeasuredFileSystems
from fanout.forecast.document import by_service
from fanout.forecast.spending import dollars_done, done_so_far
from fanout.ledger import keys
from fanout.ledger.ledger import Ledger
from fanout.model.document import SCHEMA_VERSION
from fanout.model.shard import Rates
from fanout.pacing.rows import DecidedFor, PacingDecision
from fanout.pacing.rule import Pacing
from fanout.request.parse import parse_request
from fanout.request.plan import Plan
from fanout.shards.tasks.attempt import Attempt, AttemptEnd, attempt_key
from tests.support.memory_store import MemoryStore
from tests.support.simulated_efs import GB, STEP, Simulation

BEGAN = 1_700_000_000.0
RETRY_SECONDS = 45.0
# Of every fifth shard, whatever the plan predicts.
SLOWER = 0.7
FILE_BYTES = 100_000_000


@dataclass
class Working:
    """A shard that a function works on, from a time on; ``fails`` at half of it, if it is to."""

    number: int
    size: float
    fails: bool
    left: float
    begun: float
    spans: list[tuple[float, float, AttemptEnd]] = field(default_factory=list)


@dataclass
class ShardedCopy(Simulation):
    """``sizes`` of the shards; each one of ``failing`` fails once, and its function waits before it goes on."""

    sizes: tuple[float, ...] = ()
    failing: frozenset[int] = frozenset()

    def __post_init__(self) -> None:
        super().__post_init__()
        self.todo = sum(self.sizes)
        self._waiting = [(number, size) for number, size in enumerate(self.sizes)]
        self._working: list[Working] = []
        self.ended: list[Working] = []
        self.decided: list[PacingDecision] = []

    def _minute(self, pacing: Pacing) -> None:
        began = self.now
        mounts = [DecidedFor("data", self.credits if self.state.credits_bytes is not None else None, None, None)]
        functions = min(pacing.concurrency, len(self._waiting) + len(self._working))
        rate = pacing.bytes_per_second
        self.decided.append(
            PacingDecision(BEGAN + began, functions, 0, 0, functions, functions, rate, BEGAN, "", mounts)
        )
        super()._minute(replace(pacing, concurrency=functions))
        possible = self.trace[-1][1]
        for second in range(int(STEP)):
            self._second(began + second, possible, functions)
        done = sum(one.size - one.left for one in self._working) + sum(one.size for one in self.ended)
        self.done = self.todo if not self._waiting and not self._working else min(done, self.todo - 1)

    def _second(self, now: float, possible: float, functions: int) -> None:
        while len(self._working) < functions and self._waiting:
            number, size = self._waiting.pop(0)
            self._working.append(Working(number, size, number in self.failing, size, now))
        active = [one for one in self._working if one.begun <= now]
        for one in active:
            own = self.function_rate * (SLOWER if one.number % 5 == 0 else 1.0)
            one.left -= min(own, possible / len(active))
            if one.fails and one.left <= one.size / 2:
                one.fails = False
                one.spans.append((one.begun, now + 1, AttemptEnd.FAILED))
                one.begun = now + 1 + RETRY_SECONDS
            if one.left <= 0:
                one.left = 0
                one.spans.append((one.begun, now + 1, AttemptEnd.DONE))
                self._working.remove(one)
                self.ended.append(one)


def sizes_of(whole: float, shards: int) -> tuple[float, ...]:
    """Shards of one to three parts, the largest first."""
    parts = [3 - 2 * number / shards for number in range(shards)]
    return tuple(whole * one / sum(parts) for one in parts)


def ledger_of(copy: ShardedCopy, rates: Rates, store: MemoryStore | None = None, **limits: Any) -> Ledger:
    """The ledger of a run that has ended, whose copy this was."""
    ledger = Ledger(store or MemoryStore(), "run-1")
    document = {"source": "s3://a-bucket/x/", "destination": "efs:///y", "limits": limits}
    plan = Plan("run-1", parse_request(document, ("data",), 1_000), rates, began=BEGAN)
    ledger.write(keys.PLAN, plan)
    ledger.write(FILE_SYSTEMS, MeasuredFileSystems({"data": copy.state}, {"data": "fs-1"}))
    for one in copy.ended:
        for number, (began, ended, end) in enumerate(one.spans):
            size = int(one.size) if end is AttemptEnd.DONE else 0
            times = BEGAN + began, BEGAN + ended
            files = size // FILE_BYTES
            attempt = Attempt(f"{one.number:05d}", f"n{number}", times[0], times[1], files, size, files, end)
            ledger.mark(attempt_key("copy", replace(attempt, ended=None)))
            ledger.mark(attempt_key("copy", attempt))
    ledger.write_rows(f"{keys.DECISIONS}{round(BEGAN)}-n0.jsonl", copy.decided)
    last = max(BEGAN + ended for one in copy.ended for _, ended, _ in one.spans)
    dollars = by_service(dollars_done(plan, done_so_far(plan, ledger, last), ledger))
    seconds = {"plan": 4.0, "list": 30.0, "copy": last - BEGAN + 5, "summarise": 6.0}
    ledger.write_json(
        keys.SUMMARY,
        {"schema_version": SCHEMA_VERSION, "forecast": {"actual_seconds": seconds, "actual_dollars": dollars}},
    )
    return ledger


__all__ = ["GB", "ShardedCopy", "ledger_of", "sizes_of"]
