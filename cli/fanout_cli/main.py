"""The command ``fanout``. A command imports its modules when it runs (``commands.lazy_group``)."""

from __future__ import annotations

from typing import Annotated

import typer

from fanout import __version__
from fanout_cli.commands.lazy_group import LazyGroup

app = typer.Typer(
    cls=LazyGroup,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="The guide: docs/index.md. Most commands take --stack, --region and --profile, or --local.",
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"fanout {__version__}")
        raise typer.Exit


@app.callback()
def fanout(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version")
    ] = False,
) -> None:
    """Moves trees of files between Amazon S3 and Amazon EFS."""
