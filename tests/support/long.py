"""Whether tests run what takes minutes too: ``FANOUT_LONG=1``. ``tests/commands.py`` lists it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import date
from itertools import product
from typing import TypeVar

LONG = "FANOUT_LONG" in os.environ
_DAY = int(os.environ.get("FANOUT_DAY") or date.today().toordinal())  # conftest.py notes it for all workers
One = TypeVar("One")
Other = TypeVar("Other")


def drawn(cases: Sequence[One], parts: int) -> Sequence[One]:
    """One of ``parts`` of the cases, each day another one, or all of them."""
    return cases if LONG else cases[_DAY % parts :: parts]


def paired(cases: Sequence[One], others: Sequence[Other]) -> list[tuple[One, Other]]:
    """Each case with one of the others, each day with another one, or with all of them."""
    if LONG:
        return list(product(cases, others))
    return [(case, others[(number + _DAY) % len(others)]) for number, case in enumerate(cases)]
