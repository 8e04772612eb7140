"""The verdict in words: the first words of the page."""

from __future__ import annotations

from msgspec import Struct

from fanout.books.summary_document import Planned, Status, SummaryDocument, Verified
from fanout.model.errors import BudgetRefused, DeleteRefused, FinishRefused
from fanout.model.outcome import Reason
from fanout.report.text import count
from fanout.request.course import Mode

_HEADS = {
    Status.SUCCEEDED: ("Succeeded", "✓"),
    Status.FAILED_WITH_ITEMS: ("Finished with failed entries", "!"),
    Status.FAILED: ("Failed", "✗"),
    Status.SKIPPED: ("Skipped", "»"),
}
_REFUSED = {
    DeleteRefused.__name__: "Refused, and nothing was deleted",
    BudgetRefused.__name__: "Refused by the budget",
    FinishRefused.__name__: "Refused: no plan ends in time",
}


class RunHeadline(Struct, frozen=True):
    """A headline with its sign, and a sentence."""

    headline: str
    sign: str
    sentence: str


def verdict(summary: SummaryDocument) -> RunHeadline:
    headline, sign = _HEADS[summary.status]
    differ = differences(summary.mode, summary.verification)
    if differ:
        return RunHeadline(f"Trees differ: {differ}", "≠", _compared(summary))
    if summary.error and summary.error.name in _REFUSED:
        return RunHeadline(_REFUSED[summary.error.name], "✗", f"{summary.error.message}.")
    if summary.status is Status.SUCCEEDED and summary.warnings and not summary.totals.taken:
        return RunHeadline(
            summary.warnings[0].partition(":")[0], "!", "The run succeeded, and there was nothing to do."
        )
    if summary.status is Status.SUCCEEDED and summary.planned:
        headline = _plan_headline(summary.planned)
    if summary.status is Status.SUCCEEDED and summary.warnings:
        sign = "!"
    return RunHeadline(headline, sign, _sentence(summary))


def _plan_headline(planned: Planned) -> str:
    copies = f"Would copy {count(planned.to_copy.entries)}"
    if planned.to_delete is None or not planned.to_delete.entries:
        return copies
    deletions = count(planned.to_delete.entries)
    return (
        f"{copies}, would be refused to delete {deletions}"
        if planned.delete_refused
        else f"{copies}, would delete {deletions}"
    )


def differences(mode: Mode, verification: Verified | None) -> str:
    """The differences that a run of mode verify found, in three classes; empty if there is none."""
    if not mode.course.compares or verification is None or not verification.differences:
        return ""
    found = {"missing": 0, "different": 0, "extra": 0}
    for one in verification.by_class:
        name = {Reason.MISSING: "missing", Reason.EXTRA: "extra"}.get(one.reason, "different")
        found[name] += one.entries
    return ", ".join(f"{count(entries)} {name}" for name, entries in found.items() if entries)


def _compared(summary: SummaryDocument) -> str:
    listed, equal = summary.totals.listed.entries, summary.totals.unchanged.entries
    equal_ones = f"{count(equal)} of the source's {count(listed)} entries are equal at the destination."
    return equal_ones if summary.complete_listing else f"{equal_ones} {_unlisted(summary)}"


def _sentence(summary: SummaryDocument) -> str:
    if summary.skipped:
        return f"Nothing was done: {summary.skipped.reason}."
    listed = summary.totals.listed.entries
    if summary.status is Status.SUCCEEDED:
        if not listed:
            return "There was nothing to do."
        if summary.planned:
            return _plan(summary.planned)
        if summary.mode.course.compares:
            return f"All {count(listed)} entries are accounted for, and no difference was found."
        accounted = f"All {count(listed)} entries are accounted for, and none failed."
        moved = summary.totals.deleted.entries
        is_move = summary.mode.course.deletes_proven
        return f"{accounted} {count(moved)} are proven and deleted at the source." if is_move else accounted
    if summary.status is Status.FAILED and summary.error:
        return f"{summary.error.name}: {summary.error.message}"
    bad = summary.totals.failed.entries + summary.totals.rejected.entries
    if not bad:
        whole = "the tree itself went through." if summary.complete_listing else _unlisted(summary)
        return f"{count(summary.failures)} rows need attention; {whole}"
    failed = f"{count(bad)} of {count(listed)} entries failed or were rejected."
    return f"{failed} {'Every entry is accounted for.' if summary.complete_listing else _unlisted(summary)}"


def _unlisted(summary: SummaryDocument) -> str:
    """The sentence for a listing that is not complete."""
    unlisted = sum(one.entries for one in summary.failures_by_class if one.reason == Reason.UNLISTABLE.value)
    if unlisted == 1:
        return "1 directory could not be listed: what is in it is unknown."
    if unlisted:
        return f"{count(unlisted)} directories could not be listed: what is in them is unknown."
    return "A part of the tree could not be listed: what is in it is unknown."


def _plan(planned: Planned) -> str:
    wanted = f"A copy would write {count(planned.to_copy.entries)} entries"
    if planned.to_delete is None:
        return f"{wanted}. Nothing was written."
    if planned.delete_refused:
        return f"{wanted}; a sync would be refused: {planned.delete_refused}. Nothing was written."
    return f"{wanted}; a sync would delete {count(planned.to_delete.entries)} as well. Nothing was written."
