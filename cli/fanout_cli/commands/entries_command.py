"""``fanout entries``: what became of each entry of a run, from its ledger."""

from __future__ import annotations

import json
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fanout.model.outcome import Result
from fanout_cli.commands.common_options import HERE, RunArgument, at_a_stack, command
from fanout_cli.stacks import Where

if TYPE_CHECKING:
    from fanout.ledger.ledger import Ledger
    from fanout_cli.terminal import Terminal


OutcomeOption = Annotated[
    list[Result] | None, typer.Option(help="Only entries with this outcome; may be repeated", show_default=False)
]
PathOption = Annotated[
    list[str] | None,
    typer.Option(help="Only entries whose path matches this glob; may be repeated", metavar="GLOB"),
]
MostOption = Annotated[int | None, typer.Option(min=1, help="Entries at most; default: all", show_default=False)]
EntriesJson = Annotated[bool, typer.Option("--json", help="Print a JSON document for each entry, one a line")]


@at_a_stack
def entries(
    run: RunArgument = None,
    outcome: OutcomeOption = None,
    path: PathOption = None,
    limit: MostOption = None,
    ledger: Annotated[
        Path | None,
        typer.Option(help="The directory of a run's ledger, instead of a stack", metavar="DIR"),
    ] = None,
    where: Where = HERE,
    json_output: EntriesJson = False,
) -> None:
    """Print what became of each entry of a run, a line each with tabs. Works while the run goes on, too."""
    with command() as console:
        from fanout_cli.runs import entries as found_entries

        held = found_entries.ledger_of(*where.find_run(run)) if ledger is None else found_entries.ledger_in(ledger, run)
        print_entries(held, (outcome, path, limit), json_output, console)


def print_entries(
    held: Ledger,
    wanted: tuple[list[Result] | None, list[str] | None, int | None],
    json_output: bool,
    console: Terminal,
) -> None:
    """Print the entries of a ledger that have one of the outcomes and match one of the paths, up to a limit."""
    from fanout_cli.runs import entries as found_entries

    outcome, path, limit = wanted
    chosen = found_entries.chosen(held, outcome or (), path or ())
    rows = chosen if limit is None else islice(chosen, limit)
    if not json_output:
        typer.echo("\t".join(found_entries.COLUMNS))
    count = 0
    for row in rows:
        count += 1
        typer.echo(json.dumps(found_entries.document(row)) if json_output else found_entries.line(row))
    more = limit is not None and count == limit and next(chosen, None) is not None
    console.print(f"{count:,} entries{', and there are more' if more else ''}", soft_wrap=True)


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command()(entries)
