"""What the local stack speaks TLS with, and whom its functions trust."""

from __future__ import annotations

import http.client
import http.server
import ssl
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from fanout_cli.local.errors import LocalRunError
from fanout_cli.local.loopback import HOST, healthy
from fanout_cli.local.tls import make_certificates
from fanout_cli.local.tls.certificates import Certificates, write_trusted


@pytest.fixture
def made(tmp_path: Path) -> Certificates:
    """What the set-up makes, the way it does."""
    directory = tmp_path / "tls"
    subprocess.run([sys.executable, "-I", make_certificates.__file__, directory], check=True)
    return Certificates(*(directory / f"{name}.pem" for name in ("authority", "certificate", "key")))


class Health(http.server.BaseHTTPRequestHandler):
    """An emulator that is well."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()

    def log_message(self, format: str, *arguments: object) -> None:
        """Says nothing."""


@pytest.fixture
def endpoint(made: Certificates) -> Iterator[str]:
    """A server with the certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(made.certificate, made.key)
    with http.server.ThreadingHTTPServer((HOST, 0), Health) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, args=[0.01], daemon=True).start()
        yield f"https://{HOST}:{server.server_port}"
        server.shutdown()


def test_the_emulator_is_known_by_the_authority_of_the_set_up_alone(
    made: Certificates, endpoint: str, tmp_path: Path
) -> None:
    make_certificates.make(tmp_path / "another")
    assert healthy(endpoint, made.authority)
    assert not healthy(endpoint, tmp_path / "another" / "authority.pem")
    assert not healthy(endpoint, tmp_path / "gone.pem")


def test_an_authority_meets_the_strictest_checks(made: Certificates, endpoint: str) -> None:
    context = ssl.create_default_context(cafile=made.authority)
    context.verify_flags |= ssl.VERIFY_X509_STRICT  # the default from Python 3.13 on
    host, _, port = endpoint.removeprefix("https://").partition(":")
    connection = http.client.HTTPSConnection(host, int(port), context=context)
    connection.request("GET", "/")
    assert connection.getresponse().status == 200
    connection.close()


def test_nobody_else_may_read_the_key_and_the_authority_has_none(made: Certificates) -> None:
    assert made.key.stat().st_mode & 0o077 == 0
    assert sorted(file.name for file in made.key.parent.iterdir()) == ["authority.pem", "certificate.pem", "key.pem"]


def test_functions_trust_the_authority_and_for_data_elsewhere_what_the_caller_trusts(
    made: Certificates, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine, file, own = tmp_path / "mine.pem", tmp_path / "deep" / "trusted.pem", made.authority.read_bytes()
    mine.write_bytes(b"mine")
    monkeypatch.setenv("AWS_CA_BUNDLE", str(mine))
    for data_url, expected in (("", own), ("http://s3.test", own), ("https://s3.test", own + b"\nmine")):
        write_trusted(file, made.authority, data_url)
        assert file.read_bytes() == expected


def test_a_file_of_authorities_that_is_not_there_is_named(
    made: Certificates, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_CA_BUNDLE", str(tmp_path / "gone.pem"))
    with pytest.raises(LocalRunError, match=r"gone\.pem: No such file or directory; AWS_CA_BUNDLE"):
        write_trusted(tmp_path / "trusted.pem", made.authority, "https://s3.test")
