"""The commands `copy`, `sync`, `move`, `plan` and `verify`: a request as a command line, followed to its end."""

from __future__ import annotations

from collections.abc import Callable
from inspect import Parameter, Signature
from pathlib import Path
from typing import Annotated, Any

import typer

from fanout.request.course import Mode
from fanout_cli.arguments import check_request
from fanout_cli.commands.request_options import field_options, request_of
from fanout_cli.commands.run_commands import JsonOption, LocalOption, StackOption, StateOption, begin, command
from fanout_cli.runs.runs import start_run
from fanout_cli.stacks import find_stack
from fanout_cli.terminal import Terminal

_DOES = {
    Mode.COPY: "Copy what is new or changed, and delete nothing.",
    Mode.SYNC: "Copy what is new or changed, and delete what the source lacks, within a guard.",
    Mode.MOVE: "Copy, compare both ends, and delete at the source what is proven equal.",
    Mode.PLAN: "Say what a copy and a sync would do, and write nothing.",
    Mode.VERIFY: "Compare both trees, and write nothing.",
}
_END = "s3://bucket/prefix/ or efs://MOUNT/path"
_FIRST = {
    "source": Annotated[str, typer.Argument(metavar="SOURCE", help=f"The tree to read: {_END}")],
    "destination": Annotated[str, typer.Argument(metavar="DESTINATION", help=f"The tree to write: {_END}")],
}
_LAST: dict[str, tuple[Any, Any]] = {
    "detach": (Annotated[bool, typer.Option("--detach", help="Return at once; `fanout watch` follows the run")], False),
    "name": (Annotated[str, typer.Option(help="The run's id; default: the mode and the time")], ""),
    "stack": (StackOption, None),
    "local": (LocalOption, False),
    "json_output": (JsonOption, False),
    "state": (StateOption, None),
}


def _command_of(mode: Mode) -> Callable[..., None]:
    """The command of a mode; its parameters are made of the fields of a request."""

    def transfer(**given: Any) -> None:
        console = Terminal(stderr=True)
        with command(console):
            document = request_of(mode.value, given["source"], given["destination"], given)
            check_request(document)
            _run(document, console, **{name: given[name] for name in _LAST})

    first = [Parameter(name, Parameter.KEYWORD_ONLY, annotation=hint) for name, hint in _FIRST.items()]
    last = [Parameter(n, Parameter.KEYWORD_ONLY, default=d, annotation=hint) for n, (hint, d) in _LAST.items()]
    parameters = [*first, *(option.parameter for option in field_options()), *last]
    made: Any = transfer
    made.__signature__ = Signature(parameters)
    made.__annotations__ = {one.name: one.annotation for one in parameters}
    made.__name__, made.__doc__ = mode.value, f"{_DOES[mode]} Follows the run; Ctrl-C leaves it going."
    return transfer


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
    found = find_stack(stack, local, state)
    begin(found, lambda: start_run(found, document, name), not detach, json_output, console, bring=True)


def register(app: typer.Typer) -> None:
    """Add the commands to the application."""
    for mode in _DOES:
        app.command(name=mode.value)(_command_of(mode))
