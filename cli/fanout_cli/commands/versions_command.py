"""The commands ``versions`` and ``rollback``: what was published to a tree, and publishing a version of it again."""

from __future__ import annotations

from typing import Annotated

import typer

from fanout_cli.commands.common_options import HERE, DetachOption, JsonOption, at_a_stack, command
from fanout_cli.stacks import Where

TreeArgument = Annotated[str, typer.Argument(metavar="DESTINATION", help="The published tree: efs://MOUNT/path")]
VersionArgument = Annotated[
    str | None, typer.Argument(metavar="[VERSION]", help="The version to publish again; default: the one before")
]


@at_a_stack
def versions(
    destination: TreeArgument,
    where: Where = HERE,
    json_output: JsonOption = False,
) -> None:
    """List the versions of a published tree, the newest first: when, how much, how much of its own, and from what.

    A star marks the version that the link names.
    """
    with command():
        from fanout.ledger.documents import document_row
        from fanout_cli.published import published_on, versions_lines
        from fanout_cli.runs.work_bucket import dump

        tree = published_on(where.find(), destination)
        if json_output:
            typer.echo(dump(document_row(tree)))
        for line in versions_lines(tree) if not json_output else []:
            typer.echo(line)


@at_a_stack
def rollback(
    destination: TreeArgument,
    version: VersionArgument = None,
    detach: DetachOption = False,
    where: Where = HERE,
    json_output: JsonOption = False,
) -> None:
    """Publish a version of a tree again: a run switches the link to it. Nothing is copied or removed."""
    with command() as console:
        from fanout_cli.published import published_on, request_to_go_back
        from fanout_cli.runs.following import begin
        from fanout_cli.runs.runs import start_run

        found = where.find()
        document = request_to_go_back(published_on(found, destination), version)
        begin(found, lambda: start_run(found, document, ""), not detach, json_output, console)


def register(app: typer.Typer) -> None:
    """Add the commands to the application."""
    app.command()(versions)
    app.command()(rollback)
