"""The id of a run that is given none: short enough to read aloud, and it sorts by time."""

from __future__ import annotations

import secrets
import time

_LETTERS = "abcdefghjkmnpqrstvwxyz23456789"


def new_run_id(name: str) -> str:
    """``NAME-MMDD-HHMMSS-`` in UTC and three letters; a name can come again after 90 days, this one after a year."""
    drawn = "".join(secrets.choice(_LETTERS) for _ in range(3))
    return f"{name}-{time.strftime('%m%d-%H%M%S', time.gmtime())}-{drawn}"
