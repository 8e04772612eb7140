"""Certificates on the command line: read, held against a run or a tree, and put into lines."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

from fanout.certificate.document import Certificate, CertificateDocument, CertificateInvalid, decoded
from fanout.certificate.tree_digest import TreeDigest
from fanout.ledger.keys import CERTIFICATE
from fanout.ledger.ledger import Ledger
from fanout.model.errors import InvalidRequest, NotFound
from fanout.model.location import S3Location, parse_location
from fanout.report.text import count, size
from fanout_cli.certificates.signature import check_signature, wanted_fingerprint
from fanout_cli.certificates.trees import certified_part, digest_of_directory, digest_of_prefix
from fanout_cli.command_error import EXIT_FAILED, CommandError
from fanout_cli.runs.work_bucket import BucketStore, dump
from fanout_cli.stacks import Stack, aws_client_maker, find_stack
from fanout_cli.terminal import Terminal

# Exit status of a check that found nothing wrong, and was given no name for the signature.
EXIT_NOT_PROVEN = 3


def bring(stack: Stack, run_id: str, output: Path | None) -> tuple[Path, CertificateDocument]:
    """Bring the certificate of a run here. Raises ``CommandError`` where it has none, or it is not its own."""
    ledger = Ledger(BucketStore(stack.client("s3"), stack.work_bucket), run_id)
    data, document = certificate_of(ledger, stack.command("report", run_id))
    path = output or Path(f"certificate-{run_id}.json")
    path.write_bytes(data)
    return path, document


def certificate_of(ledger: Ledger, report: str) -> tuple[bytes, CertificateDocument]:
    """The certificate of a run, as its file and its content. ``report`` is the command that prints the run's verdict.

    Raises ``CommandError`` where it has none, or it is not its own.
    """
    run_id = ledger.run_id
    try:
        data = ledger.read_bytes(CERTIFICATE)
    except NotFound as error:
        raise CommandError(
            f"{run_id} has no certificate: its request has no certificate: true, it did not prove both trees equal,"
            f" or its ledger has expired; what it said: {report}"
        ) from error
    document = _decoded(data, f"the certificate of {run_id}").document
    _require_run(document, run_id)
    return data, document


def document_in(file: Path) -> CertificateDocument:
    """The content of a certificate file. Raises ``CommandError``."""
    return _decoded(_read(file), str(file)).document


@dataclass(frozen=True, slots=True)
class Wanted:
    """The expectations of a certificate: whose key, which run, which tree; each may be left out."""

    key: Path | None
    fingerprint: str
    run: str
    tree: str
    local: bool
    state: Path | None


def check(file: Path, asked: Wanted, console: Terminal, json_output: bool) -> None:
    """Print whether a certificate is as ``asked``; ends with the status of what was found."""
    wanted = wanted_fingerprint(asked.key, asked.fingerprint)
    data = _read(file)
    try:
        certificate = decoded(data)
        fingerprint = check_signature(certificate, wanted)
        if asked.run:
            _require_run(certificate.document, asked.run)
    except (CertificateInvalid, CommandError) as error:
        _end(file, str(error), console, json_output)
    document = certificate.document
    try:
        found = _digest_of(asked.tree, document, asked.local, asked.state) if asked.tree else None
    except CertificateInvalid as error:
        _end(file, str(error), console, json_output)
    problem = "" if found is None else _difference(asked.tree, found, document)
    if problem:
        _end(file, problem, console, json_output)
    if json_output:
        equals = [] if found is None else _equals(found, document)
        said = {"valid": True if wanted else None, "run": document.run.id, "key_fingerprint": fingerprint}
        sys.stdout.write(dump({**said, "key_given": bool(wanted), "tree_equals": equals}) + "\n")
    else:
        _say_checked(file, asked.tree, document, found, console)
        if not wanted:
            _say_unproven(fingerprint, console)
    raise typer.Exit(0 if wanted else EXIT_NOT_PROVEN)


def _say_checked(
    file: Path, tree: str, document: CertificateDocument, found: TreeDigest | None, console: Terminal
) -> None:
    console.print(f"{file} is the certificate of {document.run.id}, unchanged since it was signed", soft_wrap=True)
    if found is not None:
        ends = " and the ".join(_equals(found, document))
        console.print(f"{tree} is the certified {ends}: {_amount(found.entries, found.bytes)}", soft_wrap=True)


def _say_unproven(fingerprint: str, console: Terminal) -> None:
    console.print(
        f"Not checked: by whom. The certificate itself names the key {fingerprint}, and anybody can make one. Take"
        " the stack's public key from KMS, from the account that you trust: fanout certificate key --output key.pem"
        " --stack STACK; then give it as --key, or its fingerprint as --fingerprint",
        style="yellow",
        soft_wrap=True,
    )


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise CommandError(f"{file} cannot be read ({error.strerror}); name the file of a certificate") from error


def _decoded(data: bytes, name: str) -> Certificate:
    try:
        return decoded(data)
    except CertificateInvalid as error:
        raise CommandError(f"{name} is not as it was written: {error}") from error


def _require_run(document: CertificateDocument, run_id: str) -> None:
    if document.run.id != run_id:
        raise CommandError(f"it is the certificate of the run {document.run.id[:80]}, not of {run_id[:80]}")


def _end(file: Path, problem: str, console: Terminal, json_output: bool) -> Any:
    if json_output:
        sys.stdout.write(dump({"valid": False, "problem": problem}) + "\n")
    else:
        console.print(f"{file} is refused: {problem}", style="red", soft_wrap=True)
    raise typer.Exit(EXIT_FAILED)


def _digest_of(tree: str, document: CertificateDocument, local: bool, state: Path | None) -> TreeDigest:
    part = certified_part(document)
    if tree.startswith("s3://"):
        location = parse_location("--tree", tree, ())
        assert isinstance(location, S3Location)
        s3 = find_stack(None, local, state).client("s3") if local else aws_client_maker()("s3")
        return digest_of_prefix(s3, location, part)
    if Path(tree).is_dir():
        return digest_of_directory(Path(tree), part)
    remedy = "a directory of this machine, such as a mounted file system, or s3://bucket/prefix/"
    if tree.startswith("efs://"):
        remedy += "; only the stack sees this one: start a run of mode verify with certificate: true"
    raise InvalidRequest("--tree", f"{tree!r} is none of the trees that can be read here", remedy)


def _equals(found: TreeDigest, document: CertificateDocument) -> list[str]:
    """The ends whose tree this is."""
    ends = {"source": document.source, "destination": document.destination}
    return [name for name, end in ends.items() if end.tree_digest == found.hexdigest()]


def _difference(tree: str, found: TreeDigest, document: CertificateDocument) -> str:
    if _equals(found, document):
        return ""
    end = document.destination
    here, there = _amount(found.entries, found.bytes), _amount(end.entries, end.bytes)
    what = "a name, a kind or bytes differ" if here == there else f"it holds {here}, certified are {there}"
    return (
        f"{tree} is not the certified tree: {what}; its digest is {found.hexdigest()}, certified are"
        f" {document.source.tree_digest} (source) and {end.tree_digest} (destination)"
    )


def _amount(entries: int, bytes_: int) -> str:
    return f"{count(entries)} files and symlinks with {count(bytes_)} bytes"


def lines(document: CertificateDocument) -> list[str]:
    """A certificate for people."""
    run, verification = document.run, document.verification
    compared = "names, kinds, sizes and bytes" + (", and attributes" if verification.attributes else "")
    found = [
        f"run          {run.id} ({run.mode}), version {run.version}",
        f"execution    {run.execution}",
        f"from, to     {run.began}, {run.ended}",
    ]
    for name, end in (("source", document.source), ("destination", document.destination)):
        found += [
            f"{name:<12} {end.location}",
            f"             {count(end.entries)} files and symlinks, {size(end.bytes)}, tree digest {end.tree_digest}",
        ]
    found.append(f"compared     {count(verification.compared.entries)} entries by {compared}")
    found += [f"not compared {one.what}: {one.why}" for one in verification.not_compared]
    found += [f"request      {document.request}", f"signed with  {document.key.arn}, {document.issued}"]
    return found
