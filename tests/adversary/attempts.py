"""Two attempts at one task at the same time: what scripts draw, and what the oracle says of it."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from msgspec.structs import replace

from tests.adversary.deeds import soon
from tests.adversary.scope import REFUSED, Finding, Record
from tests.adversary.script import Act, Fault
from tests.adversary.states import LABELS

# Faults that take a run's right to write, or give it to another run.
_TAKES_THE_RIGHT = frozenset({"freeze", "stop", "another run", "change"})


def twice_at_once(draw: Random, acts: tuple[Act, ...]) -> tuple[Act, ...]:
    """The acts with a task of any state that is delivered once more in the middle of itself, now and then."""
    if draw.random() > 0.2 or acts[0].what != "run":
        return acts
    state = draw.choice(sorted(set(LABELS.values())))
    fault = Fault(f"{state}/any", soon(draw, 150), "twice")
    return (replace(acts[0], faults=(*acts[0].faults, fault)), *acts[1:])


def judge_recovered(record: Record) -> Iterator[Finding]:
    """A run in which a function was only late, or came twice, ends as one without a fault: its retry carries on.

    A task that is late twice is not tried a third time.
    """
    result, late = record.result, {"oversleep", "twice"}
    alone = record.told and record.told <= late and not (record.nested or record.resumed or record.touched)
    name = (result.error or {}).get("name") or (result.error or {}).get("Error")
    if alone and result.status == "FAILED" and name not in REFUSED and "States.Timeout" not in str(result.error):
        yield Finding(
            "not recovered", f"run {record.run}, in which only {sorted(record.told)} happened: {result.error}"
        )


def judge_superseded(record: Record) -> Iterator[Finding]:
    """A run ends as Superseded only where somebody else took its right to write."""
    name = (record.result.error or {}).get("name") if isinstance(record.result.error, dict) else None
    if name == "Superseded" and not (record.nested or record.told & _TAKES_THE_RIGHT):
        yield Finding("superseded by nobody", f"run {record.run}: {record.result.error}")
