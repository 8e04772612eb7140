"""The command ``fanout audit``: what a tree would meet in S3 Files, said before it is moved there."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from fanout_cli.command_error import EXIT_FAILED
from fanout_cli.commands.common_options import HERE, JsonOption, at_a_stack, command
from fanout_cli.places import complete_places, resolved
from fanout_cli.stacks import Where


@at_a_stack
def audit(
    tree: Annotated[
        str, typer.Argument(metavar="TREE", help="s3://bucket/prefix/, efs://MOUNT/path, or a directory here")
    ],
    destination: Annotated[
        str | None,
        typer.Argument(
            metavar="DESTINATION",
            help="Of a file system: where it is to go, s3://bucket/prefix/",
            autocompletion=complete_places,
        ),
    ] = None,
    to: Annotated[str, typer.Option(help="The same as DESTINATION")] = "",
    heads: Annotated[int, typer.Option(min=0, help="Objects, chosen by chance, that are asked for metadata")] = 100,
    examples: Annotated[int, typer.Option(min=0, max=1000, help="Paths shown of each finding")] = 5,
    where: Where = HERE,
    json_output: JsonOption = False,
) -> None:
    """Say what of a tree S3 Files would not show, refuse, change or make dearer. Writes nothing at either end.

    Exit status: 0 nothing found that is lost or changed, 1 something is.
    """
    with command() as console:
        from fanout_cli.audit.looks import look, show
        from fanout_cli.runs.work_bucket import dump
        from fanout_cli.terminal import Terminal

        if ":" in tree and not Path(tree).is_dir():
            tree = resolved(tree)
        to = resolved(destination) if destination else to
        looked = look(tree, to, heads, examples, where, console)
        document = {"tree": tree, **looked.document()}
        if json_output:
            sys.stdout.write(dump(document) + "\n")
        else:
            show(document, Terminal())
    raise typer.Exit(EXIT_FAILED if any(row["effect"] != "costlier" for row in document["findings"]) else 0)


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command()(audit)
