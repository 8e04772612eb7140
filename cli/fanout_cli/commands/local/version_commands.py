"""``fanout local versions`` and ``rollback``: the versions of a tree that this machine published."""

from __future__ import annotations

from typing import Annotated

import typer

from fanout_cli.commands.common_options import JsonOption
from fanout_cli.commands.local.options import (
    NEWEST,
    MountHereOption,
    NameOption,
    WhereHere,
    at_a_ledger,
    here_command,
    options_of,
)
from fanout_cli.commands.versions_command import VersionArgument

TreeHereArgument = Annotated[
    str, typer.Argument(metavar="DESTINATION", help="The published tree: a directory, or efs://NAME/path with --mount")
]


@at_a_ledger
def versions(
    destination: TreeHereArgument,
    mount: MountHereOption = None,
    where: WhereHere = NEWEST,
    json_output: JsonOption = False,
) -> None:
    """List the versions of a published tree, the newest first; a star marks the version that the link names."""
    with here_command():
        from fanout.ledger.documents import document_row
        from fanout_cli.here.ends import in_paths
        from fanout_cli.here.versions import published_here
        from fanout_cli.published import versions_lines
        from fanout_cli.runs.work_bucket import dump

        tree = published_here(where.find(), destination, mount or ())
        if json_output:
            typer.echo(dump(document_row(tree)))
        for line in versions_lines(tree) if not json_output else []:
            typer.echo(in_paths(line))


@at_a_ledger
def rollback(
    destination: TreeHereArgument,
    version: VersionArgument = None,
    mount: MountHereOption = None,
    where: WhereHere = NEWEST,
    name: NameOption = "",
    json_output: JsonOption = False,
) -> None:
    """Publish a version of a tree again: a run switches the link to it. Nothing is copied or removed."""
    with here_command() as console:
        from fanout_cli.here.carry_out import carry_out
        from fanout_cli.here.versions import published_here
        from fanout_cli.published import request_to_go_back

        given = {"name": name, "json_output": json_output, "signing_key": ""}
        options = options_of({**where._asdict(), **given})
        document = request_to_go_back(published_here(options.ledger, destination, mount or ()), version)
        raise typer.Exit(carry_out(document, document, "rollback", options, console))
