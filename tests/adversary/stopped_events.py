"""Events of a run that was stopped, by hand, while a later run with the same ends is at work: none changes an end.

The later run has taken the turn of the stopped one, which every step that asks for it (``belongs.TURNS``) must see.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from random import Random

from fanout.flow.belongs import PARTS, RUNS, TURNS
from fanout.ledger.ledger import Ledger
from fanout.ledger.run_places import run_prefix, verification_prefix
from fanout.model.document import Json
from fanout.model.errors import FanoutError
from tests.adversary.conductor import Attempt
from tests.adversary.forged_events import send_forged
from tests.adversary.machine import Machine
from tests.adversary.out_of_place import send_out_of_place
from tests.adversary.states import LABELS

_LISTS = {"DeleteShard": "deletions.json", "FinishShard": "finishing/round-0000.json"}


def _events(machine: Machine) -> Iterator[tuple[str, Json]]:
    """The steps of the run that change an end, on both of its ledgers, with each part that these hold."""
    run: Json = next((event["run"] for _, event in reversed(machine.sent) if "run" in event), {})
    for step, prefix in product(
        TURNS if run else (), (run_prefix(machine.run_id), verification_prefix(machine.run_id))
    ):
        ledger = Ledger(machine.lab.store.plain, machine.run_id, prefix)
        try:
            plan = ledger.read_plan()
            rows = ledger.read_json(_LISTS.get(step, "shards.json")) if step in PARTS else [{}]
        except FanoutError:
            continue  # it was stopped before
        whole = {"run": {**run, "prefix": prefix}, "shards": {"restores": "", "extras": 1}}
        if (
            step in LABELS
            and RUNS[step](plan)
            and any(map(TURNS[step], ledger.whole_run().read_plan().request.written_ends))
        ):
            yield from (
                (step, {"step": step, **whole, "shard": row.get("shard", row), "cursor": 0, "state": whole})
                for row in rows
            )


def send_of_stopped(seed: int, later: Machine, attempt: Attempt) -> None:
    """Send one in the middle of a task of the later run; it is a finding if it is carried out."""
    draw = Random(f"event of a stopped run {seed}")
    with later.lab.conductor.paused():
        found = [(machine, *event) for machine in later.lab.stopped for event in _events(machine)]
    if not found:
        return
    machine, step, event = draw.choice(found)
    later.forged.append(f"{step} of {machine.run_id}")
    if machine.again(step, event, attempt):
        later.result.unnamed.append(f"{step}: carried out an event of {machine.run_id}, which was stopped")


# The faults that are events by hand.
BY_HAND: dict[str, Callable[[int, Machine, Attempt], None]] = {
    "forged event": send_forged,
    "event of a stopped run": send_of_stopped,
    "step out of place": send_out_of_place,
}
