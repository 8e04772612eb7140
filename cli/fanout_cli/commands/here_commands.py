"""``fanout local``: a run in this process by its mode, or a request file on the emulator; the runs of the ledger."""

from __future__ import annotations

import webbrowser
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from inspect import Parameter, Signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fanout.request.course import Mode
from fanout.request.fields.traits import COMMON
from fanout_cli.command_error import EXIT_FAILED, CommandError
from fanout_cli.commands.common_options import EXIT_COMMAND, JsonOption, in_first_section
from fanout_cli.commands.entries_command import EntriesJson, MostOption, OutcomeOption, PathOption
from fanout_cli.commands.help import CommandApp, QuickCommand, QuickGroup
from fanout_cli.commands.request_options import field_options, in_words, request_of, why_no_option
from fanout_cli.commands.transfer_commands import DryRunOption
from fanout_cli.here.not_here import instead_of

if TYPE_CHECKING:
    from fanout_cli.here.carry_out import HereOptions
    from fanout_cli.terminal import Terminal

_DOES = {
    Mode.COPY: "Copy what is new or changed, and delete nothing",
    Mode.SYNC: "Copy what is new or changed, and delete what the source lacks, within a guard",
    Mode.MOVE: "Copy, compare both ends, and delete at the source what is proven equal",
    Mode.PLAN: "Say what a copy and a sync would do, and write nothing at either end",
    Mode.VERIFY: "Compare both trees, and write nothing at either end",
}
# The command of a request file, which is not typed.
REQUEST = "request"
_END = "a directory, s3://bucket/prefix/, or NAME:path of a place in fanout.toml"
LedgerOption = Annotated[
    str, typer.Option(help="The directory of the ledger; default: fanout in XDG_STATE_HOME or ~/.local/state")
]
S3Option = Annotated[str, typer.Option(help="URL of an S3 server; default: AWS_ENDPOINT_URL_S3, or AWS's")]
NameOption = Annotated[str, typer.Option(help="The run's id; default: the mode and the time")]
RunOfLedger = Annotated[str | None, typer.Argument(metavar="RUN", show_default=False, help="Default: the newest run")]
_ENDS = {
    "source": Annotated[str, typer.Argument(metavar="SOURCE", help=f"The tree to read: {_END}")],
    "destination": Annotated[str, typer.Argument(metavar="DESTINATION", help="The tree to write, named the same way")],
}
_OWN: dict[str, tuple[Any, Any]] = {
    "dry_run": (DryRunOption, False),
    "s3_endpoint": (in_first_section(S3Option), ""),
    "state": (in_first_section(LedgerOption), ""),
}


class HereCommand(QuickCommand):
    """A command of this machine that asks AWS, and knows the options that a stack has and the engine here has not."""

    asks_aws = True

    def no_such_option(self, name: str, like: Any) -> str:
        mode = Mode(str(self.name)) if self.name in tuple(Mode) else Mode.COPY
        for option in field_options(mode):
            if f"--{option.name}" == name and (instead := instead_of(option.field.path, mode.value)):
                return f"{name} is not there yet in fanout local: {instead}"
        return why_no_option(mode, name) or super().no_such_option(name, like)


class RequestFile(QuickCommand):
    """The command of a request file; its options have the variables of ``fanout local``."""

    is_not_typed = True


