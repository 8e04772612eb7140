"""The one builder of an attempt of a task, for tests and benchmarks; ``fanout.runtime.bootstrap`` has the product's."""

from __future__ import annotations

from fanout.ledger.ledger import Ledger
from fanout.ports.aws import Signer
from fanout.ports.clock import Clock
from fanout.ports.limiter import NO_LIMITS, TaskLimiter
from fanout.ports.turns import Turns
from fanout.work.context import Context, EndPorts, StackPorts


def attempt_of(
    ledger: Ledger,
    clock: Clock,
    seconds: float,
    nonce: str,
    ends: EndPorts,
    stack: StackPorts | None = None,
    *,
    limiter: TaskLimiter = NO_LIMITS,
    turns: Turns | None = None,
    signer: Signer | None = None,
) -> Context:
    """An attempt that begins now and may take so many seconds."""
    return Context(
        ledger=ledger,
        clock=clock,
        ends_at=clock.now() + seconds,
        nonce=nonce,
        ends=ends,
        stack=stack or StackPorts(),
        limiter=limiter,
        turns=turns,
        signer=signer,
    )
