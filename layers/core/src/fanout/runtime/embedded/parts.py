"""The parts of the engine on one machine, and the contexts that it makes of them; no environment is read."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, Protocol

from msgspec import Struct

from fanout.ledger.ledger import Ledger
from fanout.ledger.sealing import Seals, sealed_for
from fanout.ports.aws import ExecutionReader, Executions, Signer
from fanout.ports.clock import Clock
from fanout.ports.store import VersionedStore, WorkStore
from fanout.runtime.bootstrap import hold_to_budget
from fanout.turns.write_turn import WriteTurns
from fanout.work.context import Context, EndPorts, StackFacts, StackPorts
from fanout.work.processes.crew import find_crew
from fanout.work.rates.throttle import Throttle

# The ledger's name where a bucket's is asked for. No bucket of AWS has it:
# docs.aws.amazon.com/AmazonS3/latest/userguide/bucketnamingrules.html reserves the prefix sthree-.
LEDGER = "sthree-fanout-ledger"


class LedgerStore(WorkStore, VersionedStore, Protocol):
    """The place of the ledger and of the turns."""


class RunsHere(Executions, ExecutionReader, Protocol):
    """The executions of a ledger, of which this process carries one out."""

    def hold(self, run_id: str, request: Any) -> AbstractContextManager[None]:
        """Be the process that carries out a run. Raises ``InvalidRequest`` while another one is."""

    def enter(self, run_id: str, state: str, given: Any) -> None:
        """Note the state that a run of this process enters now."""


class Parts(Struct, frozen=True, kw_only=True):
    """The parts of an engine. ``ends`` makes the trees of an attempt; ``facts`` are those of a stack, of this machine.

    ``processors`` are those that a copy may be divided among. ``bucket`` is the ledger's name in documents; ``signer``
    signs certificates.
    """

    store: LedgerStore
    executions: RunsHere
    ends: Callable[[Ledger, str], EndPorts]
    facts: StackFacts
    clock: Clock
    processors: int = 1
    bucket: str = LEDGER
    signer: Signer | None = None

    def context(
        self, run_id: str, prefix: str = "", state: str = "", sealed: str = "", seals: Seals = Seals.NOTHING
    ) -> Context:
        """The context of an attempt at a state, as ``bootstrap.make_context`` makes it for a function."""
        nonce, seconds = secrets.token_hex(4), float(self.facts.function.seconds)
        ledger = sealed_for(seals, sealed, Ledger(self.store, run_id, prefix))
        clock, plain = self.clock, Ledger(self.store, run_id, prefix)
        return Context(
            ledger=ledger,
            clock=clock,
            ends_at=clock.now() + seconds,
            nonce=nonce,
            ends=self.ends(ledger, nonce),
            stack=StackPorts(
                facts=self.facts,
                executions=self.executions,
                processors=self.processors,
                crew=find_crew(),
                hold_to_budget=hold_to_budget,
            ),
            limiter=Throttle(state, plain, nonce, clock.now, clock.sleep, seconds),
            turns=WriteTurns(self.store, self.executions, clock, tuple(self.facts.mounts), self.facts.file_systems),
            signer=self.signer,
        )
