"""Makes the secret with which a run that is to be certified seals its proof."""

from __future__ import annotations

import secrets

from fanout.ledger.documents import Asked, document_row
from fanout.ledger.ledger import Ledger
from fanout.ledger.run_seal import SECRET_BYTES, RunSeal, Seal, digest_of
from fanout.ledger.sealing import find_seal, write_seal
from fanout.request.plan import Plan
from fanout.work.reference import sealed_prefix


def seal_run(plan: Plan, asked: Asked, ledger: Ledger) -> Ledger:
    """The ledger in which a plan is written; with a secret where the run is to be certified.

    An attempt that comes after another one keeps its secret: what that one wrote stays readable.
    """
    if not plan.request.certificate:
        return ledger
    known = find_seal(ledger)
    is_mine = known is not None and known.execution == plan.origin.execution
    secret = known.secret if known is not None and is_mine else secrets.token_hex(SECRET_BYTES)
    prefix = sealed_prefix(plan, ledger)
    plan_digest, request_digest = (digest_of(document_row(one)) for one in (plan, asked))
    write_seal(RunSeal(secret, prefix, plan.origin.execution, plan_digest, request_digest), ledger)
    return ledger.sealed(Seal(prefix, lambda: bytes.fromhex(secret)))
