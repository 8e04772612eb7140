"""Certificates for servers on the loopback, from an authority of the test's own."""

from __future__ import annotations

import datetime
import ssl
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

_DAY = datetime.timedelta(days=1)


class Authority:
    """An authority; ``file`` holds its certificate."""

    def __init__(self, directory: Path, name: str = "authority") -> None:
        self._directory = directory
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        made = self._sign(self._name, self._key.public_key(), 1, x509.BasicConstraints(ca=True, path_length=0))
        self.file = directory / f"{name}.pem"
        self.file.write_bytes(made.public_bytes(serialization.Encoding.PEM))

    def context(self, host: str = "127.0.0.1", *, valid_days: int = 1) -> ssl.SSLContext:
        """What a server of this address or name speaks TLS with; its certificate ends after so many days."""
        key = ec.generate_private_key(ec.SECP256R1())
        known = x509.IPAddress(ip_address(host)) if host[0].isdigit() else x509.DNSName(host)
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, host)])
        names = x509.SubjectAlternativeName([known])
        made = self._sign(subject, key.public_key(), valid_days, names)
        encoded = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        file = self._directory / f"{host}-{valid_days}.pem"
        file.write_bytes(encoded + made.public_bytes(serialization.Encoding.PEM))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(file)
        return context

    def _sign(
        self, subject: x509.Name, key: ec.EllipticCurvePublicKey, valid_days: int, extension: x509.ExtensionType
    ) -> x509.Certificate:
        now = datetime.datetime.now(datetime.UTC)
        builder = x509.CertificateBuilder().subject_name(subject).issuer_name(self._name).public_key(key)
        builder = builder.serial_number(x509.random_serial_number())
        builder = builder.not_valid_before(now - 9 * _DAY).not_valid_after(now + valid_days * _DAY)
        return builder.add_extension(extension, critical=True).sign(self._key, hashes.SHA256())
