"""The seal of a run that is to be certified: a secret that only those who list, compare and sign can read.

| who                                                          | the secret                                         |
|--------------------------------------------------------------|----------------------------------------------------|
| PlanTransfer                                                 | makes it, writes it below ``seals/``, seals with it |
| steps that prove: they list, partition and compare           | read it, seal with it, take nothing that lacks it  |
| the step that signs                                          | reads it, and demands it for what it signs         |
| every other function, and whoever may write below ``runs/``  | cannot read it                                     |

The roles hold this (templates/policies.yaml).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from enum import StrEnum
from functools import cache

from msgspec import Struct

from fanout.ledger import run_places
from fanout.ledger.kind import ObjectKind
from fanout.ledger.ledger import Ledger
from fanout.ledger.objects import Seal
from fanout.model.document import Json

SECRET_BYTES = 32


class Seals(StrEnum):
    """The part of a step in the seal of its run; each row of ``flow.steps`` has one.

    - ``PROVES``: it writes what a certificate is made from.
    - ``SIGNS``: it signs the certificate.
    """

    NOTHING = ""
    PROVES = "proves"
    SIGNS = "signs"


class RunSeal(Struct, frozen=True):
    """The secret in hexadecimal, the prefix of the ledger that it seals, the execution's ARN, and what was asked.

    ``plan`` and ``request`` are the digests of the run's plan and of its request, as their documents hold them.
    """

    secret: str
    prefix: str
    execution: str
    plan: str
    request: str


# The secret of a run, next to those of the others.
SEAL = ObjectKind("{run_id}.json", RunSeal, by=("PlanTransfer",), place=run_places.SEALS)


def digest_of(row: Json) -> str:
    """The SHA-256 of a JSON document, whatever the order of its fields."""
    return hashlib.sha256(json.dumps(row, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def sealed_for(seals: Seals, prefix: str, ledger: Ledger) -> Ledger:
    """The ledger of a task of such a step, in a run that is sealed below a prefix, empty for none.

    It seals where the step proves, and takes nothing there that the secret has not sealed. The signer reads as
    everybody does, and demands the seal for what it signs (``demanding``).
    """
    if not prefix or seals is Seals.NOTHING:
        return ledger
    return ledger.sealed(Seal(prefix, _secret_of(ledger), is_demanded=seals is Seals.PROVES))


def demanding(ledger: Ledger) -> Ledger:
    """The ledger, which takes only what the secret of the run has sealed. Raises ``LedgerBroken`` without one."""
    return ledger.sealed(Seal(read_seal(ledger).prefix, _secret_of(ledger)))


def find_seal(ledger: Ledger) -> RunSeal | None:
    """The seal of a run that is to be certified; ``None`` of any other."""
    return ledger.of_seals().find(_key(ledger))


def read_seal(ledger: Ledger) -> RunSeal:
    """The seal of a run that is to be certified. Raises ``LedgerBroken`` where there is none."""
    return ledger.of_seals().read(_key(ledger))


def write_seal(seal: RunSeal, ledger: Ledger) -> None:
    """Write the run's seal where only those who prove, and the signer, can read it."""
    ledger.of_seals().write(_key(ledger), seal)


def write_new_seal(seal: RunSeal, ledger: Ledger) -> bool:
    """The same, if the run has none; whether this call wrote it."""
    return ledger.of_seals().write_new(_key(ledger), seal)


def _key(ledger: Ledger) -> ObjectKind[RunSeal]:
    return SEAL.at(run_places.seal_key(ledger.run_id))


def _secret_of(ledger: Ledger) -> Callable[[], bytes]:
    """The run's secret, read at its first use."""
    return cache(lambda: bytes.fromhex(read_seal(ledger).secret))
