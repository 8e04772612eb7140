"""Events that nobody sent: of a state that the run has or has not, made of its own documents with one field altered."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass
from random import Random
from typing import Any

from fanout.flow.belongs import PARTS, RUNS
from fanout.flow.steps import STEPS
from fanout.ledger.ledger import Ledger
from fanout.ledger.run_places import run_prefix, verification_prefix
from fanout.model.document import Json
from fanout.model.errors import FanoutError
from tests.adversary.conductor import Attempt
from tests.adversary.machine import Machine
from tests.adversary.states import LABELS

CLOSES = "SummariseTransfer"
_LISTS = ("segments/round-0001.json", "shards.json", "deletions.json", "finishing/round-0000.json")
_LIST_OF = {"ListSegment": 0, "ListOneSegment": 0, "ListDestination": 0, "LookAtSource": 2, "DeleteShard": 2}
_LIST_OF["FinishShard"] = 3
_ANY_SHARD: Json = {"id": "0001-000000", "key": "shards/x.jsonl.gz", "entries": 1, "bytes": 1, "seconds": 1.0}
_ERROR: Json = {"Error": "Broken", "Cause": "forged"}


@dataclass(frozen=True)
class Forged:
    """An event of a state by hand, and the altered field, or the mode that has no such state."""

    state: str
    event: Json
    why: str


def forged(seed: int, sent: Sequence[tuple[str, Json]], ledger_of: Callable[[str], Ledger]) -> Forged | None:
    """One of the events that can be made once the run is planned; the same for the same seed and ledger."""
    draw = Random(f"forged event {seed}")
    run: Json = next((deepcopy(event["run"]) for _, event in reversed(sent) if "run" in event), {})
    if not run:
        return None
    prefix = draw.choice((run_prefix(run["id"]), run["prefix"], verification_prefix(run["id"])))
    ledger, run = ledger_of(prefix), {**run, "prefix": prefix}
    state = draw.choice((*sorted(PARTS), *sorted(RUNS), CLOSES, CLOSES))
    if state == CLOSES:
        return _closing(draw, run, sent)
    try:
        plan = ledger.read_plan()
    except FanoutError:
        return None
    part, why = _part(draw, state, ledger)
    if not RUNS[state](plan):
        why = plan.request.mode.value
    if not why or state not in LABELS:
        return None
    name = "segment" if state in PARTS and _LIST_OF.get(state, 1) == 0 else "shard"
    whole = {"run": run, "shards": {"restores": "", "extras": 1}, "list": {"round": 1, "max_concurrency": 1}}
    return Forged(state, {"step": state, **whole, name: part, "cursor": 0, "error": _ERROR, "state": whole}, why)


def _part(draw: Random, state: str, ledger: Ledger) -> tuple[Json, str]:
    """A part with one field altered, and that field; one that an unwritten list cannot hold. Unaltered for no part."""
    if state not in PARTS:
        return dict(_ANY_SHARD), ""
    try:
        rows = ledger.read_json(_LISTS[_LIST_OF.get(state, 1)])
    except FanoutError:
        return dict(_ANY_SHARD) if _LIST_OF.get(state, 1) else {"id": "0001-000000"}, "early"
    if not rows:
        return dict(_ANY_SHARD), "early"
    row, other = (draw.choice(rows) for _ in range(2))
    genuine, others = row.get("shard", row), other.get("shard", other)
    field, value = draw.choice(_altered(draw, _LIST_OF.get(state, 1), genuine, others))
    part = {**genuine, field: value}
    return part, "" if genuine.get(field) == value or part in [one.get("shard", one) for one in rows] else field


def _altered(draw: Random, kind: int, part: Json, other: Json) -> list[tuple[str, Any]]:
    """The fields of a part with other values, or those of another one."""
    more: list[tuple[str, Any]] = [("id", other["id"]), ("id", "x")]
    if kind == 0:
        names = ("prefix", "after", "until")
        return [*more, *((name, draw.choice(("a", "d", "zz"))) for name in names), ("budget_entries", 1)]
    if kind == 3:
        files = [[{"key": "directories/x.jsonl.gz", "rows": 1}]]
        return [*more, ("big_files", ["big-files/x.json"]), ("directories", files), ("page", 1)]
    return [
        *more,
        ("key", other.get("key", "")),
        ("key", "shards/x.jsonl.gz"),
        ("entries", max(0, part.get("entries", 0) + draw.choice((-1, 1)))),
        ("bytes", part.get("bytes", 0) + draw.choice((1, 2**20))),
        ("blocks", [0, draw.randrange(1, 9)]),
        *(("page", draw.randrange(1, 3)), ("linked", True), ("done", True), ("archive", "GLACIER")),
    ]


def _closing(draw: Random, run: Json, sent: Sequence[tuple[str, Json]]) -> Forged | None:
    """The last state's event before it is entered, or with other data."""
    state, event = sent[-1]
    whole = deepcopy(event.get("state") or {**event, "run": run})
    whole |= draw.choice(({}, {"error": _ERROR}, {"shards": {"extras": 0}}, {"pace": {}}))
    if state == CLOSES and whole == event["state"]:
        return None
    whole.pop("step", None)
    return Forged(CLOSES, {"step": CLOSES, "run": whole["run"], "state": whole}, "state")


def send_forged(seed: int, machine: Machine, attempt: Attempt) -> None:
    """Send one in the middle of a task; it is a finding if it is carried out."""
    plain = machine.lab.store.plain
    with machine.lab.conductor.paused():
        made = forged(seed, machine.sent, lambda prefix: Ledger(plain, machine.run_id, prefix))
    if made is None:
        return
    assert STEPS[made.state].hands_back is None or not machine.window, "a closed window hands back"
    machine.forged.append(f"{made.state}: {made.why}")
    if machine.again(made.state, made.event, attempt):
        machine.result.unnamed.append(f"{made.state}: carried out a forged event with another {made.why}")
