"""The end of a run as lines for people: the verdict, the figures, what went wrong."""

from __future__ import annotations

import time
from collections.abc import Iterator

from rich.console import Console

from fanout.books.summary_document import Planned, Published, Status
from fanout.ledger.ledger import Ledger
from fanout.model.errors import InvalidRequest, LedgerBroken
from fanout.model.outcome import Reason
from fanout.report.text import dollars, duration, size, visible
from fanout.request.course import Mode
from fanout_cli.progress.ledger_looks import LedgerLooks
from fanout_cli.progress.run_progress import progress_of
from fanout_cli.runs.results import RunResult, lines_of
from fanout_cli.runs.work_bucket import describe_totals


def say_result(result: RunResult, console: Console) -> None:
    """Print the verdict, the figures, the warnings and the error."""
    console.print(f"{result.status}: {work_line(result)}", markup=False, highlight=False, soft_wrap=True)
    for line in figures(result):
        console.print(line, markup=False, highlight=False, soft_wrap=True)
    for warning in result.warnings:
        console.print(f"warning: {warning}", style="yellow", markup=False, highlight=False, soft_wrap=True)
    if result.error is not None and not result.differences and not _says_the_same(result):
        message = f"{result.error['name']}: {result.error['message']}"
        console.print(message, style="red", markup=False, highlight=False, soft_wrap=True)


def _says_the_same(result: RunResult) -> bool:
    """Whether the error only counts the entries that are listed below their classes."""
    return result.status == Status.FAILED_WITH_ITEMS and bool(result.classes)


def work_line(result: RunResult) -> str:
    """The work of the run, in one line."""
    if result.skipped:
        return result.skipped["reason"]
    if result.error is not None and result.error["name"] == InvalidRequest.__name__:
        return "the request was refused"
    if not result.is_counted:
        return result.so_far or "it left no summary"
    if result.planned is not None:
        return _would_do(result.planned)
    if result.differences:
        return f"trees differ: {result.differences}"
    if result.mode is Mode.ROLLBACK:
        return "the link was switched, nothing was copied" if result.published else "the link stayed as it was"
    return f"{describe_totals(result.totals) or 'nothing listed'}{_unlisted(result)}"


def _unlisted(result: RunResult) -> str:
    """That the listing is not complete, which no count of entries tells."""
    closed = sum(one.entries for one in result.classes if one.reason == Reason.UNLISTABLE.value)
    if not closed:
        return ""
    which, them = ("1 directory", "it") if closed == 1 else (f"{closed:,} directories", "them")
    return f"; {which} could not be listed: what is in {them} is unknown"


def _would_do(planned: Planned) -> str:
    """The changes that a plan found, in one line."""
    copies = f"would copy {planned.to_copy.entries:,} ({size(planned.to_copy.bytes)})"
    if planned.to_delete is None:
        return copies
    refused = f", which its guard would refuse: {planned.delete_refused}" if planned.delete_refused else ""
    return f"{copies}; a sync would delete {planned.to_delete.entries:,}{refused}"


def so_far(ledger: Ledger) -> str:
    """How far a run came that wrote no summary, by the records and notes of its tasks; empty where none tells."""
    try:
        reached = progress_of(LedgerLooks(ledger).look(time.monotonic()))
    except LedgerBroken:
        return ""
    if not reached.listed.entries:
        return ""
    done = f", at least {reached.done.entries:,} of {reached.total.entries:,} done" if reached.total.entries else ""
    return f"listed {reached.listed.entries:,}{done}; what is copied stays"


def figures(result: RunResult) -> Iterator[str]:
    """The lines, those alone of which something is known."""
    copied = result.totals["copied"]
    parts = [size(copied["bytes"])] if copied["entries"] else []
    seconds = result.run_seconds if result.mode else 0.0
    if seconds:
        parts.append(f"in {duration(seconds)}")
    if copied["bytes"] and result.seconds.get("copy"):
        parts.append(f"{size(copied['bytes'] / result.seconds['copy'])}/s while copying")
    if result.dollars is not None:
        money = dollars(result.dollars)
        where = " on AWS" if result.is_local else ""
        parts.append(f"{money if money.startswith('<') else f'about {money}'}{where}")
    if parts:
        yield ", ".join(parts)
    if result.published is not None:
        yield published(result.published)
    for one in result.classes:
        remedy = f": {one.remedy}" if one.remedy else ""
        yield f"  {one.entries:,} {one.outcome.value}, {one.reason or 'no reason given'}{remedy}"
        yield from lines_of(one, result.failed_paths)


def published(one: Published) -> str:
    """The link, the version that it names now, and how much of that was linked and not copied."""
    before = f", before {one.before}" if one.before else ""
    linked = f"; {one.linked.entries:,} files ({size(one.linked.bytes)}) shared with it" if one.linked.entries else ""
    removed = f"; removed: {', '.join(one.removed)}" if one.removed else ""
    return f"published: {visible(one.link)} -> {one.version}{before}{linked}{removed}"
