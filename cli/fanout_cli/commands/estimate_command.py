"""The command ``fanout estimate``: a run on paper, without an account and before anything is listed."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from fanout.model.file_system import ThroughputMode
from fanout.request.course import Mode
from fanout_cli.commands.common_options import (
    JsonOption,
    LocalOption,
    StackOption,
    StateOption,
    command,
    in_first_section,
)
from fanout_cli.commands.help import COMMON
from fanout_cli.places import complete_places

_common = partial(typer.Option, rich_help_panel=COMMON)
_of_trees = partial(typer.Option, rich_help_panel="Trees")
_of_systems = partial(typer.Option, rich_help_panel="File systems")
_of_runs = partial(typer.Option, rich_help_panel="A run, replayed")


def estimate_(
    source: Annotated[
        str,
        typer.Argument(
            metavar="SOURCE",
            help="The tree to read; or REQUEST.json alone, or -; or a RUN that has ended, or its directory, to replay",
            autocompletion=complete_places,
        ),
    ],
    destination: Annotated[
        str | None, typer.Argument(metavar="DESTINATION", help="The tree to write", autocompletion=complete_places)
    ] = None,
    mode: Annotated[Mode, _common(help="Of two trees: what would be done")] = Mode.COPY,
    entries: Annotated[str, _common(help="Entries that are to be copied, as a number or as 10M")] = "0",
    size: Annotated[str, _common("--bytes", help='Their bytes, as a number or as "3 TiB"')] = "0",
    unchanged: Annotated[
        str, _common(help="Entries that are listed and found unchanged; alone, a run that finds nothing to do")
    ] = "0",
    stack: in_first_section(StackOption) = None,  # type: ignore[valid-type]
    local: in_first_section(LocalOption) = False,  # type: ignore[valid-type]
    unchanged_size: Annotated[
        str,
        _of_trees(
            "--unchanged-bytes", help="Bytes of --unchanged, which compare: checksum and a verification of all read"
        ),
    ] = "0",
    small: Annotated[
        str,
        _of_trees(help="Files below 32 KiB among --entries, each billed as that much; default: all alike"),
    ] = "0",
    small_size: Annotated[str, _of_trees("--small-bytes", help="Bytes of --small")] = "0",
    has_no_index: Annotated[
        bool, _of_trees("--no-index", help="No earlier run of it left an index: S3 is asked about what is unchanged")
    ] = False,
    largest_directory: Annotated[
        int, _of_trees(min=0, help="Files of the directory that holds most of them; default: many directories")
    ] = 0,
    extras: Annotated[int, _of_trees(min=0, help="Entries of the destination that a sync deletes")] = 0,
    bucket_regions: Annotated[
        list[str] | None,
        _of_trees("--bucket-region", help="BUCKET=REGION of one that is not in the stack's; may be repeated"),
    ] = None,
    probe: Annotated[
        list[str] | None,
        _of_systems(help="probe.json of a file system, or MOUNT=probe.json; may be repeated"),
    ] = None,
    throughput_mode: Annotated[
        ThroughputMode | None,
        _of_systems(help="How the throughput of the file systems is set; default: elastic, of a RUN as it was"),
    ] = None,
    standard: Annotated[str, _of_systems(help="Bytes of the class Standard that a bursting one holds")] = "0",
    credits_: Annotated[str, _of_systems("--credits", help="Burst credits that it has, bytes; default: all")] = "",
    provisioned_mibps: Annotated[float, _of_systems(min=0, help="Throughput of a provisioned one, MiB/s")] = 0.0,
    functions: Annotated[
        int | None, _of_runs(min=1, max=10_000, help="Functions at once; default: as they were")
    ] = None,
    memory: Annotated[int | None, _of_runs(min=128, max=10_240, help="MB of a function; changes dollars alone")] = None,
    rate: Annotated[str, _of_runs(help='Bytes a second of all together, as "200 MiB/s"; default: as it was')] = "",
    max_concurrency: Annotated[
        int | None, typer.Option(min=1, help="MaxConcurrency; default: of the stack, else 100")
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(metavar="TIME", help='End by "06:00", "06:00 Europe/Berlin", "4h": the plans that no other beats'),
    ] = None,
    html: Annotated[Path | None, typer.Option(help="Write the plans of --by as a page with their curve")] = None,
    json_output: JsonOption = False,
    state: StateOption = None,
) -> None:
    """Predict a run: seconds by phase, what limits it, burst credits, dollars. Changes nothing.

    Asks nobody either, but for MaxConcurrency where a stack is named. Of a RUN that has ended: what it would have
    taken with other functions, at another throughput mode or rate.
    """
    typed = dict(locals())  # the options, before anything else has a name here
    with command():
        from fanout_cli.estimates.on_paper import Typed, predict

        predict(Typed(**typed))


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command(name="estimate")(estimate_)
