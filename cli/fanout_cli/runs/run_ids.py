"""The id of a run that is given none: short enough to read aloud, and it sorts by time."""

from __future__ import annotations

import re
import secrets
import time

from fanout.ledger.run_places import RESERVED
from fanout_cli.command_error import CommandError

# Between the name of a schedule, which holds no such sign, and what tells its runs apart.
_OF_SCHEDULE = "--"
_LETTERS = "abcdefghjkmnpqrstvwxyz23456789"


_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,79}")


def check_run_id(run_id: str) -> None:
    """Raise ``CommandError`` for an id that no run can have."""
    if not _NAME.fullmatch(run_id):
        allowed = "take 1 to 80 of A-Z, a-z, 0-9, - and _, a letter or a digit first"
        raise CommandError(f"{run_id[:80]!r} is no name of a run; {allowed}")
    if run_id in RESERVED:
        raise CommandError(f"{run_id!r} is the name of another place in the work bucket; choose another --name")


def new_run_id(name: str) -> str:
    """``NAME-MMDD-HHMMSS-`` in UTC and three letters; a name can come again after 90 days, this one after a year."""
    drawn = "".join(secrets.choice(_LETTERS) for _ in range(3))
    return f"{name}-{time.strftime('%m%d-%H%M%S', time.gmtime())}-{drawn}"


def scheduled_run_id(schedule: str, apart: str) -> str:
    """The id of a run of a schedule: ``NAME--`` and what tells it apart from the others."""
    return f"{schedule}{_OF_SCHEDULE}{apart}"


def schedule_of(run_id: str) -> str | None:
    """The name of the schedule that a run is of; ``None`` for a run of none."""
    schedule, found, _ = run_id.partition(_OF_SCHEDULE)
    return schedule if found and schedule else None
