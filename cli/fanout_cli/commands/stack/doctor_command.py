"""The command ``doctor``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from fanout_cli.command_error import EXIT_FAILED
from fanout_cli.commands.common_options import HERE, JsonOption, at_a_stack, command
from fanout_cli.stacks import Where

if TYPE_CHECKING:
    from fanout.ports.finding import Finding


@at_a_stack
def doctor(
    where: Where = HERE,
    kms_key_id: Annotated[str, typer.Option(help="Try this KMS key from inside the network too")] = "",
    json_output: JsonOption = False,
) -> None:
    """Check a deployment from here and from inside its network. Status: 0, or 1 if a run would fail."""
    with command() as console:
        from msgspec import to_builtins

        from fanout.ports.finding import Severity
        from fanout_cli.doctor.checks import examine_stack, show, verdict
        from fanout_cli.runs.work_bucket import dump
        from fanout_cli.terminal import Terminal

        found: list[Finding] = []
        for finding in examine_stack(where.find(), kms_key_id):
            found.append(finding)
            if not json_output:
                show(Terminal(), finding)
        if json_output:
            sys.stdout.write(dump([to_builtins(finding) for finding in found]) + "\n")
        else:
            console.print(verdict(found), highlight=False)
        if any(finding.level is Severity.FAIL for finding in found):
            raise typer.Exit(EXIT_FAILED)


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command()(doctor)
