"""``fanout local``: the modes of a run in this process, the runs of the ledger, and a request file."""

from __future__ import annotations

from typing import Any

import typer

from fanout_cli.commands.help import CommandApp, QuickGroup
from fanout_cli.commands.local.mode_commands import MODES, HereCommand, command_of
from fanout_cli.commands.local.request_file import RequestFile, local
from fanout_cli.commands.local.run_commands import entries, report, retry

# The command of a request file, whose name is not typed.
REQUEST = "request"


class LocalGroup(QuickGroup):
    """``fanout local``: a command follows, or the file of a request."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """See ``QuickGroup``; a first word that names no command is a request file."""
        if args and args[0] not in (*self.commands, "-h", "--help", "--help-all"):
            args = [REQUEST, *args]
        return super().parse_args(ctx, args)


def register(app: typer.Typer) -> None:
    """Add the group of commands to the application."""
    group = CommandApp(
        no_args_is_help=True,
        help="Run on this machine: a mode in this process, or REQUEST.json on the emulator.",
    )
    group.info.cls = LocalGroup
    for mode in MODES:
        group.command(name=mode.value, cls=HereCommand)(command_of(mode))
    group.command(cls=HereCommand)(retry)
    for function in (report, entries):
        group.command()(function)
    group.command(name=REQUEST, cls=RequestFile)(local)
    app.add_typer(group, name="local")
