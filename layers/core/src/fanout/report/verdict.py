"""The verdict in words: what stands first on the page."""

from __future__ import annotations

from msgspec import Struct

from fanout.books.summary_document import Planned, Status, SummaryDocument
from fanout.report.text import count
from fanout.request.options import Mode

_HEADS = {
    Status.SUCCEEDED: ("Succeeded", "✓"),
    Status.FAILED_WITH_ITEMS: ("Finished with failed entries", "!"),
    Status.FAILED: ("Failed", "✗"),
    Status.SKIPPED: ("Skipped", "»"),
}


class Verdict(Struct, frozen=True):
    """A headline with its sign, and a sentence."""

    headline: str
    sign: str
    sentence: str


def verdict(summary: SummaryDocument) -> Verdict:
    """The verdict of summary.json."""
    headline, sign = _HEADS[summary.status]
    if summary.status is Status.SUCCEEDED and summary.warnings:
        return Verdict(summary.warnings[0].partition(":")[0], "!", "The run succeeded, and there was nothing to do.")
    return Verdict(headline, sign, _sentence(summary))


def _sentence(summary: SummaryDocument) -> str:
    if summary.skipped:
        return f"Nothing was done: {summary.skipped.reason}."
    listed = summary.totals.listed.entries
    if summary.status is Status.SUCCEEDED:
        if not listed:
            return "There was nothing to do."
        if summary.planned:
            return _plan(summary.planned)
        if summary.mode is Mode.VERIFY:
            return f"All {count(listed)} entries are accounted for, and no difference was found."
        return f"All {count(listed)} entries are accounted for, and none failed."
    if summary.status is Status.FAILED and summary.error:
        return f"{summary.error.name}: {summary.error.message}"
    bad = summary.totals.failed.entries + summary.totals.rejected.entries
    if not bad:
        return f"{count(summary.failures)} rows need attention; the tree itself went through."
    return f"{count(bad)} of {count(listed)} entries failed or were rejected. The books balance: nothing is missing."


def _plan(planned: Planned) -> str:
    wanted = f"A copy would write {count(planned.to_copy.entries)} entries"
    if planned.to_delete is None:
        return f"{wanted}. Nothing was written."
    if planned.delete_refused:
        return f"{wanted}; a sync would be refused: {planned.delete_refused}. Nothing was written."
    return f"{wanted}; a sync would delete {count(planned.to_delete.entries)} as well. Nothing was written."
