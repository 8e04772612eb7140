"""``fanout local``: the modes of a run in this process, the runs of the ledger, and a request file."""

from __future__ import annotations

from typing import Any

import typer
from typer._click.exceptions import UsageError

from fanout_cli.commands.help import CommandApp, QuickGroup
from fanout_cli.commands.local.mode_commands import MODES, HereCommand, command_of
from fanout_cli.commands.local.request_file import RequestFile, local
from fanout_cli.commands.local.run_commands import certificate, entries, report, retry, stop, watch
from fanout_cli.commands.local.version_commands import rollback, versions
from fanout_cli.here.not_here import why_no_command

# The command of a request file, whose name is not typed.
REQUEST = "request"


class LocalGroup(QuickGroup):
    """``fanout local``: a command follows, or the file of a request."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """See ``QuickGroup``; a first word that names no command is a request file."""
        if args and args[0] not in (*self.commands, "-h", "--help", "--help-all"):
            if why := why_no_command(args[0]):
                raise UsageError(f"fanout local has no {args[0]}: {why}", ctx)
            args = [REQUEST, *args]
        return super().parse_args(ctx, args)


def register(app: typer.Typer) -> None:
    """Add the group of commands to the application."""
    group = CommandApp(
        no_args_is_help=True,
        help="Run on this machine, in this process: a mode, or the request of REQUEST.json.",
    )
    group.info.cls = LocalGroup
    for mode in MODES:
        group.command(name=mode.value, cls=HereCommand)(command_of(mode))
    for function in (retry, watch, stop, report, entries, certificate, versions, rollback):
        group.command(cls=HereCommand)(function)
    group.command(name=REQUEST, cls=RequestFile)(local)
    app.add_typer(group, name="local")
