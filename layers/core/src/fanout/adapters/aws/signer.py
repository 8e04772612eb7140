"""Signs digests with an asymmetric key of KMS."""

from __future__ import annotations

import base64
import textwrap

from fanout.adapters.aws.control_plane import client, our_errors
from fanout.certificate.document import ALGORITHM, KEY_SPEC
from fanout.model.errors import InvalidRequest, Transient
from fanout.ports.aws import PublicKey


class KmsSigner:
    """A ``ports.aws.Signer`` over a key in KMS; needs kms:Sign, kms:Verify and kms:GetPublicKey on the key."""

    def __init__(self, region: str, key_arn: str, url: str = "", attempts: int = 4) -> None:
        self._kms = client("kms", region, url, attempts)
        self._arn = key_arn

    def public_key(self) -> PublicKey:
        with our_errors("kms:GetPublicKey", self._arn):
            found = self._kms.get_public_key(KeyId=self._arn)
            arn, usage, public = (found[name] for name in ("KeyId", "KeyUsage", "PublicKey"))
            spec = found.get("KeySpec") or found["CustomerMasterKeySpec"]  # its older name
        self._require("kms:GetPublicKey", arn)
        if (spec, usage) != (KEY_SPEC, "SIGN_VERIFY"):
            raise InvalidRequest(self._arn, f"the key is {spec} for {usage}", f"a certificate needs {KEY_SPEC}")
        return PublicKey(self._arn, spec, ALGORITHM, pem_of(public))

    def sign(self, digest: bytes) -> bytes:
        with our_errors("kms:Sign", self._arn):
            found = self._kms.sign(KeyId=self._arn, Message=digest, MessageType="DIGEST", SigningAlgorithm=ALGORITHM)
            arn, algorithm, signature = (found[name] for name in ("KeyId", "SigningAlgorithm", "Signature"))
        self._require("kms:Sign", arn)
        if algorithm != ALGORITHM or not signature:
            raise Transient(f"kms:Sign on {self._arn}: the answer is {len(signature)} bytes of {algorithm}")
        return bytes(signature)

    def is_signed(self, digest: bytes, signature: bytes) -> bool:
        asked = {"Message": digest, "MessageType": "DIGEST", "Signature": signature, "SigningAlgorithm": ALGORITHM}
        try:
            with our_errors("kms:Verify", self._arn):
                found = self._kms.verify(KeyId=self._arn, **asked)
        except InvalidRequest:  # KMSInvalidSignatureException
            return False
        self._require("kms:Verify", found["KeyId"])
        return found["SignatureValid"] is True

    def _require(self, action: str, arn: str) -> None:
        """Raise ``Transient`` for an answer about another key; AWS names it by its ARN, others by its id."""
        if arn not in (self._arn, self._arn.rpartition("/")[2]):
            raise Transient(f"{action} on {self._arn}: the answer is about {arn}")


def pem_of(public_key: bytes) -> str:
    """A public key (SubjectPublicKeyInfo, DER) as PEM (RFC 7468)."""
    lines = textwrap.wrap(base64.b64encode(public_key).decode("ascii"), 64)
    return "\n".join(("-----BEGIN PUBLIC KEY-----", *lines, "-----END PUBLIC KEY-----", ""))
