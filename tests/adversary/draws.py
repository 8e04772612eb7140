"""Draws that are laid over a script which is whole: each from a stream of its own, so that other draws do not move."""

from __future__ import annotations

from random import Random
from typing import Any

from tests.adversary.beforehand import with_vault
from tests.adversary.leftovers import with_leftovers
from tests.adversary.limited import limited
from tests.adversary.lost_comparisons import lost_comparison
from tests.adversary.manifests import written_anew
from tests.adversary.rates import rates_written
from tests.adversary.script import Act, Spec
from tests.adversary.sleepers import half_made
from tests.adversary.swapped import with_swappers
from tests.adversary.twins import twins
from tests.adversary.upgrades import upgraded


def more_draws(
    seed: int, direction: str, source: tuple[Spec, ...], options: dict[str, Any], acts: tuple[Act, ...]
) -> tuple[Act, ...]:
    """The acts with all that is laid over them, in the order of the lines."""
    acts = twins(Random(f"nearly the same {seed}"), options, acts)
    acts = written_anew(Random(f"list anew {seed}"), options, acts)
    acts = half_made(Random(f"half made {seed}"), direction, source, acts)
    acts = limited(Random(f"limited {seed}"), options, acts)
    acts = with_swappers(Random(f"swappers {seed}"), direction, source, options, acts)
    acts = with_leftovers(Random(f"leftovers {seed}"), direction, source, options, acts)
    acts = with_vault(Random(f"vault {seed}"), direction, options, acts)
    acts = upgraded(Random(f"upgraded {seed}"), acts)
    acts = lost_comparison(Random(f"lost comparison {seed}"), acts)
    return rates_written(Random(f"rates written {seed}"), acts)
