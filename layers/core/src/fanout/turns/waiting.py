"""A run that waits for its turn says so in its ledger: for people who watch it, since it has no plan yet."""

from __future__ import annotations

from contextlib import suppress

from msgspec import Struct

from fanout.ledger.kind import ObjectKind
from fanout.ledger.ledger import Ledger
from fanout.model.errors import DestinationBusy, FanoutError
from fanout.model.path_rules import PlainName
from fanout.ports.turns import Writer
from fanout.request.plan import Plan
from fanout.work.context import Context

# As the scheme `busy` of statemachine/retries.yaml.
RETRY_SECONDS, RETRY_SECONDS_MAX = 30.0, 300.0


class Waiting(Struct, frozen=True):
    """waiting.json: the run ``holder`` writes ``destination`` in a ``mode``, and this one waits for its end.

    ``since`` is when it asked first, ``tries`` how often it asked, ``next_try`` when it asks again at the latest: in
    seconds since 1970. The document stays when the waiting is over; plan.json is there then.
    """

    holder: PlainName
    destination: str
    mode: str
    since: float
    tries: int
    next_try: float


# For people who watch; no state reads it.
WAITING = ObjectKind("waiting.json", Waiting, by=("PlanTransfer",), sealed=False, early=True)


def take_turn(plan: Plan, execution: str, context: Context, versions: str) -> Writer | None:
    """As ``ports.turns.Turns.take``; a run that must wait notes that in waiting.json."""
    if context.turns is None:
        return None
    try:
        return context.turns.take(plan, execution, versions)
    except DestinationBusy as busy:
        with suppress(FanoutError):  # it waits whether it can say so or not
            _note(busy, context)
        raise


def asked_at(ledger: Ledger, now: float) -> float:
    """When a run that asks for its turn now asked first."""
    before = ledger.find(WAITING)
    return before.since if before else now


def _note(busy: DestinationBusy, context: Context) -> None:
    now = context.clock.now()
    before = context.ledger.find(WAITING)
    tries, since = (before.tries + 1, before.since) if before else (1, now)
    waiting = Waiting(busy.holder, busy.held, busy.mode, since, tries, now + longest_pause(tries))
    context.ledger.write(WAITING, waiting)


def longest_pause(tries: int) -> float:
    """Seconds after so many tries until the next one, at most: Step Functions waits a random part of them."""
    return min(RETRY_SECONDS * 2.0 ** min(tries - 1, 10), RETRY_SECONDS_MAX)
