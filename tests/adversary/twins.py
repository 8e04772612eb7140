"""A second run of nearly the same request, begun while the first one works: who is skipped, and for whom.

| the second request has                          | and is                                                |
|-------------------------------------------------|-------------------------------------------------------|
| nothing of its own, or another rate or way      | the same transfer: skipped                            |
| a limit, a field or a price that the first lacks | another one: it waits, and ends as ``DestinationBusy`` |
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from random import Random
from typing import Any

from tests.adversary.deeds import soon
from tests.adversary.scope import Finding
from tests.adversary.script import Act, Fault

Acts = tuple[Act, ...]
TWIN = "twin"
# Fields in which two runs of one transfer may differ, whoever says so in the product.
_ALIKE = ("calibration", "checksums")
_ALIKE_LIMITS = ("max_concurrency", "bytes_per_second", "files_per_second", "shard_seconds", "split_bytes")
_GUARDS = ("max_dollars", "finish_by")
_OWN: tuple[dict[str, Any], ...] = (
    {},
    {"limits": {"files_per_second": 1e6}},
    {"calibration": "none"},
    {"limits": {"max_dollars": 1e6}},
    {"limits": {"finish_by": "40h"}},
    {"limits": {"max_seconds": 80_000}},
    {"allow_empty_source": False},
    {"report_entries": "all"},
    {"prices": {"s3_get": 1e-9}},
)
_STATES = ("list", "partition", "copy", "copy", "finish", "verify", "delete")


def twins(draw: Random, options: Mapping[str, Any], acts: Acts) -> Acts:
    """Draw such a run into another one in place of ``acts``, now and then."""
    chance, own, state, at = draw.random(), draw.choice(_OWN), draw.choice(_STATES), soon(draw, 60)
    if chance > 0.05 or acts[0].what != "run" or "publish" in options:
        return acts
    given = {**own, "limits": {**options.get("limits", {}), **own["limits"]}} if "limits" in own else own
    beside = Fault(f"{state}/any", at, "another run", acts=(Act("run", TWIN, given),))
    return (Act("run", "r1", faults=(beside,)), Act("wait", seconds=draw.randint(5, 30)), Act("run", "last"))


def judge_twins(run: str, status: str, holder: str, asked: Mapping[str, Mapping[str, Any]]) -> Iterator[Finding]:
    """A run is skipped only for one whose request says the same; ``asked`` has the options of each run."""
    if status != "SKIPPED" or holder not in asked:
        return
    mine, theirs = ({"mode": "copy", **asked[one]} for one in (run, holder))
    guarded = any(one.get("limits", {}).keys() & {*_GUARDS} for one in (mine, theirs))
    if (mine != theirs) if guarded else (_told(mine) != _told(theirs)):
        yield Finding("skipped", f"run {run} asks for something else than run {holder}, for which it was skipped")


def _told(options: Mapping[str, Any]) -> str:
    limits = {name: one for name, one in options.get("limits", {}).items() if name not in _ALIKE_LIMITS}
    rest = {name: one for name, one in options.items() if name not in (*_ALIKE, "limits", "resume_from")}
    return json.dumps({**rest, **({"limits": limits} if limits else {})}, sort_keys=True)
