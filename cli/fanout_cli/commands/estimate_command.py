"""The command ``fanout estimate``: a run on paper, without an account and before anything is listed."""

from __future__ import annotations

import sys
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

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
from fanout_cli.places import complete_places, resolved
from fanout_cli.stacks import find_stack

if TYPE_CHECKING:
    from fanout.ledger.ledger import Ledger
    from fanout_cli.estimates.whatif.what_if import WhatIf

# As template.yaml sets MaxConcurrency.
STACK_CONCURRENCY = 100
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
    with command():
        from fanout.forecast.document import forecast_document
        from fanout.ledger.documents import document_row
        from fanout.model.books import Count
        from fanout.model.errors import InvalidRequest
        from fanout.request.parse import parse_request
        from fanout_cli.arguments import mounts_of, read_request
        from fanout_cli.estimates.estimate import (
            calibration_of,
            check_small,
            ending_by,
            given_shard_seconds,
            number_of,
            options_of,
            regions_of,
            state_of,
            write_page,
        )
        from fanout_cli.estimates.forecasts import forecast_tables, say_forecast
        from fanout_cli.estimates.from_totals import EstimateFacts, choose_estimated, estimate
        from fanout_cli.estimates.what_if import check_options, names_run, replayed
        from fanout_cli.runs.work_bucket import dump
        from fanout_cli.terminal import Terminal

        of_runs = {"--functions": functions is not None, "--memory": memory is not None, "--rate": bool(rate)}
        if destination is None and names_run(source):
            of_plans = {
                "--entries": entries != "0",
                "--bytes": size != "0",
                "--unchanged": unchanged != "0",
                "--extras": bool(extras),
                "--mode": mode is not Mode.COPY,
                "--standard": standard != "0",
                "--probe": bool(probe),
                "--bucket-region": bool(bucket_regions),
                "--no-index": has_no_index,
                "--unchanged-bytes": unchanged_size != "0",
                "--small": small != "0",
                "--small-bytes": small_size != "0",
                "--largest-directory": bool(largest_directory),
                "--max-concurrency": max_concurrency is not None,
                "--by": by is not None,
                "--html": html is not None,
            }
            check_options(of_plans, f"{source} is taken for a run that has ended; name two trees, or REQUEST.json")
            held = _ledger_of(source, stack, local, state)
            _say_replay(
                replayed(held, functions, memory, rate, throughput_mode, provisioned_mibps, credits_), json_output
            )
            return
        check_options(of_runs, "it is for a RUN that has ended; of a request, see limits")
        if destination is None:
            document = read_request(Path(source))
        else:
            document = {
                "source": resolved(source),
                "destination": resolved(destination, writes=True),
                "mode": mode.value,
            }
        if max_concurrency is None and (stack or local):
            named = find_stack(stack, local, state).parameters
            max_concurrency = int(named.get("MaxConcurrency", STACK_CONCURRENCY))
        mounts = mounts_of(document)
        parsed = parse_request(document, mounts, max_concurrency or STACK_CONCURRENCY)
        system = state_of(throughput_mode or ThroughputMode.ELASTIC, standard, credits_, provisioned_mibps)
        known = EstimateFacts(
            number_of("--entries", entries),
            number_of("--bytes", size),
            largest_directory,
            extras,
            dict.fromkeys(mounts, system),
            dict(calibration_of(text, mounts) for text in probe or []),
            number_of("--unchanged", unchanged),
            number_of("--unchanged-bytes", unchanged_size),
            indexed=not has_no_index,
            regions=regions_of(bucket_regions or [], parsed),
            small=Count(number_of("--small", small), number_of("--small-bytes", small_size)),
        )
        if not known.entries and not known.unchanged:
            remedy = "say how many entries are copied, or with --unchanged how many are not"
            raise InvalidRequest("--entries", "is missing", remedy)
        check_small(known)
        now, finish = time.time(), None
        if by is not None:
            parsed = ending_by(parsed, by, now)
        if parsed.limits.finish_by:
            found, finish = choose_estimated(parsed, known, now, given_shard_seconds(document))
        else:
            found = estimate(parsed, known)
        if html is not None:
            write_page(html, finish, parsed)
        row = document_row(forecast_document(found, now, parsed.limits.window, finish))
    if json_output:
        sys.stdout.write(dump(row) + "\n")
        return
    out = Terminal()
    say_forecast(row, out)
    if finish is not None and finish.functions:
        out.print(f"  to take it: {options_of(finish)}", markup=False, highlight=False, soft_wrap=True)
    for table in forecast_tables(row):
        out.print(table)


def _ledger_of(run: str, stack: str | None, local: bool, state: Path | None) -> Ledger:
    """The ledger of a run of a stack, or in a directory."""
    from fanout_cli.runs.entries import ledger_in, ledger_of

    return ledger_in(Path(run), None) if Path(run).is_dir() else ledger_of(find_stack(stack, local, state), run)


def _say_replay(found: WhatIf, json_output: bool) -> None:
    from fanout.ledger.documents import document_row
    from fanout_cli.estimates.what_if import what_if_lines, what_if_table
    from fanout_cli.runs.work_bucket import dump
    from fanout_cli.terminal import Terminal

    if json_output:
        sys.stdout.write(dump(document_row(found)) + "\n")
        return
    out = Terminal()
    out.print(what_if_table(found))
    for line in what_if_lines(found):
        out.print(line, markup=False, highlight=False, soft_wrap=True)


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command(name="estimate")(estimate_)
