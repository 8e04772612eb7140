"""The signed document of a transfer, and the file that holds it with its signature.

The one form of a signature: ECDSA on P-256 as strict ASN.1 DER, with the smaller of the two numbers that fit as s.

Whoever has a signature (r, s) can write (r, n - s), which fits the same document. KMS gives either. A certificate holds
the one whose s is at most half of n, so that no byte of its file can be another one.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

from msgspec import MsgspecError, Struct, convert, to_builtins

from fanout.model.books import Count
from fanout.model.document import json_value

FORMAT = "fanout-certificate-1"
# docs.aws.amazon.com/kms/latest/developerguide/symm-asymm-choose-key-spec.html
KEY_SPEC = "ECC_NIST_P256"
ALGORITHM = "ECDSA_SHA_256"


class CertificateInvalid(ValueError):
    """A file is no certificate, or no longer the one that was written; the message says why."""


class SigningKey(Struct, frozen=True, forbid_unknown_fields=True):
    """The key that signed: its ARN in KMS, its kind, and its public half as PEM."""

    arn: str
    spec: str
    algorithm: str
    public_key: str


class CertifiedRun(Struct, frozen=True, forbid_unknown_fields=True):
    """The run: its id, its execution's ARN, which CloudTrail links to the caller, and what worked for how long."""

    id: str
    execution: str
    work_bucket: str
    mode: str
    version: str
    began: str
    ended: str


class CertifiedTree(Struct, frozen=True, forbid_unknown_fields=True):
    """A tree: its place, its files and symlinks, their bytes, and the digest of all of them."""

    location: str
    entries: int
    bytes: int
    tree_digest: str


class NotCertified(Struct, frozen=True, forbid_unknown_fields=True):
    """An omission of the verification, its reason, and the number of entries; ``None`` for the whole tree."""

    what: str
    why: str
    entries: int | None


class CertifiedVerification(Struct, frozen=True, forbid_unknown_fields=True):
    """How many entries were compared, whether attributes too, and what was left out."""

    compared: Count
    attributes: bool
    not_compared: list[NotCertified]


class CertificateDocument(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All that is signed. ``request`` is the request's JSON as text, ``totals`` the books by outcome."""

    format: str = FORMAT
    run: CertifiedRun
    request: str
    source: CertifiedTree
    destination: CertifiedTree
    totals: dict[str, Count]
    verification: CertifiedVerification
    key: SigningKey
    issued: str

    def signed_bytes(self) -> bytes:
        """The bytes that are signed. Raises ``ValueError`` for a value that has no canonical form."""
        return canonical(to_builtins(self))

    def digest(self) -> bytes:
        """The SHA-256 of these bytes, which KMS signs."""
        return hashlib.sha256(self.signed_bytes()).digest()


class Certificate(Struct, frozen=True, forbid_unknown_fields=True):
    """The file: the document, and its signature (ECDSA as ASN.1 DER, in base64)."""

    document: CertificateDocument
    signature: str

    def encoded(self) -> bytes:
        """The bytes of the file, which are in canonical form as a whole."""
        return canonical(to_builtins(self))


def decoded(data: bytes) -> Certificate:
    """The certificate of a file's bytes. Raises ``CertificateInvalid``; proves no signature."""
    try:
        value: Any = read_canonical(data)
    except ValueError as error:
        raise CertificateInvalid(str(error)) from error
    try:
        certificate = convert(value, Certificate)
    except MsgspecError as error:
        raise CertificateInvalid(f"it is no certificate ({error})") from error
    found = certificate.document.format
    if found != FORMAT:
        raise CertificateInvalid(f"its format is {found[:80]!r}; this version reads {FORMAT}")
    if certificate.encoded() != data:
        raise CertificateInvalid("it holds more than a certificate does")
    return certificate


def canonical(value: Any) -> bytes:
    """The one form of a document as bytes: JSON as RFC 8785 (JCS) writes it, of values for which that is plain.

    Values are objects with ASCII names, arrays, strings, whole numbers below 2**53, ``true``, ``false`` and ``null``.
    For these ``json.dumps`` with sorted names and without blanks writes the same bytes as RFC 8785. Raises
    ``ValueError`` for others, such as numbers with a fraction.
    """
    _check(value)
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()


def read_canonical(data: bytes) -> Any:
    """The value of bytes that are in this form. Raises ``ValueError`` that says what they are instead."""
    try:
        value = json_value(data)
    except ValueError as error:
        raise ValueError(f"it is not a JSON document ({error})") from error
    if canonical(value) != data:
        raise ValueError("it is not in canonical form, so it was changed after it was written")
    return value


def _check(value: Any) -> None:
    if isinstance(value, dict):
        for name, one in value.items():
            if not (isinstance(name, str) and name.isascii()):
                raise ValueError(f"the name {name!r} is not ASCII")
            _check(one)
    elif isinstance(value, list):
        for one in value:
            _check(one)
    elif isinstance(value, float) or (isinstance(value, int) and abs(value) >= 2**53):
        raise ValueError(f"the number {value!r} has no canonical form here")
    elif not isinstance(value, str | int | None):
        raise ValueError(f"{value!r} is no value of a certificate")


# The order n of the curve P-256: FIPS 186-5, SP 800-186, 3.2.1.3.
ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
_SEQUENCE, _INTEGER = 0x30, 0x02


def in_one_form(signature: bytes) -> bytes:
    """The signature with the smaller s. Raises ``ValueError`` for bytes that are no such signature."""
    r, left = _integer(_content(_SEQUENCE, signature, whole=True)[0])
    s, left = _integer(left)
    if left or not (0 < r < ORDER and 0 < s < ORDER):
        raise ValueError("two numbers of another curve, or more than two")
    numbers = _element(_INTEGER, _bytes_of(r)) + _element(_INTEGER, _bytes_of(min(s, ORDER - s)))
    return _element(_SEQUENCE, numbers)


def _content(tag: int, data: bytes, *, whole: bool = False) -> tuple[bytes, bytes]:
    """The content of an element, and what follows it; lengths under 128 have one byte."""
    end = 2 + data[1] if len(data) > 1 else 0
    if end < 3 or data[0] != tag or data[1] > 127 or end > len(data) or (whole and end != len(data)):
        raise ValueError("no strict DER")
    return data[2:end], data[end:]


def _integer(data: bytes) -> tuple[int, bytes]:
    content, left = _content(_INTEGER, data)
    number = int.from_bytes(content, "big", signed=True)
    if number < 0 or content != _bytes_of(number):
        raise ValueError("a negative number, or one with more bytes than it needs")
    return number, left


def _bytes_of(number: int) -> bytes:
    return number.to_bytes(number.bit_length() // 8 + 1, "big")


def _element(tag: int, content: bytes) -> bytes:
    return bytes([tag, len(content)]) + content
