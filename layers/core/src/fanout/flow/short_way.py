"""The short way: one function walks the definition from the state after the plan, as far as a small run goes.

The states, their order and their use cases are those of the ordinary way, and so is the ledger, which is read once for
all of them. Where the walk cannot go on, it hands the data of a state on, and Step Functions goes on there:

| what ends the walk                                      | and the run goes on at                      |
|---------------------------------------------------------|---------------------------------------------|
| everything is done                                      | SummariseTransfer                           |
| the tree is large, or a state is another function's     | the place before that state                 |
| the time in which a step may begin is up; an error      | the same: the ordinary way has the retries  |
| the ledger cannot be written                            | the last place before which all was written |
| the function is lost                                    | what ``take_over`` finds in the ledger      |

A function that is lost may still be at work, or wake up later. It begins no step after ``tuning.SHORT_WAY_SECONDS``,
for which Step Functions waits before it goes on; a step that it has begun is fenced as any task that was lost.

So is a function whose run was stopped, on a mount. A bucket fences nobody: a write there names what was listed. So the
function asks once, when it has listed and before it writes, whether its run still has its turn there
(``flow.belongs``). What a later run writes is then newer than the listing, and no write of this run replaces it.
"""

from __future__ import annotations

import json
from contextlib import suppress
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from fanout.facts import tuning
from fanout.flow.belongs import TURNS
from fanout.flow.calls import Begin, StackSettings
from fanout.flow.events import field
from fanout.flow.steps import STEPS, WALKED, run_step
from fanout.flow.walker import Walker, never
from fanout.model.document import Json
from fanout.model.errors import FanoutError
from fanout.ports.clock import Clock
from fanout.shards.round_records import round_done_key
from fanout.work.context import Context

DEFINITION = Path(__file__).with_name("transfer.json")
FIRST, ASKS = "CheckMount", "HowFar?"
# The places that the walk does not go on from.
ENDS = frozenset({"OpenRound", "BeginDeletion", "BeginVerification", "VerifyShards", "SummariseTransfer"})
# What the steps before these places have written last is sent with what the next step writes: a function that is lost
# until then is one that was lost in the step before, and nothing is copied yet.
_WAITING = frozenset({"OneSegment?", "GatherSegments", "PartitionShards", "CopyInPace"})
_LEAVE_WAITING = ("CheckMount", "ListOneSegment", "GatherSegments", "PartitionShards", "CopyShard")
# What a copy has written last is sent while this place is gone on from.
_MEANWHILE = "FinishTree"
# Where one process carries out the shards of a run, nothing is paced.
PACING = ("PaceCopy", "EndPacing")


class HandedOn(Exception):
    """The rest is for the ordinary way."""


@cache
def definition() -> Json:
    """The machine of a transfer, as ``make docs`` writes it into the package."""
    found: Json = json.loads(DEFINITION.read_text(encoding="utf-8"))
    return found


def places(machine: Json) -> frozenset[str]:
    """Where the ordinary way can go on: what the Choice after the short way knows."""
    return frozenset(rule["Next"] for rule in machine["States"][ASKS]["Choices"])


def take_short_way(event: Json, context: Context, stack: StackSettings) -> Json:
    """Walk from the first state on; returns the data of the place where it ended, and in ``short`` its name and why."""
    machine, task = definition(), _Tasks(event, context, stack)
    execution = {"Id": "", "Name": context.ledger.run_id}  # only what paces a Map asks for it, and none runs here
    walker = Walker(machine, task.invoke, task.items, task, execution, never)
    at, why, data = FIRST, "", {name: field(event, name) for name in ("run", "list")}
    sent, known, times = (at, data), places(machine), 0
    try:
        while at not in ENDS:
            times = task.ledger.times_settled
            at, data = walker.walk(at, data, known - {at})
            if at == _MEANWHILE and task.has_copied:
                task.ledger.settle_meanwhile()
            elif at not in _WAITING:
                task.ledger.settle()
                sent = at, data
    except Exception as error:  # noqa: BLE001 - the ordinary way meets it again, and knows what to do
        why = f"{type(error).__name__}: {error}"[: tuning.SEGMENT_STATE_BYTES]
        if task.ledger.times_settled > times:  # since that place
            sent = at, data
    with suppress(FanoutError):  # then the ordinary way does again what could not be sent
        task.ledger.settle()
        sent = at, data
    at, data = sent
    return {**data, "short": {"at": at, "why": why}}


def unpaced(event: Json) -> Json:
    """The answer of a step of ``PACING`` that has no Map to pace."""
    return {"run": event["run"], "shards": event["shards"], "done": True, "until": ""}


def take_over(context: Context) -> Json:
    """Where the ordinary way goes on after a short way that was lost.

    What is listed whole is not listed again: it may be copied by now, and would be found unchanged. From there on each
    state finds what is done.
    """
    done = context.ledger.find(round_done_key(1))
    if done is None:
        return {"at": FIRST}
    return {"at": "GatherSegments" if done.left else "PartitionShards"}


class _Tasks:
    """The functions of the walk, the items of its Maps, and its clock: each refuses what is not small."""

    def __init__(self, event: Json, context: Context, stack: StackSettings) -> None:
        assert stack.begin is not None
        self._begin: Begin = stack.begin
        self._clock: Clock = context.clock
        self._stack, self.ledger = stack, context.ledger
        self._has_turn = self.has_copied = False
        self._until = datetime.fromisoformat(field(event, "entered")).timestamp() + tuning.SHORT_WAY_SECONDS

    def now(self) -> float:
        """Seconds since 1970."""
        return self._clock.now()

    def sleep(self, seconds: float) -> None:
        """No function waits."""
        raise HandedOn(f"it is to wait for {seconds:.0f} s")

    def invoke(self, _function: str, event: Json) -> Any:
        """The answer of a step, carried out here."""
        name = event["step"]
        if name in PACING:
            return unpaced(event)
        if name not in WALKED:
            raise HandedOn(f"{name} is for its own function")
        if self._clock.now() >= self._until:
            raise HandedOn(f"{name} would begin after {tuning.SHORT_WAY_SECONDS:.0f} s")
        step = STEPS[name]
        with self._begin(step.acts_as or name) as inside:
            self.ledger = inside.ledger
            if name in TURNS and self._has_turn:
                inside = replace(inside, turns=None)
            self.has_copied = self.has_copied or name == "CopyShard"
            answer = run_step(step, event, inside, self._stack, waits=name in _LEAVE_WAITING)
            self._has_turn = self._has_turn or name in TURNS
            return step.answers(event, answer)

    def items(self, _bucket: str, key: str) -> Any:
        """The items of a Map, if one function does them one after the other as soon as many side by side."""
        rows = self.ledger.read_json(key.removeprefix(self.ledger.prefix))
        seconds = sum(row.get("shard", {}).get("seconds", 0.0) for row in rows)
        if len(rows) > 1 and seconds > tuning.SHORT_WAY_SHARDS_SECONDS:
            raise HandedOn(f"{len(rows):,} shards of {seconds:.0f} s are for as many functions")
        return rows
