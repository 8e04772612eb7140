"""Turns a look at a run into the figures for people: phases, rate, time left, workers, failures.

Pure: a look is a value, and so is what is made of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict, replace

from fanout.forecast.phases import phases_of
from fanout.model.books import Count
from fanout.request.request import Request
from fanout.shards.held import HeldProgress
from fanout.turns.waiting import Waiting
from fanout_cli.progress.work import ShardProgress

# The phases that deal with shards, and so have a share.
WITH_SHARDS = ("copy", "verify")
# The phases whose tasks are held to the window of the run.
PAUSES = ("list", "copy", "finish", "delete", "verify", "publish")
# A phase too short to show.
_TOO_SHORT = "partition"
# By how much the predictions of the phases to come may be corrected, by how those of the phases before have held.
MOST_CORRECTED = 5.0


class ListingProgress(Struct, frozen=True):
    """The listing so far: entries, and ``segments`` listed of those known."""

    count: Count = Count()
    segments: int = 0
    total_segments: int = 0
    failures: Mapping[str, int] = {}


class RunLook(Struct, frozen=True):
    """A look at a run, made ``at`` this time of the watcher's clock.

    ``course`` are its phases; ``began`` when those that have begun did, by the functions' clocks; ``predicted`` their
    seconds by the forecast. ``shards`` is about the shards of the running phase. ``running`` functions are at work
    in the Map. ``held`` is what the run waits for. ``paused_until`` says when the window of the
    run opens, where it is closed.
    """

    at: float
    course: tuple[str, ...] = ("plan", "list", "copy", "finish", "summarise")
    began: Mapping[str, float] = {}
    predicted: Mapping[str, float] = {}
    listed: ListingProgress = ListingProgress()
    shards: ShardProgress | None = None
    running: int | None = None
    waiting: Waiting | None = None
    paused_until: str = ""
    held: HeldProgress | None = None


class PhaseState(Struct, frozen=True):
    """A phase: ``done``, ``now`` or ``next``."""

    name: str
    state: str


class RunProgress(Struct, frozen=True):
    """How far a run is.

    ``share`` is the done part of the running phase, by predicted seconds; ``None`` if it has no shards.

    ``eta_seconds`` lead to the end of the run. They and the rates are ``None`` until they mean something.
    """

    phases: tuple[PhaseState, ...]
    phase: str
    listed: Count
    segments: int = 0
    total_segments: int = 0
    done: Count = Count()
    total: Count = Count()
    shards: int = 0
    total_shards: int = 0
    share: float | None = None
    entries_per_second: float | None = None
    bytes_per_second: float | None = None
    eta_seconds: float | None = None
    workers: int = 0
    failures: Mapping[str, int] = {}
    waiting: Waiting | None = None
    staged: Count = Count()
    paused_until: str = ""
    held: HeldProgress | None = None

    def document(self) -> dict[str, Any]:
        """It as JSON values."""
        row = asdict(self)
        for name in ("listed", "done", "total", "staged"):
            row[name] = asdict(row[name])
        row["phases"] = {phase.name: phase.state for phase in self.phases}
        row["waiting"] = asdict(self.waiting) if self.waiting else None
        held = row.pop("held")
        if held is not None:
            row |= held.told()
        for name in ("share", "entries_per_second", "bytes_per_second", "eta_seconds"):
            row[name] = None if row[name] is None else round(row[name], 3)
        return {"kind": "progress", **row}


def course_of(request: Request) -> tuple[str, ...]:
    """The phases of a run that are shown; one that begins with another is not."""
    return tuple(phase.name for phase in phases_of(request) if not phase.inside and phase.name != _TOO_SHORT)


def progress_of(look: RunLook) -> RunProgress:
    """The figures of a look, for people; a run whose window is closed is paused in each phase that works on an end."""
    progress = _progress_of(look)
    paused = look.paused_until if progress.phase in PAUSES else ""
    return replace(progress, paused_until=paused, eta_seconds=None) if paused else progress


def _progress_of(look: RunLook) -> RunProgress:
    begun = [name for name in look.course if name in look.began]
    now = begun[-1] if begun else look.course[0]
    at = look.course.index(now)
    states = ["done"] * at + ["now"] + ["next"] * (len(look.course) - at - 1)
    phases = tuple(map(PhaseState, look.course, states))
    listed = look.listed
    held = look.held if look.held is not None and look.held.round and look.held.left else None
    shown = RunProgress(
        phases,
        now,
        listed.count,
        listed.segments,
        listed.total_segments,
        failures=listed.failures,
        workers=look.running or 0,
        waiting=look.waiting if now == look.course[0] else None,
        eta_seconds=_eta(look, at) if held is None else None,  # S3 says by when, not we
        held=held,
    )
    one = look.shards
    if one is None:
        return shown
    at_work = now in WITH_SHARDS
    return RunProgress(
        phases,
        now,
        listed.count,
        listed.segments,
        listed.total_segments,
        one.done,
        one.total,
        one.shards,
        one.total_shards,
        share=one.share if at_work else None,
        entries_per_second=one.entries_per_second if at_work else None,
        bytes_per_second=one.bytes_per_second if at_work else None,
        eta_seconds=shown.eta_seconds,
        workers=(look.running or one.tasks) if at_work else 0,
        failures={**listed.failures, **one.failures},
        staged=one.staged if at_work else Count(),
        held=held,
    )


def _eta(look: RunLook, at: int) -> float | None:
    """Seconds until the end of the run: what is left of this phase, and what is predicted of those to come."""
    now, later = look.course[at], look.course[at + 1 :]
    left = look.shards.eta_seconds if look.shards and now in WITH_SHARDS else None
    if left is None or not look.predicted:
        return left
    return left + sum(look.predicted.get(phase, 0.0) * _correction(look, phase) for phase in later)


def _correction(look: RunLook, phase: str) -> float:
    """How the predictions of the phases that have ended held, as a factor for those like them.

    A verification is corrected by the copy, every other phase by those before the copy.
    """
    ended: Sequence[str] = ("copy",) if phase == "verify" else ("plan", "list", "partition")
    order = sorted(look.began, key=lambda name: look.began[name])
    took = predicted = 0.0
    for name, following in pairwise(order):
        if name in ended:
            took += look.began[following] - look.began[name]
            predicted += look.predicted.get(name, 0.0)
    if took <= 0 or predicted <= 0:
        return 1.0
    return min(max(took / predicted, 1 / MOST_CORRECTED), MOST_CORRECTED)
