"""Which ledger seals with a run's secret, and which takes only what is sealed: ``run_seal`` says who."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from fanout.ledger import run_places
from fanout.ledger.ledger import Ledger
from fanout.ledger.run_seal import PROVERS, SIGNER, RunSeal, Seal


def sealed_for(state: str, prefix: str, ledger: Ledger) -> Ledger:
    """The ledger of a task of a state, in a run that is sealed below a prefix, empty for none.

    It seals where the state proves, and takes nothing there that the secret has not sealed. The signer reads as
    everybody does, and demands the seal for what it signs (``demanding``).
    """
    if not prefix or not (state in PROVERS or state == SIGNER):
        return ledger
    return ledger.sealed(Seal(prefix, _secret_of(ledger), is_demanded=state in PROVERS))


def demanding(ledger: Ledger) -> Ledger:
    """The ledger, which takes only what the secret of the run has sealed. Raises ``LedgerBroken`` without one."""
    return ledger.sealed(Seal(read_seal(ledger).prefix, _secret_of(ledger)))


def find_seal(ledger: Ledger) -> RunSeal | None:
    """The seal of a run that is to be certified; ``None`` of any other."""
    return ledger.of_seals().find(run_places.seal_key(ledger.run_id), RunSeal)


def read_seal(ledger: Ledger) -> RunSeal:
    """The seal of a run that is to be certified. Raises ``LedgerBroken`` where there is none."""
    return ledger.of_seals().read(run_places.seal_key(ledger.run_id), RunSeal)


def write_seal(seal: RunSeal, ledger: Ledger) -> None:
    """Write the run's seal where only those who prove, and the signer, can read it."""
    ledger.of_seals().write(run_places.seal_key(ledger.run_id), seal)


def _secret_of(ledger: Ledger) -> Callable[[], bytes]:
    """The run's secret, read at its first use."""
    return cache(lambda: bytes.fromhex(read_seal(ledger).secret))
