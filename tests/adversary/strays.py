"""Events that come late: one that an earlier state of the run was sent, as it was or with other fields."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from random import Random

from fanout.model.document import Json


def stray(seed: int, sent: Sequence[tuple[str, Json]]) -> tuple[str, Json]:
    """One of the events that were sent; the same for the same seed."""
    draw = Random(f"stray {seed}")
    name, event = deepcopy(draw.choice(sent))
    match draw.choice(("as it was", "as it was", "more fields", "another cursor")):
        case "more fields":
            event |= {"mounts": {"data": "/"}, "prefix": "runs/other/", "execution": "theirs"}
        case "another cursor" if "cursor" in event:
            event["cursor"] = draw.choice((0, event["cursor"] + draw.randrange(1, 5), 10**9))
    return name, event
