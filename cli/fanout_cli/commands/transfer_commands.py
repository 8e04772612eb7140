"""The commands `copy`, `sync`, `move`, `plan` and `verify`: a request as a command line, followed to its end."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from inspect import Parameter, Signature
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer._click.exceptions import UsageError

from fanout.request.course import Mode
from fanout.request.fields.traits import COMMON
from fanout_cli.command_error import CommandError
from fanout_cli.commands.common_options import (
    DetachOption,
    JsonOption,
    LocalOption,
    StackOption,
    StateOption,
    command,
    complete_runs,
    in_first_section,
)
from fanout_cli.commands.help import QuickCommand
from fanout_cli.commands.request_options import (
    field_options,
    in_words,
    options_meant,
    request_of,
    why_no_option,
)
from fanout_cli.places import complete_places, resolved
from fanout_cli.stacks import Where

if TYPE_CHECKING:
    from fanout_cli.terminal import Terminal

DOES = {
    Mode.COPY: "Copy what is new or changed, and delete nothing.",
    Mode.SYNC: "Copy what is new or changed, and delete what the source lacks, within a guard.",
    Mode.MOVE: "Copy, compare source and destination, and delete at the source what is proven equal.",
    Mode.PLAN: "Say what a copy and a sync would do, and write nothing.",
    Mode.VERIFY: "Compare both trees, and write nothing.",
}
_END = "s3://bucket/prefix/, efs://MOUNT/path, or NAME:path of a place in fanout.toml"
IN_PLACE = "--from-verify RUN is in place of SOURCE, DESTINATION and --manifest; give it without them"
_FIRST = {
    "source": Annotated[
        str,
        typer.Argument(metavar="SOURCE", help=f"The tree to read: {_END}", autocompletion=complete_places),
    ],
    "destination": Annotated[
        str,
        typer.Argument(
            metavar="DESTINATION", help="The tree to write, named the same way", autocompletion=complete_places
        ),
    ],
}
# A copy of what a verification found has the ends of that.
FromVerifyOption = Annotated[
    str,
    typer.Option(
        "--from-verify",
        metavar="RUN",
        help="Copy what that `fanout verify` found; without SOURCE and DESTINATION",
        rich_help_panel=COMMON,
        envvar="FANOUT_FROM_VERIFY",
        show_envvar=True,
        autocompletion=complete_runs,
    ),
]
DryRunOption = Annotated[
    bool,
    typer.Option(
        "--dry-run",
        help="Only say what would be done, as `fanout plan` does",
        rich_help_panel=COMMON,
        envvar="FANOUT_DRY_RUN",
        show_envvar=True,
    ),
]
# The command's own options: those of the first part of the help, and those of its last.
_COMMON: dict[str, tuple[Any, Any]] = {
    "dry_run": (DryRunOption, False),
    "detach": (in_first_section(DetachOption, "FANOUT_DETACH"), False),
    "stack": (in_first_section(StackOption), None),
    "local": (in_first_section(LocalOption), False),
}
_LAST: dict[str, tuple[Any, Any]] = {
    "name": (Annotated[str, typer.Option(help="The run's id; default: the mode and the time")], ""),
    "json_output": (JsonOption, False),
    "state": (StateOption, None),
}


def _command_of(mode: Mode) -> Callable[..., None]:
    """The command of a mode; its parameters are made of the fields of a request."""

    def transfer(**given: Any) -> None:
        with command() as console:
            from fanout.model.errors import InvalidRequest
            from fanout.request.mode_fields import with_mode
            from fanout_cli.arguments import check_request

            where = Where(*(given[name] for name in Where._fields))
            document = _request(mode, given, where)
            document = with_mode(document, Mode.PLAN) if given["dry_run"] else document
            try:
                check_request(document)
            except InvalidRequest as error:
                raise in_words(error, mode, given) from error
            _run(document, console, **{name: given[name] for name in ("detach", "name", "json_output")}, where=where)

    options = [(option.panel, option.parameter) for option in field_options(mode)]
    is_copy = mode is Mode.COPY
    parameters = [
        *(
            Parameter(name, Parameter.KEYWORD_ONLY, annotation=hint, default="" if is_copy else Parameter.empty)
            for name, hint in _FIRST.items()
        ),
        *(parameter for panel, parameter in options if panel == COMMON),
        *_own(_COMMON | ({"from_verify": (FromVerifyOption, "")} if is_copy else {})),
        *(parameter for panel, parameter in options if panel != COMMON),
        *_own(_LAST),
    ]
    made: Any = transfer
    made.__signature__ = Signature(parameters)
    made.__annotations__ = {one.name: one.annotation for one in parameters}
    made.__name__, made.__doc__ = mode.value, f"{DOES[mode]} Follows the run; Ctrl-C leaves it going."
    return transfer


def _request(mode: Mode, given: Mapping[str, Any], where: Where) -> dict[str, Any]:
    """The request of a command line. Raises ``InvalidRequest`` or ``CommandError``."""
    ends = [name for name in _FIRST if given[name]]
    if run := given.get("from_verify"):
        from fanout_cli.runs.from_verification import request_from, with_options

        if ends or given["manifest"]:
            raise CommandError(IN_PLACE)
        found = request_from(where.find(), run)
        typed = request_of(mode, found["source"], found["destination"], given)
        return with_options(found, typed)
    for name in _FIRST:
        if name not in ends:
            raise UsageError(f"Missing argument '{name.upper()}'.")
    return request_of(mode, resolved(given["source"]), resolved(given["destination"], writes=True), given)


def _own(options: Mapping[str, tuple[Any, Any]]) -> Iterator[Parameter]:
    for name, (hint, default) in options.items():
        yield Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=hint)


class TransferCommand(QuickCommand):
    """The command of a mode, which knows the options of the others."""

    def no_such_option(self, name: str, like: Sequence[str]) -> str:
        mode = Mode(str(self.name))
        if meant := options_meant(mode, name):
            return f"No such option: {name}; {meant}"
        return why_no_option(mode, name) or super().no_such_option(name, like)


def _run(
    document: dict[str, Any],
    console: Terminal,
    *,
    detach: bool,
    name: str,
    json_output: bool,
    where: Where,
) -> None:
    from fanout_cli.runs.following import begin
    from fanout_cli.runs.runs import start_run

    found = where.find()
    begin(found, lambda: start_run(found, document, name), not detach, json_output, console, bring=True)


def register(app: typer.Typer) -> None:
    """Add the commands to the application."""
    for mode in DOES:
        app.command(name=mode.value, cls=TransferCommand)(_command_of(mode))
