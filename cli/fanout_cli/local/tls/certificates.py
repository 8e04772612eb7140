"""The certificate authorities that the local stack trusts: this checkout's own, and that of the data's S3 server."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from fanout.adapters.http.authorities import trusted_file
from fanout_cli.local.errors import LocalRunError


@dataclass(frozen=True)
class Certificates:
    """The certificates that the set-up made for the emulator."""

    authority: Path
    """The one certificate to trust, to reach the emulator."""
    certificate: Path
    key: Path


def write_trusted(file: Path, authority: Path, data_url: str = "") -> None:
    """Write the authorities that the functions trust; AWS_CA_BUNDLE names one file for all that they reach.

    For data on an S3 server of its own, reached over TLS, that file also holds what the caller trusts.
    Raises ``LocalRunError`` if the caller names a file that cannot be read.
    """
    trusted = [authority.read_bytes()]
    if data_url.startswith("https:") and (named := trusted_file()):
        try:
            trusted.append(Path(named).read_bytes())
        except OSError as error:
            raise LocalRunError(f"{named}: {error.strerror}; AWS_CA_BUNDLE or SSL_CERT_FILE names it") from error
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(b"\n".join(trusted))
