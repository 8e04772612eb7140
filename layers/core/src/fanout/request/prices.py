"""The prices that a request names."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf
from typing import Any

from fanout.facts.prices import PRICES
from fanout.model.errors import InvalidRequest


def check_prices(field: str, given: Mapping[str, Any]) -> None:
    """Raise ``InvalidRequest`` for a price that is not in the table, or is no dollars."""
    for name, dollars in given.items():
        if name not in PRICES:
            raise InvalidRequest(f"{field}.{name}", "unknown price", f"known are {', '.join(PRICES)}")
        if isinstance(dollars, bool) or not isinstance(dollars, int | float) or not 0 <= dollars < inf:
            raise InvalidRequest(f"{field}.{name}", f"{dollars!r} is not allowed", "dollars, 0 or more")
