"""Options that commands share, and the end of a command that cannot do its work.

A command's module holds its options and its few words of help. It imports what does the work inside of the command,
so that ``--help`` and a TAB need none of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import copy
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fanout_cli.command_error import CommandError, human_errors
from fanout_cli.commands.help import COMMON
from fanout_cli.local.errors import LocalRunError
from fanout_cli.stacks import Where

if TYPE_CHECKING:
    from fanout_cli.terminal import Terminal

# Chosen: as many as a person looks through.
MOST = 20


def complete_runs(ctx: typer.Context, incomplete: str) -> list[tuple[str, str]]:
    """The newest runs of the stack that the words so far name, each with how it ended."""
    from fanout_cli.command_error import CommandError, human_errors
    from fanout_cli.local.errors import LocalRunError
    from fanout_cli.runs.listed import newest_executions
    from fanout_cli.stacks import find_stack

    given: dict[str, Any] = ctx.params
    try:
        with human_errors():
            stack = find_stack(given.get("stack"), bool(given.get("local")), given.get("state"))
            found = newest_executions(stack, MOST)
    except (CommandError, LocalRunError):
        return []  # a shell shows no error; the command itself will
    return [(one["name"], one["status"]) for one in found if one["name"].startswith(incomplete)]


EXIT_COMMAND = 2

RunArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="RUN", show_default=False, help="The run's id; default: the newest run", autocompletion=complete_runs
    ),
]
RequestArgument = Annotated[
    Path, typer.Argument(metavar="REQUEST.json", help="A file that holds the request, or - for standard input")
]
StackOption = Annotated[
    str | None, typer.Option(help="Name of the CloudFormation stack; default: FANOUT_STACK, or fanout")
]
LocalOption = Annotated[bool, typer.Option("--local", help="The stack that `fanout up` started; or FANOUT_LOCAL=1")]
StateOption = Annotated[Path | None, typer.Option(help="Where the local stack keeps its state")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON document")]
# What a command does anyway; scripts may still say it.
WatchOption = Annotated[bool, typer.Option("--watch", hidden=True, help="Follow the run until it ends")]
DetachOption = Annotated[bool, typer.Option("--detach", help="Return at once; `fanout watch` follows the run")]


# The stack that is meant without an option.
HERE = Where()


def at_a_stack(function: Callable[..., None]) -> Callable[..., None]:
    """A command whose ``where`` is given as --stack and --local at its place, and as --state after all others."""

    @wraps(function)
    def run(stack: str | None = None, local: bool = False, state: Path | None = None, **given: Any) -> None:
        function(**given, where=Where(stack, local, state))

    options = {"stack": (StackOption, None), "local": (LocalOption, False), "state": (StateOption, None)}
    stack, local, state = (
        Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=hint)
        for name, (hint, default) in options.items()
    )
    parameters: list[Parameter] = []
    for one in signature(function, eval_str=True).parameters.values():
        parameters += [stack, local] if one.name == "where" else [one.replace(kind=Parameter.KEYWORD_ONLY)]
    made: Any = run
    made.__signature__ = Signature([*parameters, state])
    made.__annotations__ = {one.name: one.annotation for one in (*parameters, state)}
    return run


def in_first_section(option: Any, variable: str = "") -> Any:
    """An option in the first part of a help, with a variable of the environment that sets it."""
    kind, info = option.__origin__, copy(option.__metadata__[0])
    info.rich_help_panel, info.envvar, info.show_envvar = COMMON, variable or None, True
    return Annotated[kind, info]


@contextmanager
def command() -> Iterator[Terminal]:
    """The terminal of a command, which ends with one sentence and exit status 2 where it cannot do its work."""
    from fanout.model.errors import FanoutError
    from fanout_cli.terminal import Terminal

    console = Terminal(stderr=True)
    try:
        with human_errors():
            yield console
    except (CommandError, LocalRunError, FanoutError) as error:
        console.say_error(error)
        raise typer.Exit(EXIT_COMMAND) from error
