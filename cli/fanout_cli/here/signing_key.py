"""The key on this machine that signs certificates: a file with a private key on the curve P-256, as PEM."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, utils

from fanout.adapters.aws.signer import pem_of
from fanout.certificate.document import ALGORITHM, KEY_SPEC
from fanout.ports.aws import PublicKey
from fanout_cli.certificates.signature import fingerprint
from fanout_cli.command_error import CommandError
from fanout_cli.here.ledger import state_place

_OWN = ".signing-key.pem"
_OF_SHA256 = ec.ECDSA(utils.Prehashed(hashes.SHA256()))
_MAKE = "openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out FILE"


class KeyFileSigner:
    """A ``ports.aws.Signer`` over a private key in a file; without a name the user's own, made at its first use.

    Raises ``CommandError`` for a file that holds no such key.
    """

    def __init__(self, file: str = "") -> None:
        self._key = _read(Path(file)) if file else _own()

    @property
    def name(self) -> str:
        """The name of the key in certificates: what a key of KMS has an ARN for."""
        return f"local:key:{fingerprint(self._key.public_key())}"

    def public_key(self) -> PublicKey:
        form = serialization.PublicFormat.SubjectPublicKeyInfo
        data = self._key.public_key().public_bytes(serialization.Encoding.DER, form)
        return PublicKey(self.name, KEY_SPEC, ALGORITHM, pem_of(data))

    def sign(self, digest: bytes) -> bytes:
        return self._key.sign(digest, _OF_SHA256)

    def is_signed(self, digest: bytes, signature: bytes) -> bool:
        try:
            self._key.public_key().verify(signature, digest, _OF_SHA256)
        except InvalidSignature:
            return False
        return True


def _own() -> ec.EllipticCurvePrivateKey:
    """The user's key. Of two processes that make it at once, one does, and both use that one."""
    place = state_place() / _OWN
    if not place.exists():
        made = ec.generate_private_key(ec.SECP256R1()).private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        _write_new(place, made)
    return _read(place)


def _write_new(place: Path, data: bytes) -> None:
    new = place.with_name(f"{_OWN}.{os.getpid()}")
    try:
        place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        file = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            os.write(file, data)
            os.fsync(file)
        finally:
            os.close(file)
        with suppress(FileExistsError):
            os.link(new, place)
        new.unlink()
    except OSError as error:
        raise CommandError(f"{place} cannot be written ({error.strerror}); give --signing-key FILE") from error


def _read(place: Path) -> ec.EllipticCurvePrivateKey:
    try:
        key = serialization.load_pem_private_key(place.read_bytes(), None)
    except OSError as error:
        raise CommandError(f"{place} cannot be read ({error.strerror}); make a key: {_MAKE}") from error
    except (ValueError, TypeError) as error:
        raise CommandError(f"{place} holds no private key as PEM without a password; make one: {_MAKE}") from error
    if not isinstance(key, ec.EllipticCurvePrivateKey) or not isinstance(key.curve, ec.SECP256R1):
        raise CommandError(f"{place} holds no key on the curve P-256; make one: {_MAKE}")
    return key
