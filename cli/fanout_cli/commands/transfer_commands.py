"""The commands `copy`, `sync`, `move`, `plan` and `verify`: a request as a command line, followed to its end."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from inspect import Parameter, Signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fanout.request.command_line import COMMON
from fanout.request.course import Mode
from fanout_cli.commands.help import QuickCommand
from fanout_cli.commands.request_options import (
    field_options,
    in_words,
    options_meant,
    request_of,
    why_no_option,
)
from fanout_cli.commands.shared import (
    DetachOption,
    JsonOption,
    LocalOption,
    StackOption,
    StateOption,
    command,
    in_common,
)
from fanout_cli.places import complete_places, resolved
from fanout_cli.stacks import find_stack

if TYPE_CHECKING:
    from fanout_cli.terminal import Terminal

_DOES = {
    Mode.COPY: "Copy what is new or changed, and delete nothing.",
    Mode.SYNC: "Copy what is new or changed, and delete what the source lacks, within a guard.",
    Mode.MOVE: "Copy, compare both ends, and delete at the source what is proven equal.",
    Mode.PLAN: "Say what a copy and a sync would do, and write nothing.",
    Mode.VERIFY: "Compare both trees, and write nothing.",
}
_END = "s3://bucket/prefix/, efs://MOUNT/path, or NAME:path of a place in fanout.toml"
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
    "detach": (in_common(DetachOption, "FANOUT_DETACH"), False),
    "stack": (in_common(StackOption), None),
    "local": (in_common(LocalOption), False),
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
            from fanout_cli.arguments import check_request

            ends = resolved(given["source"]), resolved(given["destination"], writes=True)
            document = request_of(mode, *ends, given)
            document |= {"mode": Mode.PLAN.value} if given["dry_run"] else {}
            try:
                check_request(document)
            except InvalidRequest as error:
                raise in_words(error, mode, given) from error
            own = {name: given[name] for name in (*_COMMON, *_LAST) if name != "dry_run"}
            _run(document, console, **own)

    options = [(option.panel, option.parameter) for option in field_options(mode)]
    parameters = [
        *(Parameter(name, Parameter.KEYWORD_ONLY, annotation=hint) for name, hint in _FIRST.items()),
        *(parameter for panel, parameter in options if panel == COMMON),
        *_own(_COMMON),
        *(parameter for panel, parameter in options if panel != COMMON),
        *_own(_LAST),
    ]
    made: Any = transfer
    made.__signature__ = Signature(parameters)
    made.__annotations__ = {one.name: one.annotation for one in parameters}
    made.__name__, made.__doc__ = mode.value, f"{_DOES[mode]} Follows the run; Ctrl-C leaves it going."
    return transfer


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
    stack: str | None,
    local: bool,
    json_output: bool,
    state: Path | None,
) -> None:
    from fanout_cli.runs.following import begin
    from fanout_cli.runs.runs import start_run

    found = find_stack(stack, local, state)
    begin(found, lambda: start_run(found, document, name), not detach, json_output, console, bring=True)


def register(app: typer.Typer) -> None:
    """Add the commands to the application."""
    for mode in _DOES:
        app.command(name=mode.value, cls=TransferCommand)(_command_of(mode))