class LocalGroup(QuickGroup):
    """``fanout local``: what follows is a command, or the file of a request."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """See ``QuickGroup``; what names no command is a request file with its options."""
        if args and args[0] not in (*self.commands, "-h", "--help", "--help-all"):
            args = [REQUEST, *args]
        return super().parse_args(ctx, args)


@contextmanager
def here_command() -> Iterator[Terminal]:
    """The terminal of a command, which ends with one sentence and exit status 2 where it cannot do its work."""
    from fanout.model.errors import FanoutError
    from fanout_cli.here.terminal import HereTerminal

    console = HereTerminal(stderr=True)
    try:
        yield console
    except (CommandError, FanoutError) as error:
        console.say_error(error)
        raise typer.Exit(EXIT_COMMAND) from error


def _command_of(mode: Mode) -> Callable[..., None]:
    """The command of a mode; its parameters are made of the fields of a request that the engine carries out."""

    def transfer(**given: Any) -> None:
        with here_command() as console:
            from fanout.model.errors import InvalidRequest
            from fanout.request.mode_fields import with_mode
            from fanout.request.parse import parse_request
            from fanout_cli.here.carry_out import carry_out
            from fanout_cli.here.ends import MOUNT, destination_of, source_of

            document = request_of(mode, source_of(given["source"]), destination_of(given["destination"]), given)
            if backup := document.get("backup_to"):
                document["backup_to"] = destination_of(backup)
            document = with_mode(document, Mode.PLAN) if given["dry_run"] else document
            try:
                parse_request(document, (MOUNT,), 1)
            except InvalidRequest as error:
                raise in_words(error, mode, given) from error
            ends = document["source"], document["destination"]
            raise typer.Exit(carry_out(document, ends, str(document["mode"]), _options(given), console))

    fields = [(one.panel, one.parameter) for one in field_options(mode) if not instead_of(one.field.path, mode.value)]
    own = [Parameter(name, Parameter.KEYWORD_ONLY, default=to, annotation=hint) for name, (hint, to) in _OWN.items()]
    parameters = [
        *(Parameter(name, Parameter.KEYWORD_ONLY, annotation=hint) for name, hint in _ENDS.items()),
        *(parameter for panel, parameter in fields if panel == COMMON),
        *own,
        *(parameter for panel, parameter in fields if panel != COMMON),
        Parameter("name", Parameter.KEYWORD_ONLY, default="", annotation=NameOption),
        Parameter("json_output", Parameter.KEYWORD_ONLY, default=False, annotation=JsonOption),
    ]
    made: Any = transfer
    made.__signature__ = Signature(parameters)
    made.__annotations__ = {one.name: one.annotation for one in parameters}
    made.__name__, made.__doc__ = mode.value, f"{_DOES[mode]}; in this process. Ctrl-C stops the run."
    return transfer


def _options(given: Mapping[str, Any]) -> HereOptions:
    from fanout_cli.here.carry_out import HereOptions
    from fanout_cli.here.ledger import HereLedger

    ledger = HereLedger(given["state"], given["s3_endpoint"])
    return HereOptions(ledger, given["s3_endpoint"], given["name"], given["json_output"])


def retry(
    run: RunOfLedger = None,
    again: Annotated[bool, typer.Option("--again", help="List again: start the stored request of a copy too")] = False,
    changes: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="FIELD=VALUE", help="Start the stored request with another value; repeatable"),
    ] = None,
    s3_endpoint: S3Option = "",
    state: LedgerOption = "",
    name: NameOption = "",
    json_output: JsonOption = False,
) -> None:
    """Go on with a run of this machine: a copy from what it had listed, any other from its stored request."""
    with here_command() as console:
        from fanout_cli.here.carry_out import carry_out
        from fanout_cli.here.retry import retried

        given = {"state": state, "s3_endpoint": s3_endpoint, "name": name, "json_output": json_output}
        options = _options(given)
        document, ends = retried(options.ledger, run, changes or (), again=again)
        raise typer.Exit(carry_out(document, ends, "retry", options, console))


def report(
    run: RunOfLedger = None,
    open_page: Annotated[bool, typer.Option("--open", help="Open the page in a browser")] = False,
    state: LedgerOption = "",
    json_output: JsonOption = False,
) -> None:
    """Print the verdict of a run of this machine, and where its report is."""
    with here_command() as console:
        from fanout_cli.here.ledger import HereLedger
        from fanout_cli.here.result import say_report

        result = say_report(HereLedger(state), run, json_output, console)
        if open_page and result.paths.get("report"):
            webbrowser.open(Path(str(result.paths["report"])).as_uri())
        raise typer.Exit(result.exit_status)


def entries(
    run: RunOfLedger = None,
    outcome: OutcomeOption = None,
    path: PathOption = None,
    limit: MostOption = None,
    state: LedgerOption = "",
    json_output: EntriesJson = False,
) -> None:
    """Print what became of each entry of a run of this machine, a line each with tabs."""
    with here_command() as console:
        from fanout_cli.commands.entries_command import print_entries
        from fanout_cli.here.ledger import HereLedger

        ledger = HereLedger(state)
        run_id = ledger.found(run)
        if ledger.mode(run_id) is None:
            console.print(f"{run_id} has no plan, so it has no entries", soft_wrap=True)
            raise typer.Exit(EXIT_FAILED)
        print_entries(ledger.of_run(run_id), (outcome, path, limit), json_output, console)


def register(app: typer.Typer) -> None:
    """Add the group of commands to the application."""
    from fanout_cli.commands.local_commands import local

    group = CommandApp(
        no_args_is_help=True,
        help="Run on this machine: by a mode in this process, or REQUEST.json on the emulator.",
    )
    group.info.cls = LocalGroup
    for mode in _DOES:
        group.command(name=mode.value, cls=HereCommand)(_command_of(mode))
    group.command(cls=HereCommand)(retry)
    for function in (report, entries):
        group.command()(function)
    group.command(name=REQUEST, cls=RequestFile)(local)
    app.add_typer(group, name="local")
