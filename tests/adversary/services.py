"""What the services between functions do to a run: long lists in pages, a late history, a copy of days.

A stream of its own: no other draw moves. None of it is a fault, so a run ends as it would without.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from contextlib import AbstractContextManager, nullcontext
from random import Random
from unittest.mock import patch

from msgspec import Struct

from fanout.ledger import objects
from fanout.model.document import Json, utc
from fanout.ports.aws import Entered
from fanout.request.parts.allowed_attributes import StackAllows, owners_of

DAY_SECONDS = 86_400.0
FOR_EVER = -1
_NOBODY = owners_of("4000000000:4000000000")
# With these a run is to end by a time, or what it brought back is there for a time.
_TIMED = frozenset({"limits", "archived", "window"})


class Services(Struct, frozen=True):
    """How the services are to one script.

    ``page_bytes`` is the size from which a list of the ledger has a further page, 0 for the product's own. ``behind``
    is how many answers of GetExecutionHistory do not have the newest state yet, ``FOR_EVER`` for all. PaceCopy pauses
    for a day as often as ``pauses`` says. ``no_set_ids``: the stack's ``SetIds`` is never. ``no_owners``:
    its ``AllowedOwners`` names nobody whom an object names.
    """

    page_bytes: int = 0
    behind: int = 0
    pauses: int = 0
    no_set_ids: bool = False
    no_owners: bool = False

    def story(self) -> list[str]:
        """In plain words; nothing for services as others have them."""
        said = []
        if self.page_bytes:
            said.append(f"a list of the ledger has a page for each {self.page_bytes} bytes")
        if self.behind:
            said.append(f"the history of an execution is behind for {self.behind} answers")
        if self.pauses:
            said.append(f"PaceCopy pauses for a day, {self.pauses} times")
        if self.no_set_ids:
            said.append("the stack's SetIds is never")
        if self.no_owners:
            said.append("the stack's AllowedOwners names nobody whom an object names")
        return said

    @property
    def allows(self) -> StackAllows:
        """The attributes that the stack allows."""
        return StackAllows(_NOBODY if self.no_owners else (), set_ids=not self.no_set_ids)

    def pages(self) -> AbstractContextManager[object]:
        """Lists have pages of this size inside."""
        return patch.object(objects, "PAGE_BYTES", self.page_bytes) if self.page_bytes else nullcontext()


def draw_services(draw: Random, asked: Collection[str], *, is_new: bool) -> Services:
    """Those of a script whose requests have the fields ``asked``; most scripts have the product's own.

    Nothing changes modes that a destination has already.
    """
    page_bytes = draw.choice((0, 0, 1, 150, 700))
    behind, pauses = draw.choice((0, 0, 0, 1, 3)), draw.choice((0, 0, 0, 1, 4))
    no_set_ids = draw.random() < 0.3 and is_new
    return Services(page_bytes, behind, 0 if _TIMED.intersection(asked) else pauses, no_set_ids)


class History(dict[str, Entered]):
    """The state that each run entered last, and what GetExecutionHistory shows of it."""

    def __init__(self, behind: int) -> None:
        super().__init__()
        self._behind = behind
        self._before: dict[str, Entered] = {}
        self._shown: Counter[str] = Counter()

    def __setitem__(self, run: str, entered: Entered) -> None:
        before = self.get(run)
        if before is not None and before != entered:
            self._before[run] = before
            self._shown[run] = 0
        super().__setitem__(run, entered)

    def shown(self, run: str) -> Entered:
        """One answer: the state before, while the history is behind."""
        before = self._before.get(run)
        self._shown[run] += 1
        is_behind = self._behind == FOR_EVER or self._shown[run] <= self._behind
        return before if before is not None and is_behind else self[run]


class Pauses:
    """The pauses of PaceCopy in each run."""

    def __init__(self, each: int) -> None:
        self._each = each
        self._made: Counter[str] = Counter()

    def answer(self, run: str, event: Json, now: float) -> Json:
        """The answer of PaceCopy: no Map runs here."""
        self._made[run] += 1
        done = self._made[run] > self._each
        until = "" if done else utc(now + DAY_SECONDS)
        return {"run": event["run"], "shards": event["shards"], "done": done, "until": until}
