"""Issues the certificate of a run that proved both trees equal."""

from __future__ import annotations

import base64
import hashlib
import json

from msgspec import Struct

from fanout import __version__
from fanout.books.summary_document import CertificateIssued, Status, Totals, Verified
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
)
from fanout.certificate.signature import in_one_form
from fanout.certificate.tree_digest import TreeDigest
from fanout.ledger import keys
from fanout.ledger.documents import Asked
from fanout.ledger.ledger import Ledger
from fanout.model.books import Count
from fanout.model.errors import AccessDenied, InvalidRequest, LedgerBroken, NotFound, RunError, Transient, Unreachable
from fanout.model.location import Location
from fanout.model.outcome import Result
from fanout.ports.aws import PublicKey, Signer
from fanout.request.options import Mode, Verify
from fanout.request.plan import Plan
from fanout.shards.partitioned import is_partitioned, links_of, shards_of
from fanout.summary.summary import Ending
from fanout.verifying.compared_big_files import compared_big_files
from fanout.work.context import Context

_NOT_EQUAL = "no certificate was issued: it says that both trees are equal, and this run did not prove that"
_NO_SIGNER = "the function has no key; deploy the stack with Certificates: true"


class Times(Struct, frozen=True):
    """When the run began, ended, and the certificate is issued: as the summary writes times."""

    began: str
    ended: str


class Issuing(Struct, frozen=True):
    """The result of a request for a certificate: the certificate, an error of the run, or a note."""

    issued: CertificateIssued | None = None
    error: RunError | None = None
    notes: tuple[str, ...] = ()


def issue_certificate(plan: Plan, ending: Ending, totals: Totals, times: Times, context: Context) -> Issuing:
    """Write certificate.json of a run that succeeded, or say why there is none; nothing without a request for it.

    An attempt that finds a certificate of the same trees keeps it: what was handed out stays the one. Where KMS
    refuses to sign, the run ends with that error. Raises ``Throttled`` and ``Transient``, which are tried again, and
    ``LedgerBroken``.
    """
    if not plan.request.certificate:
        return Issuing()
    if ending.status is not Status.SUCCEEDED or ending.verification is None:
        return Issuing(notes=(_NOT_EQUAL,))
    ledger = context.ledger.whole_run()
    sums = _sums(ledger if plan.request.mode is Mode.VERIFY else ledger.verification())
    known = _known(ledger, sums)
    try:
        if known is None:
            if context.signer is None:
                raise InvalidRequest("certificate", "the stack has no signing key", _NO_SIGNER)
            document = _document(plan, ending.verification, _by_name(totals), times, sums, context.signer, ledger)
            known = Certificate(document, _signature(context.signer, document))
            ledger.write_bytes(keys.CERTIFICATE, known.encoded())
    except (AccessDenied, InvalidRequest, NotFound, Unreachable) as error:
        way_on = "the trees were found equal; start a run of mode verify with certificate: true when it is mended"
        return Issuing(error=RunError(type(error).__name__, f"the certificate was not signed: {error}; {way_on}"))
    return Issuing(_issued(known, ledger))


def _sums(ledger: Ledger) -> TreeSums:
    """The digests of both trees. Raises ``LedgerBroken`` where an entry was compared without its digest."""
    found = shards_of(ledger) + [one.shard for one in links_of(ledger)] if is_partitioned(ledger) else []
    sums = sums_of_shards((shard for shard in found if shard.blocks is None), ledger)
    for verified in compared_big_files(ledger):
        if verified.proof is not None:
            verified.proof.add_to(sums)
        elif verified.outcome.result is Result.UNCHANGED:
            raise LedgerBroken(f"{verified.outcome.path} was compared without a digest of its content")
    return sums


def _known(ledger: Ledger, sums: TreeSums) -> Certificate | None:
    """The certificate that an earlier attempt of this task wrote, if it is of the same trees."""
    try:
        found = decoded(ledger.read_bytes(keys.CERTIFICATE))
    except (NotFound, CertificateInvalid):
        return None
    document = found.document
    digests = (document.source.tree_digest, document.destination.tree_digest)
    same = digests == (sums.source.hexdigest(), sums.destination.hexdigest())
    return found if same and document.run.id == ledger.run_id else None


def _document(
    plan: Plan,
    verified: Verified,
    totals: dict[str, Count],
    times: Times,
    sums: TreeSums,
    signer: Signer,
    ledger: Ledger,
) -> CertificateDocument:
    request, origin = plan.request, plan.origin
    return CertificateDocument(
        run=CertifiedRun(
            plan.run_id, origin.execution, origin.bucket, request.mode.value, __version__, times.began, times.ended
        ),
        request=json.dumps(ledger.read(keys.REQUEST, Asked).request, sort_keys=True, separators=(",", ":")),
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


def _by_name(totals: Totals) -> dict[str, Count]:
    """The books by the names of outcomes."""
    return {name: getattr(totals, name) for name in totals.__struct_fields__}
