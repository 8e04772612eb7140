"""Issues the certificate of a run that proved both trees equal."""

from __future__ import annotations

import base64
import hashlib
import json

from msgspec import Struct
from msgspec.structs import asdict, replace

from fanout import __version__
from fanout.books.ending import Ending
from fanout.books.run_books import run_books
from fanout.books.summary_document import CertificateIssued, Status, Totals, Verified
from fanout.books.verification_results import verified_trees
from fanout.certificate.certified import TreeSums, sums_of_shards
from fanout.certificate.document import (
    Certificate,
    CertificateDocument,
    CertificateInvalid,
    CertifiedRun,
    CertifiedTree,
    CertifiedVerification,
    NotCertified,
    SigningKey,
    decoded,
    in_one_form,
)
from fanout.certificate.tree_digest import TreeDigest
from fanout.ledger import keys
from fanout.ledger.documents import RawRequest, document_row
from fanout.ledger.ledger import Ledger
from fanout.ledger.objects import ANOTHERS
from fanout.ledger.sealing import demanding, digest_of, read_seal
from fanout.model.books import Count
from fanout.model.document import utc
from fanout.model.errors import AccessDenied, InvalidRequest, LedgerBroken, NotFound, RunError, Transient, Unreachable
from fanout.model.location import Location
from fanout.model.outcome import Result
from fanout.ports.aws import PublicKey, Signer
from fanout.request.asked import is_plan_of
from fanout.request.options import Verify
from fanout.request.plan import Plan
from fanout.request.secrets import without_secrets
from fanout.shards.partitioned import links_of, shards_of
from fanout.verifying.begin_verification import plan_to_compare
from fanout.verifying.compared_big_files import compared_big_files
from fanout.work.context import Context

_NOT_EQUAL = "no certificate was issued: it says that both trees are equal, and this run did not prove that"
_NO_SIGNER = "the function has no key; deploy the stack with Certificates: true"


class RunTimes(Struct, frozen=True):
    """When the run began and ended, as the summary writes times."""

    began: str
    ended: str


class Issuing(Struct, frozen=True):
    """The result of a request for a certificate: the certificate, an error of the run, or a note."""

    issued: CertificateIssued | None = None
    error: RunError | None = None
    notes: tuple[str, ...] = ()


def issue_certificate(plan: Plan, ending: Ending, totals: Totals, times: RunTimes, context: Context) -> Issuing:
    """Write certificate.json of a run that succeeded, or say why there is none; nothing without a request for it.

    It is made from what bears the run's seal (``ledger.sealing``), which is read here once more, and from nothing
    else: the books of the copy, which it repeats, are named as such. An attempt that finds the certificate that it
    would issue, signed by its key, keeps it: what was handed out stays the one. Where KMS refuses to sign, or something
    else lies in the place of the certificate, the run ends with that error. Raises ``Throttled`` and ``Transient``,
    which are tried again, and ``LedgerBroken``.
    """
    if not plan.request.certificate:
        return Issuing()
    if ending.status is not Status.SUCCEEDED or ending.verification is None:
        return Issuing(notes=(_NOT_EQUAL,))
    ledger = context.ledger.whole_run()
    seal, asked = read_seal(ledger), ledger.read(keys.REQUEST)
    for key, written, read in ((keys.PLAN, seal.plan, plan), (keys.REQUEST, seal.request, asked)):
        if digest_of(document_row(read)) != written:
            raise ledger.broken(key, "is not the one that PlanTransfer wrote")
    if not is_plan_of(plan, asked.request, tuple(context.stack.facts.mounts)):
        raise ledger.broken(keys.PLAN, f"is not the plan of {ledger.prefix}{keys.REQUEST}")
    proof = demanding(ledger if plan.request.course.compares else ledger.verification())
    if proof.read_plan() != plan_to_compare(plan):  # it was made of a plan.json that everybody may write
        raise proof.broken(keys.PLAN, "compares something else than the plan that PlanTransfer wrote")
    sums = _sums(proof, ending.verification)
    try:
        if context.signer is None:
            raise InvalidRequest("certificate", "the stack has no signing key", _NO_SIGNER)
        document = _document(plan, asked, ending.verification, asdict(totals), times, sums, context.signer)
        known = _known(ledger, document, context.signer)
        if known is None:
            known = Certificate(document, _signature(context.signer, document))
            if not ledger.write_new_bytes(keys.CERTIFICATE, known.encoded()):
                known = _known(ledger, document, context.signer)  # another attempt's, at the same time
        if known is None:
            raise InvalidRequest(f"{ledger.prefix}{keys.CERTIFICATE}", ANOTHERS, "find out who may write there")
    except (AccessDenied, InvalidRequest, NotFound, Unreachable) as error:
        way_on = "the trees were found equal; start a run of mode verify with certificate: true when it is mended"
        return Issuing(error=RunError(type(error).__name__, f"the certificate was not signed: {error}; {way_on}"))
    return Issuing(_issued(known, ledger))


