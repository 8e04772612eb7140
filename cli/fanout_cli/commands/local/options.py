"""Options that the commands of ``fanout local`` share, and their terminal."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from fanout_cli.command_error import CommandError
from fanout_cli.commands.common_options import EXIT_COMMAND

if TYPE_CHECKING:
    from fanout_cli.terminal import Terminal

LedgerOption = Annotated[
    str, typer.Option(help="The directory of the ledger; default: fanout in XDG_STATE_HOME or ~/.local/state")
]
S3Option = Annotated[str, typer.Option(help="URL of an S3 server; default: AWS_ENDPOINT_URL_S3, or AWS's")]
NameOption = Annotated[str, typer.Option(help="The run's id; default: the mode and the time")]
RunOfLedger = Annotated[str | None, typer.Argument(metavar="RUN", show_default=False, help="Default: the newest run")]


@contextmanager
def here_command() -> Iterator[Terminal]:
    """The terminal of a command. A command that cannot do its work ends with one sentence and exit status 2."""
    from fanout.model.errors import FanoutError
    from fanout_cli.here.terminal import HereTerminal

    console = HereTerminal(stderr=True)
    try:
        yield console
    except (CommandError, FanoutError) as error:
        console.say_error(error)
        raise typer.Exit(EXIT_COMMAND) from error
