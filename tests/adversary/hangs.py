"""Operations that never return: the watch of the function ends its task by name, by an error in it or by its end."""

from __future__ import annotations

from random import Random
from typing import NoReturn

from msgspec.structs import replace

from fanout.model.errors import Stalled
from tests.adversary.deeds import soon
from tests.adversary.script import Act, Fault
from tests.adversary.vocabulary import OS_KINDS, STATES

# The first is interrupted and can still clean up; the second is a call that does not return, so the process ends.
INTERRUPTED, ENDED = "hang", "hang for good"
HANGS = (INTERRUPTED, ENDED)
# The error names of a function that was lost.
LOST, STALLED = "Lambda.Unknown", Stalled.__name__
_STATES = (*STATES, "check", "gather", "summarise", "begin deletion")
_OPERATIONS = ("any", "any", "ledger:put", "ledger:get", *OS_KINDS)


def interrupted(state: str) -> NoReturn:
    """What the watch raises in a task that hung."""
    raise Stalled(state, 70.0, "a file system")


def hung(draw: Random, acts: tuple[Act, ...]) -> tuple[Act, ...]:
    """The same with a step that hangs, once or until the retries are used up."""
    if draw.random() > 0.25 or acts[0].what != "run":
        return acts
    kind = f"{draw.choice(_STATES)}/{draw.choice(_OPERATIONS)}"
    times = draw.choice((1, 1, 1, 2, 1000))
    fault = Fault(kind, soon(draw, 40), draw.choice(HANGS), draw.random() < 0.5, times)
    return (replace(acts[0], faults=(*acts[0].faults, fault)), *acts[1:])
