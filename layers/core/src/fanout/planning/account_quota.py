"""How many functions a run may start at once, of those that the account lets run."""

from __future__ import annotations

from typing import Final

# Chosen: PaceCopy runs while functions copy, and one more is for whatever else the account runs.
LEAST_FOR_OTHERS: Final = 2
# Chosen: one in so many stays for others.
SHARE_FOR_OTHERS: Final = 10


def most_functions(unreserved: int) -> int:
    """The most functions of a run at once, where Lambda lets ``unreserved`` run without a reservation.

    A tenth, and 2 at least, stay for other functions of the account.
    """
    return max(1, unreserved - max(LEAST_FOR_OTHERS, -(-unreserved // SHARE_FOR_OTHERS)))
