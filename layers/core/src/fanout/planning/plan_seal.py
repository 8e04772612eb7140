"""The seal of a run that is to be certified, as PlanTransfer makes it: one secret, whichever attempt comes first."""

from __future__ import annotations

import secrets

from msgspec.structs import replace

from fanout.ledger.documents import RawRequest, document_row
from fanout.ledger.ledger import Ledger
from fanout.ledger.objects import Seal
from fanout.ledger.sealing import SECRET_BYTES, RunSeal, digest_of, find_seal, read_seal, write_new_seal, write_seal
from fanout.request.plan import Plan
from fanout.work.reference import sealed_prefix


def seal_run(plan: Plan, asked: RawRequest, ledger: Ledger) -> Ledger:
    """The ledger in which a plan is written; with a secret where the run is to be certified.

    All attempts of one execution share a secret: what one of them wrote stays readable.
    """
    if not plan.request.certificate:
        return ledger
    new = _with_digests(RunSeal(secrets.token_hex(SECRET_BYTES), sealed_prefix(plan, ledger), "", "", ""), plan, asked)
    known = find_seal(ledger)
    if known is None and not write_new_seal(new, ledger):
        known = read_seal(ledger)  # another attempt's, at the same time
    if known is not None and known.execution != plan.origin.execution:
        write_seal(new, ledger)
        known = None
    secret = (known or new).secret
    return ledger.sealed(Seal(new.prefix, lambda: bytes.fromhex(secret)))


def note_in_seal(plan: Plan, asked: RawRequest, ledger: Ledger) -> None:
    """Note in the seal which plan and which request were written, whichever attempt wrote them."""
    if plan.request.certificate:
        known = read_seal(ledger)
        if known != (noted := _with_digests(known, plan, asked)):
            write_seal(noted, ledger)


def _with_digests(seal: RunSeal, plan: Plan, asked: RawRequest) -> RunSeal:
    plan_digest, request_digest = (digest_of(document_row(one)) for one in (plan, asked))
    return replace(seal, execution=plan.origin.execution, plan=plan_digest, request=request_digest)
