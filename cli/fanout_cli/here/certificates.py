"""The certificate of a run of this machine, and the public key that signed it."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path

from fanout_cli.certificates.checking import certificate_of
from fanout_cli.command_error import CommandError
from fanout_cli.here.ledger import HereLedger


def write_certificate(ledger: HereLedger, run_id: str, output: Path | None, key_output: Path | None) -> Iterator[str]:
    """Write both files, and say how to check the certificate. Raises ``CommandError`` for a run without one."""
    data, document = certificate_of(ledger.of_run(run_id), f"fanout local report {run_id}{ledger.words}")
    path = output or Path(f"certificate-{run_id}.json")
    _write(path, data)
    yield f"{path}: signed with {document.key.arn}"
    if key_output is not None:
        _write(key_output, document.key.public_key.encode())
        words = f"{shlex.quote(str(path))} --key {shlex.quote(str(key_output))}"
        yield f"check it: fanout certificate check {words}"
    else:
        yield "for who checks it: give --key-output key.pem, and hand that file over by a way that both trust"


def _write(path: Path, data: bytes) -> None:
    try:
        path.write_bytes(data)
    except OSError as error:
        raise CommandError(f"{path} cannot be written ({error.strerror}); name another file") from error
