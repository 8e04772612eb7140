"""A signer with a key of its own, in this process."""

from __future__ import annotations

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, utils

from fanout.certificate.document import ALGORITHM, KEY_SPEC
from fanout.ports.aws import PublicKey

KEY_ARN = "arn:aws:kms:us-east-1:123456789012:key/11111111-2222-3333-4444-555555555555"


class LocalSigner:
    """See ``ports.aws.Signer``. ``signed`` counts; errors of ``refusals`` are raised first, one a signature."""

    def __init__(self, refusals: list[Exception] | None = None) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._refusals = refusals or []
        self.signed = 0

    @property
    def pem(self) -> str:
        """The public key."""
        encoding, form = serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        return self._key.public_key().public_bytes(encoding, form).decode()

    def public_key(self) -> PublicKey:
        """See ``ports.aws.Signer``."""
        return PublicKey(KEY_ARN, KEY_SPEC, ALGORITHM, self.pem)

    def sign(self, digest: bytes) -> bytes:
        """See ``ports.aws.Signer``."""
        if self._refusals:
            raise self._refusals.pop(0)
        self.signed += 1
        return self._key.sign(digest, ec.ECDSA(utils.Prehashed(hashes.SHA256())))

    def is_signed(self, digest: bytes, signature: bytes) -> bool:
        """See ``ports.aws.Signer``."""
        try:
            self._key.public_key().verify(signature, digest, ec.ECDSA(utils.Prehashed(hashes.SHA256())))
        except InvalidSignature:
            return False
        return True
