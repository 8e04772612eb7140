"""Checks the signature of a certificate, without a network."""

from __future__ import annotations

import base64
import hashlib
import re
from pathlib import Path

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, utils

from fanout.certificate.document import ALGORITHM, Certificate, CertificateInvalid, in_one_form
from fanout.model.errors import InvalidRequest


def check_signature(certificate: Certificate, wanted: str) -> str:
    """The fingerprint of the key that signed: the SHA-256 of its DER form.

    The key of the fingerprint ``wanted`` must have signed. Where that is empty only the certificate itself says whose
    key it is. Raises ``CertificateInvalid``.
    """
    named = certificate.document.key
    if named.algorithm != ALGORITHM:
        raise CertificateInvalid(f"it names the algorithm {named.algorithm!r}; certificates are signed by {ALGORITHM}")
    try:
        own = load_key(named.public_key.encode())
    except ValueError as error:
        raise CertificateInvalid(f"its public key cannot be read ({error})") from error
    if wanted not in ("", fingerprint(own)):
        raise CertificateInvalid(
            f"it was signed with another key: it names {fingerprint(own)}, and the key given is {wanted}"
        )
    try:
        signature = base64.b64decode(certificate.signature, validate=True)
        if base64.b64encode(in_one_form(signature)).decode() != certificate.signature:
            raise ValueError("not the one form of its bytes")
        own.verify(signature, certificate.document.digest(), ec.ECDSA(utils.Prehashed(hashes.SHA256())))
    except (InvalidSignature, ValueError) as error:
        raise CertificateInvalid("its signature does not fit: the document or the signature was changed") from error
    return fingerprint(own)


def fingerprint(key: ec.EllipticCurvePublicKey) -> str:
    """The SHA-256 of a public key (SubjectPublicKeyInfo, DER), as ``openssl pkey -pubin -outform DER`` gives it."""
    form = serialization.PublicFormat.SubjectPublicKeyInfo
    return hashlib.sha256(key.public_bytes(serialization.Encoding.DER, form)).hexdigest()


def load_key(data: bytes) -> ec.EllipticCurvePublicKey:
    """A public key of PEM or DER. Raises ``ValueError`` for anything but a key on the curve P-256."""
    load = serialization.load_pem_public_key if b"-----BEGIN" in data else serialization.load_der_public_key
    try:
        key = load(data)
    except (ValueError, UnsupportedAlgorithm) as error:
        raise ValueError("it is no public key in PEM or DER") from error
    if not isinstance(key, ec.EllipticCurvePublicKey) or not isinstance(key.curve, ec.SECP256R1):
        raise ValueError("it is no key on the curve P-256")
    return key


def wanted_fingerprint(key: Path | None, text: str) -> str:
    """The fingerprint of the key that must have signed, from its file or as text; empty for neither.

    Raises ``InvalidRequest``.
    """
    given = text.replace(":", "").lower()
    if text and not re.fullmatch("[0-9a-f]{64}", given):
        raise InvalidRequest("--fingerprint", f"{text[:100]!r} is no SHA-256", "64 hex digits, colons between or not")
    if key is None:
        return given
    found = fingerprint(read_key(key))
    if given not in ("", found):
        raise InvalidRequest(
            "--fingerprint", f"{key} has another one, {found}", "give one of the two, or the right key"
        )
    return found


def read_key(path: Path) -> ec.EllipticCurvePublicKey:
    """The public key of a file. Raises ``InvalidRequest``."""
    try:
        return load_key(path.read_bytes())
    except (OSError, ValueError) as error:
        remedy = "a public key in PEM or DER, as `fanout certificate key` or `aws kms get-public-key` give it"
        raise InvalidRequest("--key", f"{path} cannot be read ({error})", remedy) from error
