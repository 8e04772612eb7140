"""Reads the progress of a run from its ledger with few requests: most facts are in keys."""

from __future__ import annotations

import time
from collections.abc import Callable

from fanout.forecast.document import FORECAST
from fanout.ledger import keys
from fanout.ledger.ledger import Ledger
from fanout.request.parts.window import opens_again, parse_window
from fanout.request.plan import Plan
from fanout.shards.held import last_progress
from fanout.turns.waiting import WAITING
from fanout_cli.progress.map_runs import MapCounts
from fanout_cli.progress.run_progress import WITH_SHARDS, RunLook, course_of
from fanout_cli.progress.stage import Stage
from fanout_cli.progress.work import ShardProgress

_PHASES = "phases/"
# The label of the Map in which the functions of a phase run; a verification of whole trees lists first.
_LABELS = {
    "list": ["ListTree"],
    "copy": ["CopyShards"],
    "finish": ["FinishShards"],
    "delete": ["DeleteShards"],
    "verify": ["VerifyShards", "ListTree"],
}
# Between two file systems: the phase whose tasks read a shard at the source, before the destination's side begins it.
_AT_THE_SOURCE = {"copy": "pack", "verify": "digest"}


def _paused_until(window: str, now: float) -> str:
    """When the window opens, for people; empty where tasks may work."""
    return opens_again(window, now) if window and not parse_window(window).is_open(now) else ""


class LedgerLooks:
    """Looks at the ledger of one run; each reads what is new since the look before."""

    def __init__(self, ledger: Ledger, now: Callable[[], float] = time.time) -> None:
        """``now`` is the time of day, which a window is about."""
        self._ledger, self._now = ledger, now
        self._plan: Plan | None = None
        self._began: dict[str, float] = {}
        self._predicted: dict[str, float] = {}
        self._run, self._verification = Stage(ledger), Stage(ledger.verification())
        self._copied: ShardProgress | None = None

    def look(self, at: float, counts: MapCounts | None = None) -> RunLook:
        """The state of the run now. Raises ``LedgerBroken``."""
        self._read_phases()
        if self._plan is None:
            waiting = None if self._began else self._ledger.find(WAITING)
            return RunLook(at, began=dict(self._began), waiting=waiting)
        request, began = self._plan.request, dict(self._began)
        course = course_of(request)
        if counts is not None and counts.label == "VerifyShards" and "verify" in course:
            began.setdefault("verify", max(began.values()))  # no state notes when what was copied is compared
        now = [name for name in course if name in began][-1]
        if now not in ("plan", "list") and not self._predicted:
            self._predicted = self._read_forecast()
        is_apart = now == "verify" and request.verifies_after.whole_trees
        in_map = counts if counts is not None and counts.label in _LABELS.get(now, []) else None
        stage = self._verification if is_apart else self._run
        return RunLook(
            at,
            course,
            began,
            self._predicted,
            self._run.listed(at, in_map if now == "list" else None),
            self._shards(now, stage, at, in_map.running if in_map else 0),
            in_map.running if in_map else None,
            paused_until=_paused_until(request.limits.window, self._now()),
            held=last_progress(self._ledger) if now == "copy" and request.brings_back else None,
        )

    def _shards(self, now: str, stage: Stage, at: float, running: int) -> ShardProgress | None:
        """The stage of the running phase; after the copy the final stage of the copy."""
        assert self._plan is not None
        if now in WITH_SHARDS:
            ahead = _AT_THE_SOURCE.get(now) if self._plan.request.between_mounts else None
            found = stage.progress(now, self._plan.rates, at, running, ahead)
            if now == "copy":
                self._copied = None
            return found
        if self._copied is None and "copy" in self._began:
            self._copied = self._run.progress("copy", self._plan.rates, at, 0)
        return self._copied

    def _read_phases(self) -> None:
        for key in self._ledger.keys(_PHASES):
            name = key.removeprefix(_PHASES).removesuffix(".json")
            if name not in self._began:
                self._began[name] = self._ledger.read(keys.phase_key.at(key)).began
        if self._plan is None and "plan" in self._began:
            row = self._ledger.find_json(keys.PLAN)  # it follows the begin of its phase
            self._plan = self._ledger.read_plan() if row is not None else None

    def _read_forecast(self) -> dict[str, float]:
        forecast = self._ledger.find(FORECAST)
        return forecast.predicted_seconds if forecast else {}  # a run of no shard has none
