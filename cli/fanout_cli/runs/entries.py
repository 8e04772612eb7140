"""The outcome of each entry of a run, from its ledger: which are wanted, and each as a line or as JSON."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

from fanout.ledger.keys import PLAN
from fanout.ledger.ledger import Ledger
from fanout.model.entry_outcome import Outcome
from fanout.model.errors import InvalidRequest
from fanout.model.outcome import Result
from fanout.report.text import visible
from fanout.request.filtering.globs import compile_globs
from fanout_cli.command_error import CommandError
from fanout_cli.runs.entry_outcomes import EVERY, EntryOutcome, entry_outcomes
from fanout_cli.runs.progress import BucketStore, DirectoryStore
from fanout_cli.runs.runs import describe_run
from fanout_cli.stacks import Stack

COLUMNS = ("outcome", "phase", "kind", "size", "path", "reason", "message")


def ledger_of(stack: Stack, run_id: str) -> Ledger:
    """The ledger of a run of a stack. Raises ``CommandError`` where it has none that lists entries."""
    try:
        ledger = Ledger(BucketStore(stack.client("s3"), stack.work_bucket), run_id)
    except InvalidRequest as error:
        raise CommandError(f"{run_id[:80]!r} is not a run; `fanout list {stack.option}` shows the runs") from error
    if not ledger.has(PLAN):
        describe_run(stack, run_id)  # which says so where there is no such run
        raise CommandError(
            f"{run_id} has no ledger: it had no plan yet, or its ledger has expired; "
            f"what it said: {stack.command('watch', run_id)}"
        )
    return ledger


def ledger_in(directory: Path, run: str | None) -> Ledger:
    """The ledger that ``fanout local`` brought. Raises ``CommandError`` where the directory holds none."""
    run_id = directory.resolve().name
    if run and run != run_id:
        raise CommandError(
            f"--ledger names the run {run_id}; leave {run[:80]!r} out, or name the directory of that run"
        )
    if not (directory / PLAN).is_file():
        raise CommandError(f"{directory} holds no {PLAN}; name the directory of a run, such as .fanout/runs/RUN")
    return Ledger(DirectoryStore(directory), run_id)


def chosen(ledger: Ledger, outcomes: Collection[Result], globs: Sequence[str]) -> Iterator[EntryOutcome]:
    """The entries with one of the outcomes, or any, whose path matches one of the globs, if there are any."""
    found = entry_outcomes(ledger, frozenset(outcomes or EVERY))
    if not globs:
        return found
    try:
        matches = compile_globs(globs).match
    except ValueError as error:
        raise InvalidRequest("--path", f"{', '.join(globs)[:80]!r} {error}", "a glob as in include") from error
    return (one for one in found if matches(one.outcome.path))


def document(row: EntryOutcome) -> dict[str, Any]:
    """An entry as JSON."""
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


def line(row: EntryOutcome) -> str:
    """An entry as a line with tabs."""
    found = document(row)
    return "\t".join(visible(str("" if found[name] is None else found[name])) for name in COLUMNS)
