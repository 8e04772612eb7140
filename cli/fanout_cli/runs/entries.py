"""The outcome of each entry of a run, from its ledger: which are wanted, and each as a line or as JSON."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from fanout.books.summary_document import SUMMARY
from fanout.deleting.deletions import deletion_shards, ledger_of_deletion
from fanout.finishing.unset_directories import directories_failed
from fanout.ledger import keys
from fanout.ledger.keys import PLAN
from fanout.ledger.ledger import Ledger
from fanout.ledger.rows import listed_outcomes, outcome_from_row
from fanout.model.entry_outcome import Outcome
from fanout.model.errors import InvalidRequest
from fanout.model.outcome import TROUBLE, Reason, Result
from fanout.model.shard import Shard
from fanout.report.text import visible
from fanout.request.filtering.globs import compile_globs
from fanout.request.options import Verify
from fanout.shards.partitioned import is_partitioned, links_of, shards_of
from fanout.shards.round_records import rounds_done
from fanout.shards.shard_results import SHARD_FAILED, Absent, outcomes_of_big_files, shard_outcomes
from fanout.verifying.compared_big_files import compared_big_files
from fanout_cli.command_error import CommandError
from fanout_cli.runs.runs import describe_run
from fanout_cli.runs.work_bucket import BucketStore, DirectoryStore
from fanout_cli.stacks import Stack

EVERY = frozenset(Result)


class EntryOutcome(Struct, frozen=True):
    """The outcome of an entry, and the phase that found it: list, copy, finish, delete or verify."""

    phase: str
    outcome: Outcome


def entry_outcomes(ledger: Ledger, wanted: Collection[Result] = EVERY) -> Iterator[EntryOutcome]:
    """The entries of a run with one of the ``wanted`` outcomes, phase by phase; holds a shard's entries at most.

    Every listed entry comes once with the outcome that the books count. Those that could not be finished come again
    under ``finish``, those that a verification after the copy found to differ under ``verify``. Entries of a run
    that still goes on and have no outcome yet are left out; so are those that a plan would copy. Files of the ledger
    whose totals show none of the wanted outcomes are not read. Raises ``LedgerBroken``.
    """
    ledger = ledger.whole_run()
    request = ledger.read_plan().request
    yield from _in_phase("list", _listed(ledger, wanted))
    if request.course.plans:
        return
    absent, compares = _absent(ledger), request.course.compares
    yield from _in_phase("verify" if compares else "copy", _worked_on(ledger, wanted, absent, compares=compares))
    if Result.FAILED in wanted:
        yield from _in_phase("finish", iter(directories_failed(ledger).values()))
    deletes = ledger_of_deletion(ledger)
    yield from _in_phase("delete", _of_shards(deletion_shards(deletes), deletes, wanted, absent))
    troubles = frozenset(wanted) & frozenset(TROUBLE)
    if request.verifies_after is Verify.COPIED and is_partitioned(ledger):
        verified = (Shard(keys.verified_id(one.id), one.key, 0, one.bytes, one.seconds) for one in shards_of(ledger))
        yield from _in_phase("verify", _of_shards(verified, ledger, troubles, None))
    if request.verifies_after.whole_trees:
        inner = ledger.verification()
        yield from _in_phase("verify", _listed(inner, troubles))
        yield from _in_phase("verify", _worked_on(inner, troubles, absent, compares=True))
        yield from _in_phase("verify", _extras(inner, troubles))
    if compares:
        yield from _in_phase("verify", _extras(ledger, troubles))


def _absent(ledger: Ledger) -> Absent | None:
    """Why an entry has no outcome, as the books say it; ``None`` while the run goes on."""
    summary = ledger.find(SUMMARY)
    if summary is None:
        return None
    if summary.error is not None and not is_partitioned(ledger):
        return Absent(Reason.NOT_ATTEMPTED, f"the run ended before it: {summary.error.name}")
    return SHARD_FAILED


def _in_phase(phase: str, outcomes: Iterator[Outcome]) -> Iterator[EntryOutcome]:
    return (EntryOutcome(phase, outcome) for outcome in outcomes)


def _listed(ledger: Ledger, wanted: Collection[Result]) -> Iterator[Outcome]:
    for done in rounds_done(ledger):
        if any(done.outcomes[result].entries for result in wanted if result in done.outcomes):
            for key in done.outcome_files:
                for outcomes in ledger.read_rows_as(key, listed_outcomes):
                    yield from (outcome for outcome in outcomes if outcome.result in wanted)


def _worked_on(
    ledger: Ledger, wanted: Collection[Result], absent: Absent | None, *, compares: bool
) -> Iterator[Outcome]:
    """The entries of the shards of copies and links, then the big files."""
    yield from _of_shards(_shards(ledger), ledger, wanted, absent)
    if not compares:
        big_files = outcomes_of_big_files(ledger, absent)
    elif absent is None:  # a comparison of blocks has no result before its last one
        return
    else:
        big_files = (one.outcome for one in compared_big_files(ledger))
    yield from (outcome for outcome in big_files if outcome.result in wanted)


def _shards(ledger: Ledger) -> Iterator[Shard]:
    """The shards of copies and links, or those of the listing where the run did not get further."""
    if is_partitioned(ledger):
        yield from shards_of(ledger)
        yield from (one.shard for one in links_of(ledger))
        return
    for done in rounds_done(ledger):
        yield from done.shards + done.loose + done.names


def _of_shards(
    shards: Iterable[Shard], ledger: Ledger, wanted: Collection[Result], absent: Absent | None
) -> Iterator[Outcome]:
    for shard in shards:
        if shard.blocks is None:
            yield from shard_outcomes(shard, ledger, wanted, absent)


def _extras(ledger: Ledger, wanted: Collection[Result]) -> Iterator[Outcome]:
    """The entries that only the destination holds, which a comparison calls failed."""
    for done in rounds_done(ledger) if Result.FAILED in wanted else ():
        for key in done.extras:
            yield from ledger.read_rows_as(key, outcome_from_row)


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
    """The ledger of a run in a directory. Raises ``CommandError`` where the directory holds none."""
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
