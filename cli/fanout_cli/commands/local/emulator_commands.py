"""The commands of the emulator: ``demo`` for some runs, ``up`` and ``down`` for a stack."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from fanout_cli.command_error import EXIT_FAILED, EXIT_INTERRUPTED, CommandError
from fanout_cli.commands.common_options import JsonOption, StateOption, command
from fanout_cli.local.errors import LocalRunError

MountOption = Annotated[
    list[str] | None, typer.Option(help="NAME=DIRECTORY serves efs://NAME/; the first is efs:///; may be repeated")
]
EndpointOption = Annotated[str, typer.Option(help="URL of an S3 server that holds the trees; default: the emulator's")]
LoadOption = Annotated[
    list[str] | None, typer.Option(help="DIRECTORY=s3://bucket/prefix/ is uploaded first; may be repeated")
]
StateOfRun = Annotated[
    Path | None, typer.Option("--state", help="Where the local stack keeps its state; default: .fanout in the checkout")
]
ResultOption = Annotated[bool, typer.Option("--json", help="Print the result as one JSON document")]

INTERRUPTED = "interrupted: the local stack is ended, and copied files stay; the same command continues from there"


def up(
    mount: MountOption = None,
    s3_endpoint: EndpointOption = "",
    s3_load: LoadOption = None,
    json_output: JsonOption = False,
    state: StateOption = None,
) -> None:
    """Start the stack on this machine and keep it, for start, watch, list and the others with --local."""
    with command() as console:
        from fanout_cli.arguments import parse_load, parse_mounts
        from fanout_cli.local.access import Access
        from fanout_cli.local.clients import Clients
        from fanout_cli.local.keeper import bring_up
        from fanout_cli.local.paths import LocalPaths
        from fanout_cli.runs.local_run import data_endpoint, load_all
        from fanout_cli.runs.work_bucket import dump

        paths = LocalPaths.find(state=state)
        loads = [parse_load(text) for text in s3_load or []]
        mounts = parse_mounts(mount or [], paths.state / "mount")
        found = bring_up(paths, mounts, data_endpoint(s3_endpoint))
        if json_output:
            sys.stdout.write(dump(found) + "\n")
        for limit in found["unenforced"]:
            console.print(f"not limited as in Lambda: {limit}", style="yellow", markup=False, soft_wrap=True)
        said = f"up at {found['endpoint']}; `. {found['environment']}` lets aws reach it; `fanout down` ends it"
        console.print(said, markup=False, highlight=False, soft_wrap=True)
        clients = Clients(Access.read(paths.access))
        say = lambda text: console.print(text, markup=False, highlight=False, soft_wrap=True)  # noqa: E731
        load_all(clients, s3_endpoint, loads, say)


def down(json_output: JsonOption = False, state: StateOption = None) -> None:
    """End the stack that `fanout up` started, and its active runs; buckets and ledgers stay."""
    with command() as console:
        from fanout_cli.local.keeper import bring_down
        from fanout_cli.local.paths import LocalPaths
        from fanout_cli.runs.work_bucket import dump

        ended = bring_down(LocalPaths.find(state=state))
        if json_output:
            sys.stdout.write(dump({"ended": ended}) + "\n")
        console.print("down" if ended else "the local stack was not up", highlight=False)


def demo(json_output: ResultOption = False, state: StateOfRun = None) -> None:
    """Move a real tree from S3 to EFS and back, publish a second version of it, and roll back, on this machine.

    Every step is a run of the state machine. Exit status: 0 if all files are equal.
    """
    from fanout.model.errors import FanoutError
    from fanout_cli.demo import run_demo
    from fanout_cli.runs.work_bucket import dump
    from fanout_cli.terminal import Terminal

    try:
        shown = run_demo(Terminal(stderr=json_output), state)
        status = shown.exit_status
        if json_output:
            sys.stdout.write(dump(shown.document()) + "\n")
    except (LocalRunError, FanoutError, CommandError) as error:
        Terminal(stderr=True).say_error(error)
        status = EXIT_FAILED
    except KeyboardInterrupt:
        Terminal(stderr=True).print(INTERRUPTED, soft_wrap=True)
        raise typer.Exit(EXIT_INTERRUPTED) from None
    raise typer.Exit(status)


def register(app: typer.Typer) -> None:
    """Add the commands to the application."""
    for function in (demo, up, down):
        app.command()(function)
