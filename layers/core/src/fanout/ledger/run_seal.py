"""The seal of a run that is to be certified: a secret that only those who list, compare and sign can read.

| who                                                          | the secret                                         |
|--------------------------------------------------------------|----------------------------------------------------|
| PlanTransfer                                                 | makes it, writes it below ``seals/``, seals with it |
| ``PROVERS``: what lists, partitions and compares             | read it, seal with it, take nothing that lacks it  |
| SummariseTransfer                                            | reads it, and demands it for what it signs         |
| every other function, and whoever may write below ``runs/``  | cannot read it                                     |

The roles hold this (templates/policies.yaml).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable

from msgspec import Struct

from fanout.model.document import Json

SECRET_BYTES = 32
# The states whose functions write what a certificate is made from.
PROVERS = frozenset(
    (
        "PlanTransfer",
        "CheckMount",
        "CheckOtherMount",
        "ListSegment",
        "ListDestination",
        "GatherSegments",
        "PartitionShards",
        "RecordShardFailure",
        "BeginVerification",
        "VerifyShard",
        "DigestShard",
        "DigestDestination",
    )
)
SIGNER = "SummariseTransfer"


class RunSeal(Struct, frozen=True):
    """The secret in hexadecimal, the prefix of the ledger that it seals, the execution's ARN, and what was asked.

    ``plan`` and ``request`` are the digests of the run's plan and of its request, as their documents hold them.
    """

    secret: str
    prefix: str
    execution: str
    plan: str
    request: str


class Seal(Struct, frozen=True):
    """Seals all below a prefix with a secret; ``is_demanded``: what is read there must bear it."""

    prefix: str
    secret: Callable[[], bytes]
    is_demanded: bool = True


def digest_of(row: Json) -> str:
    """The SHA-256 of a JSON document, whatever the order of its fields."""
    return hashlib.sha256(json.dumps(row, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
