"""The commands ``up`` and ``down``: the local stack between commands."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from fanout_cli.commands.shared import JsonOption, StateOption, command


def up(
    mount: Annotated[
        list[str] | None, typer.Option(help="NAME=DIRECTORY serves efs://NAME/; the first is efs:///; may be repeated")
    ] = None,
    s3_endpoint: Annotated[
        str, typer.Option(help="URL of an S3 server that holds the trees; default: the emulator's")
    ] = "",
    s3_load: Annotated[
        list[str] | None, typer.Option(help="DIRECTORY=s3://bucket/prefix/ is uploaded first; may be repeated")
    ] = None,
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
        from fanout_cli.runs.progress import dump

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
    """End the stack that `fanout up` started; runs that go on end with it, buckets and ledgers stay."""
    with command() as console:
        from fanout_cli.local.keeper import bring_down
        from fanout_cli.local.paths import LocalPaths
        from fanout_cli.runs.progress import dump

        ended = bring_down(LocalPaths.find(state=state))
        if json_output:
            sys.stdout.write(dump({"ended": ended}) + "\n")
        console.print("down" if ended else "the local stack was not up", highlight=False)


def register(app: typer.Typer) -> None:
    """Add the commands to the application."""
    app.command()(up)
    app.command()(down)
