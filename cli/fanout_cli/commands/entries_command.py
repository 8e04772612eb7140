"""``fanout entries``: what became of each entry of a run, from its ledger."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import typer

from fanout.ledger.keys import PLAN
from fanout.ledger.ledger import Ledger
from fanout.model.errors import InvalidRequest
from fanout.model.outcome import Outcome, Result
from fanout.report.text import visible
from fanout.request.filtering.globs import compile_globs
from fanout.summary.entries import EVERY, EntryOutcome, entry_outcomes
from fanout_cli.command_error import CommandError
from fanout_cli.commands.run_commands import LocalOption, RunArgument, StackOption, StateOption, command
from fanout_cli.runs.progress import BucketStore, DirectoryStore
from fanout_cli.runs.runs import newest_run
from fanout_cli.stacks import find_stack
from fanout_cli.terminal import Terminal

COLUMNS = ("outcome", "phase", "kind", "size", "path", "reason", "message")


def entries(
    run: RunArgument = None,
    outcome: Annotated[
        list[Result] | None, typer.Option(help="Only entries with this outcome; may be repeated", show_default=False)
    ] = None,
    path: Annotated[
        list[str] | None,
        typer.Option(help="Only entries whose path matches this glob; may be repeated", metavar="GLOB"),
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Entries at most; default: all", show_default=False)] = None,
    ledger: Annotated[
        Path | None,
        typer.Option(help="The directory of a run that `fanout local` brought, instead of a stack", metavar="DIR"),
    ] = None,
    stack: StackOption = None,
    local: LocalOption = False,
    json_output: Annotated[
        bool, typer.Option("--json", help="Print a JSON document for each entry, one a line")
    ] = False,
    state: StateOption = None,
) -> None:
    """Print what became of each entry of a run, a line each with tabs. Works while the run goes on, too."""
    console = Terminal(stderr=True)
    with command(console):
        found = _ledger_in(ledger, run) if ledger else _ledger_of(run, stack, local, state)
        chosen = _chosen(entry_outcomes(found, frozenset(outcome or EVERY)), path or [])
        rows = chosen if limit is None else islice(chosen, limit)
        if not json_output:
            typer.echo("\t".join(COLUMNS))
        count = 0
        for row in rows:
            count += 1
            typer.echo(json.dumps(_document(row)) if json_output else _line(row))
        more = limit is not None and count == limit and next(chosen, None) is not None
        console.print(f"{count:,} entries{', and there are more' if more else ''}", soft_wrap=True)


def _ledger_of(run: str | None, stack: str | None, local: bool, state: Path | None) -> Ledger:
    found = find_stack(stack, local, state)
    run_id = run or newest_run(found)
    try:
        ledger = Ledger(BucketStore(found.client("s3"), found.work_bucket), run_id)
    except InvalidRequest as error:
        raise CommandError(f"{run_id[:80]!r} is not a run; `fanout list {found.option}` shows the runs") from error
    if not ledger.has(PLAN):
        raise CommandError(
            f"{run_id} has no ledger: it had no plan yet, or its ledger has expired; "
            f"what it said: {found.command('watch', run_id)}"
        )
    return ledger


def _ledger_in(directory: Path, run: str | None) -> Ledger:
    run_id = directory.resolve().name
    if run and run != run_id:
        raise CommandError(
            f"--ledger names the run {run_id}; leave {run[:80]!r} out, or name the directory of that run"
        )
    if not (directory / PLAN).is_file():
        raise CommandError(f"{directory} holds no {PLAN}; name the directory of a run, such as .fanout/runs/RUN")
    return Ledger(DirectoryStore(directory), run_id)


def _chosen(found: Iterator[EntryOutcome], globs: list[str]) -> Iterator[EntryOutcome]:
    if not globs:
        return found
    try:
        matches = compile_globs(globs).match
    except ValueError as error:
        raise InvalidRequest("--path", f"{', '.join(globs)[:80]!r} {error}", "a glob as in include") from error
    return (one for one in found if matches(one.outcome.path))


def _document(row: EntryOutcome) -> dict[str, Any]:
    one: Outcome = row.outcome
    return {
        "outcome": one.result.value,
        "phase": row.phase,
        "kind": one.kind,
        "size": one.size,
        "path": one.path,
        "reason": one.reason.value if one.reason else None,
        "message": one.message,
        "crc64nvme": one.crc64nvme,
        "seconds": one.seconds,
        "remedy": one.reason.remedy if one.reason else "",
    }


def _line(row: EntryOutcome) -> str:
    document = _document(row)
    return "\t".join(visible(str("" if document[name] is None else document[name])) for name in COLUMNS)


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command()(entries)
