"""Finds the file of trusted certificate authorities."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

# Where distributions keep the certificates of the authorities that they trust: Amazon Linux, Debian, Alpine, SUSE.
_CA_FILES = (
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/ssl/cert.pem",
    "/etc/ssl/ca-bundle.pem",
)
_CA_VARIABLES = ("AWS_CA_BUNDLE", "SSL_CERT_FILE")


def trusted_file() -> str:
    """The file of the certificates to trust: AWS_CA_BUNDLE, SSL_CERT_FILE, else the machine's; empty if unknown."""
    named = next((value for name in _CA_VARIABLES if (value := os.environ.get(name, ""))), "")
    return named or _machines_file()


@cache
def _machines_file() -> str:
    return next((path for path in _CA_FILES if Path(path).exists()), "")
