"""The product is upgraded between two runs, and what it writes from then on is of the next schema version.

All that the ledger holds by then is of the version before: lists of writers, indexes, notes of staged directories,
probes. A later run begins none the less, and one that resumes an earlier run is refused.
"""

from __future__ import annotations

import sys
from contextlib import ExitStack
from random import Random
from unittest.mock import patch

from fanout.model.document import SCHEMA_VERSION
from tests.adversary.script import Act, Change

UPGRADE = "upgrade"
Acts = tuple[Act, ...]


def upgraded(draw: Random, acts: Acts) -> Acts:
    """The acts with an upgrade before one of their later runs, now and then."""
    chance, which = draw.random(), draw.random()
    later = [at for at, act in enumerate(acts) if at and act.what == "run"]
    if chance > 0.15 or not later:
        return acts
    at = later[int(which * len(later))]
    return (*acts[:at], Act("change", change=Change(UPGRADE, "", end="product")), *acts[at:])


class Product:
    """The product at work, until the script ends."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack, self.upgrades = stack, 0

    def upgrade(self) -> None:
        """Read and write documents of the next version, wherever a module knows which one that is; once."""
        if self.upgrades:
            return
        self.upgrades += 1
        for name, module in list(sys.modules.items()):
            if name.startswith("fanout.") and "SCHEMA_VERSION" in vars(module):
                self._stack.enter_context(patch.object(module, "SCHEMA_VERSION", SCHEMA_VERSION + 1))
