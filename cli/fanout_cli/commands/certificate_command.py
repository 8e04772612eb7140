"""The commands ``certificate get``, ``show``, ``check`` and ``key``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from msgspec import to_builtins

from fanout.certificate.document import Certificate, CertificateDocument, CertificateInvalid, decoded
from fanout.certificate.tree_digest import TreeDigest
from fanout.ledger.keys import CERTIFICATE
from fanout.ledger.ledger import Ledger
from fanout.model.errors import InvalidRequest, NotFound
from fanout.model.location import S3Location, parse_location
from fanout.report.text import count, size
from fanout_cli.command_error import CommandError
from fanout_cli.commands.run_commands import JsonOption, LocalOption, RunArgument, StackOption, StateOption, command
from fanout_cli.runs.progress import BucketStore, dump
from fanout_cli.runs.results import EXIT_FAILED
from fanout_cli.runs.runs import newest_run
from fanout_cli.stacks import aws_client_maker, find_stack
from fanout_cli.terminal import Terminal

FileArgument = Annotated[Path, typer.Argument(metavar="FILE", help="The file of a certificate")]
# The output of the stack that names its key.
KEY_OUTPUT = "CertificateKeyArn"
# Exit status of a check that found nothing wrong, and was not told whose signature it must be.
EXIT_NOT_PROVEN = 3


def get(
    run: RunArgument = None,
    output: Annotated[
        Path | None, typer.Option(help="The file to write; default: certificate-RUN.json", show_default=False)
    ] = None,
    stack: StackOption = None,
    local: LocalOption = False,
    state: StateOption = None,
) -> None:
    """Bring the certificate of a run from the work bucket, where it expires with the run's ledger."""
    console = Terminal(stderr=True)
    with command(console):
        found = find_stack(stack, local, state)
        run_id = run or newest_run(found)
        ledger = Ledger(BucketStore(found.client("s3"), found.work_bucket), run_id)
        try:
            data = ledger.read_bytes(CERTIFICATE)
        except NotFound as error:
            raise CommandError(
                f"{run_id} has no certificate: its request has no certificate: true, it did not prove both trees equal,"
                f" or its ledger has expired; what it said: {found.command('report', run_id)}"
            ) from error
        document = _decoded(data, f"the certificate of {run_id}").document
        _require_run(document, run_id)
        path = output or Path(f"certificate-{run_id}.json")
        path.write_bytes(data)
        console.print(f"{path}: signed with {document.key.arn}", soft_wrap=True)


def show(file: FileArgument, json_output: JsonOption = False) -> None:
    """Print what a certificate says. It checks no signature: see `fanout certificate check`."""
    console = Terminal(stderr=True)
    with command(console):
        document = _decoded(_read(file), str(file)).document
    if json_output:
        sys.stdout.write(dump(to_builtins(document)) + "\n")
        return
    for line in _lines(document):
        Terminal().print(line, soft_wrap=True)


def check(
    file: FileArgument,
    key: Annotated[
        Path | None, typer.Option(help="The public key that must have signed it, PEM or DER", show_default=False)
    ] = None,
    key_fingerprint: Annotated[
        str,
        typer.Option(
            "--fingerprint", metavar="SHA256", help="The same by the SHA-256 of the key's DER form, 64 hex digits"
        ),
    ] = "",
    run: Annotated[str, typer.Option(help="The run that it must be of")] = "",
    tree: Annotated[
        str, typer.Option(metavar="TREE", help="A directory or s3://bucket/prefix/ that must be the certified tree")
    ] = "",
    local: LocalOption = False,
    json_output: JsonOption = False,
    state: StateOption = None,
) -> None:
    """Check a certificate: its form, its signature and, with --tree, that a tree still is what it certifies.

    The signature is checked without a network. Exit status: 0 all is as certified, 1 something is not, 3 nothing is
    wrong, but neither --key nor --fingerprint says who must have signed.
    """
    from fanout_cli.certificates.signature import check_signature, wanted_fingerprint

    console = Terminal(stderr=True)
    with command(console):
        wanted = wanted_fingerprint(key, key_fingerprint)
        data = _read(file)
        try:
            certificate = decoded(data)
            fingerprint = check_signature(certificate, wanted)
            if run:
                _require_run(certificate.document, run)
        except (CertificateInvalid, CommandError) as error:
            _end(file, str(error), console, json_output)
        document = certificate.document
        try:
            found = _digest_of(tree, document, local, state) if tree else None
        except CertificateInvalid as error:
            _end(file, str(error), console, json_output)
    problem = "" if found is None else _difference(tree, found, document)
    if problem:
        _end(file, problem, console, json_output)
    if json_output:
        equals = [] if found is None else _equals(found, document)
        said = {"valid": True if wanted else None, "run": document.run.id, "key_fingerprint": fingerprint}
        sys.stdout.write(dump({**said, "key_given": bool(wanted), "tree_equals": equals}) + "\n")
        raise typer.Exit(0 if wanted else EXIT_NOT_PROVEN)
    console.print(f"{file} is the certificate of {document.run.id}, unchanged since it was signed", soft_wrap=True)
    if found is not None:
        ends = " and the ".join(_equals(found, document))
        console.print(f"{tree} is the certified {ends}: {_amount(found.entries, found.bytes)}", soft_wrap=True)
    if not wanted:
        console.print(
            f"Not checked: by whom. The certificate itself names the key {fingerprint}, and anybody can make one. Take"
            " the stack's public key from KMS, from the account that you trust: fanout certificate key --output key.pem"
            " --stack STACK; then give it as --key, or its fingerprint as --fingerprint",
            style="yellow",
            soft_wrap=True,
        )
        raise typer.Exit(EXIT_NOT_PROVEN)


def key(
    output: Annotated[Path | None, typer.Option(help="The file to write; default: standard output")] = None,
    stack: StackOption = None,
    local: LocalOption = False,
    state: StateOption = None,
) -> None:
    """Print the public key of a stack's certificates, asked of KMS."""
    from fanout.adapters.aws.signer import pem_of

    console = Terminal(stderr=True)
    with command(console):
        found = find_stack(stack, local, state)
        if KEY_OUTPUT not in found.outputs:
            raise CommandError(f"the stack {found.name!r} has no key; deploy it with Certificates=true")
        answer = found.client("kms").get_public_key(KeyId=found.outputs[KEY_OUTPUT])
        pem = pem_of(answer["PublicKey"])
        if output is None:
            typer.echo(pem, nl=False)
        else:
            output.write_text(pem, encoding="ascii")


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
    from fanout_cli.certificates.trees import certified_part, digest_of_directory, digest_of_prefix

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


def _lines(document: CertificateDocument) -> list[str]:
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


def register(app: typer.Typer) -> None:
    """Add the group of commands to the application."""
    group = typer.Typer(help="The signed certificates of runs.", no_args_is_help=True)
    for one in (get, show, check, key):
        group.command()(one)
    app.add_typer(group, name="certificate")
