"""The commands ``certificate get``, ``show``, ``check`` and ``key``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from fanout_cli.command_error import CommandError
from fanout_cli.commands.common_options import (
    HERE,
    JsonOption,
    LocalOption,
    RunArgument,
    StateOption,
    at_a_stack,
    command,
)
from fanout_cli.commands.help import CommandApp
from fanout_cli.stacks import Where

FileArgument = Annotated[Path, typer.Argument(metavar="FILE", help="The file of a certificate")]
# The output of the stack that names its key.
KEY_OUTPUT = "CertificateKeyArn"


@at_a_stack
def get(
    run: RunArgument = None,
    output: Annotated[
        Path | None, typer.Option(help="The file to write; default: certificate-RUN.json", show_default=False)
    ] = None,
    where: Where = HERE,
) -> None:
    """Bring the certificate of a run from the work bucket, where it expires with the run's ledger."""
    with command() as console:
        from fanout_cli.certificates.checking import bring

        path, document = bring(*where.find_run(run), output)
        console.print(f"{path}: signed with {document.key.arn}", soft_wrap=True)


def show(file: FileArgument, json_output: JsonOption = False) -> None:
    """Print what a certificate says. It checks no signature: see `fanout certificate check`."""
    with command():
        from msgspec import to_builtins

        from fanout_cli.certificates.checking import document_in, lines
        from fanout_cli.runs.work_bucket import dump
        from fanout_cli.terminal import Terminal

        document = document_in(file)
        if json_output:
            sys.stdout.write(dump(to_builtins(document)) + "\n")
            return
        for line in lines(document):
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
    with command() as console:
        from fanout_cli.certificates import checking

        asked = checking.Wanted(key, key_fingerprint, run, tree, local, state)
        checking.check(file, asked, console, json_output)


@at_a_stack
def key(
    output: Annotated[Path | None, typer.Option(help="The file to write; default: standard output")] = None,
    where: Where = HERE,
) -> None:
    """Print the public key of a stack's certificates, asked of KMS."""
    with command():
        from fanout.adapters.aws.signer import pem_of

        found = where.find()
        if KEY_OUTPUT not in found.outputs:
            raise CommandError(f"the stack {found.name!r} has no key; deploy it with Certificates=true")
        answer = found.client("kms").get_public_key(KeyId=found.outputs[KEY_OUTPUT])
        pem = pem_of(answer["PublicKey"])
        if output is None:
            typer.echo(pem, nl=False)
        else:
            output.write_text(pem, encoding="ascii")


def register(app: typer.Typer) -> None:
    """Add the group of commands to the application."""
    group = CommandApp(help="The signed certificates of runs.", no_args_is_help=True)
    for one in (get, show, check, key):
        group.command()(one)
    app.add_typer(group, name="certificate")
