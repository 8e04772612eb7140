"""Steps that somebody has begin by hand while the run is at another place, told of an error that never was or not.

Such an event names the run's own parts, so a task may carry it out. What the run then says of itself must stay true.
"""

from __future__ import annotations

from random import Random

from fanout.flow.belongs import PARTS, RUNS
from fanout.ledger.ledger import Ledger
from fanout.ledger.run_places import run_prefix, verification_prefix
from fanout.model.document import Json
from fanout.model.errors import FanoutError
from tests.adversary.conductor import Attempt
from tests.adversary.machine import Machine
from tests.adversary.states import LABELS

_LISTS = {
    **dict.fromkeys(("ListSegment", "ListOneSegment", "ListDestination"), "segments/round-0001.json"),
    **dict.fromkeys(("LookAtSource", "DeleteShard"), "deletions.json"),
    "FinishShard": "finishing/round-0000.json",
}
# What a state that is handed the whole state is told.
TOLD: tuple[Json, ...] = ({}, {"error": {"Error": "Broken", "Cause": "forged"}}, {"shards": {"extras": 1}})
# The states whose task ends a run's right to write, more often than the others.
_ENDING = ("FinishTree", "RemoveDirectories", "PublishVersion")


def _event(draw: Random, machine: Machine) -> tuple[str, Json] | None:
    run: Json = next((event["run"] for _, event in reversed(machine.sent) if "run" in event), {})
    if not run:
        return None
    step = draw.choice((*sorted(RUNS), *2 * _ENDING))
    prefix = draw.choice((run_prefix(machine.run_id), verification_prefix(machine.run_id)))
    ledger = Ledger(machine.lab.store.plain, machine.run_id, prefix)
    try:
        plan = ledger.read_plan()
        rows = ledger.read_json(_LISTS.get(step, "shards.json")) if step in PARTS else [{}]
    except FanoutError:
        return None
    if step not in LABELS or not RUNS[step](plan) or not rows:
        return None
    row = draw.choice(rows)
    part = row.get("shard", row)
    whole = {"run": {**run, "prefix": prefix}, "shards": {"restores": "", "extras": 0}, "list": {"round": 1}}
    whole["list"]["max_concurrency"] = 1
    state = {**whole, **draw.choice(TOLD)}
    return step, {"step": step, **whole, "segment": part, "shard": part, "cursor": 0, "state": state, **TOLD[1]}


def send_out_of_place(seed: int, machine: Machine, attempt: Attempt) -> None:
    """Send one in the middle of a task."""
    with machine.lab.conductor.paused():
        made = _event(Random(f"step out of place {seed}"), machine)
    if made is not None:
        machine.forged.append(f"{made[0]}: out of place")
        machine.again(*made, attempt)
