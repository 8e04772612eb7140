"""A comparison of which an attempt is lost or runs twice: drawn after the acts of a script."""

from __future__ import annotations

from random import Random

from tests.adversary.deeds import soon
from tests.adversary.script import Act, Fault

COMPARED = "compared"


def lost_comparison(draw: Random, acts: tuple[Act, ...]) -> tuple[Act, ...]:
    """Draw one at the end, now and then; ``differences.judge_sums`` judges it."""
    chance, what = draw.random(), draw.choice(("kill", "twice"))
    fault = Fault("verify/any", soon(draw, 40), what, draw.random() < 0.5)
    return acts if chance > 0.04 else (*acts, Act("run", COMPARED, {"mode": "verify"}, (fault,)))