def _sums(proof: Ledger, said: Verified) -> TreeSums:
    """The digests of both trees, from what bears the run's seal.

    Raises ``LedgerBroken`` where that shows another result than the summary, where an entry has no digest, and where
    listing, comparison and sums do not balance.
    """
    found = run_books(proof, None, lambda _outcome, _phase: None, "verify")
    verified = verified_trees(found, proof).verified
    if verified != said or verified.differences or not found.complete:
        raise proof.broken(keys.OUTCOMES, "shows another result than the summary")
    shards = shards_of(proof) + [one.shard for one in links_of(proof)]
    sums = sums_of_shards((shard for shard in shards if shard.blocks is None), proof)
    for one in compared_big_files(proof):
        if one.proof is not None:
            one.proof.add_to(sums)
        elif one.outcome.result is Result.UNCHANGED:
            raise LedgerBroken(f"{one.outcome.path} was compared without a digest of its content")
    imbalance = sums.imbalance(found.books)
    if imbalance:
        raise proof.broken(keys.OUTCOMES, f"does not balance: {imbalance}")
    return sums


def _known(ledger: Ledger, document: CertificateDocument, signer: Signer) -> Certificate | None:
    """The certificate that an earlier attempt of this task wrote: the same but for its times, and signed by the key."""
    try:
        found = decoded(ledger.read_bytes(keys.CERTIFICATE))
    except (NotFound, CertificateInvalid):
        return None
    known = found.document
    at_its_time = replace(document, run=replace(document.run, ended=known.run.ended), issued=known.issued)
    try:
        signature = base64.b64decode(found.signature, validate=True)
    except ValueError:
        return None
    return found if at_its_time == known and signer.is_signed(known.digest(), signature) else None


def _document(
    plan: Plan,
    asked: RawRequest,
    verified: Verified,
    totals: dict[str, Count],
    times: RunTimes,
    sums: TreeSums,
    signer: Signer,
) -> CertificateDocument:
    request, origin = plan.request, plan.origin
    return CertificateDocument(
        run=CertifiedRun(
            plan.run_id, origin.execution, origin.bucket, request.mode.value, __version__, utc(plan.began), times.ended
        ),
        request=json.dumps(without_secrets(asked.request), sort_keys=True, separators=(",", ":")),
        source=_tree(request.source, sums.source),
        destination=_tree(request.destination, sums.destination),
        totals=totals,
        verification=CertifiedVerification(
            verified.compared,
            request.verify is not Verify.CONTENT,
            [NotCertified(one.what, one.why, one.entries) for one in verified.not_compared],
        ),
        key=_key(signer.public_key()),
        issued=times.ended,
    )


def _key(key: PublicKey) -> SigningKey:
    return SigningKey(key.arn, key.spec, key.algorithm, key.pem)


def _tree(location: Location, digest: TreeDigest) -> CertifiedTree:
    place = str(location).encode("utf-8", "backslashreplace").decode()
    return CertifiedTree(place, digest.entries, digest.bytes, digest.hexdigest())


def _issued(certificate: Certificate, ledger: Ledger) -> CertificateIssued:
    document = certificate.document
    return CertificateIssued(
        key=f"{ledger.prefix}{keys.CERTIFICATE}",
        sha256=hashlib.sha256(certificate.encoded()).hexdigest(),
        signing_key=document.key.arn,
        source_tree_digest=document.source.tree_digest,
        destination_tree_digest=document.destination.tree_digest,
    )


def _signature(signer: Signer, document: CertificateDocument) -> str:
    try:
        return base64.b64encode(in_one_form(signer.sign(document.digest()))).decode("ascii")
    except ValueError as error:
        raise Transient(f"the answer to the request to sign is no signature: {error}") from error
