"""The command that changes the rates of a running run."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from fanout_cli.commands.shared import HERE, JsonOption, RunArgument, at_a_stack, command
from fanout_cli.stacks import Where

BytesOption = Annotated[
    str | None,
    typer.Option(help='Bytes a second of all functions together, or "50 MiB"; none for no limit'),
]
FilesOption = Annotated[str | None, typer.Option(help="Entries a second of all functions together; none for no limit")]


@at_a_stack
def limit(
    run: RunArgument = None,
    bytes_per_second: BytesOption = None,
    files_per_second: FilesOption = None,
    where: Where = HERE,
    json_output: JsonOption = False,
) -> None:
    """Change the rates that all functions of a run keep to, while it goes on; without any, show them."""
    with command() as console:
        from fanout_cli.runs.progress import dump
        from fanout_cli.runs.rates import change_limits, describe
        from fanout_cli.runs.runs import newest_run

        found = where.find()
        run = run or newest_run(found)
        limits = change_limits(found, run, bytes_per_second, files_per_second)
        if json_output:
            shown = {"bytes_per_second": limits.bytes_per_second, "files_per_second": limits.files_per_second}
            sys.stdout.write(dump({"run_id": run, **shown}) + "\n")
        else:
            console.print(f"{run}: {describe(limits)}", markup=False, highlight=False, soft_wrap=True)


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command()(limit)
