"""The verdict in words: what stands first on the page."""

from __future__ import annotations

from msgspec import Struct

from fanout.model.document import Json
from fanout.report.text import count

_HEADS = {
    "SUCCEEDED": ("Succeeded", "✓"),
    "FAILED_WITH_ITEMS": ("Finished with failed entries", "!"),
    "FAILED": ("Failed", "✗"),
    "SKIPPED": ("Skipped", "»"),
}


class Verdict(Struct, frozen=True):
    """A headline with its sign, and a sentence."""

    headline: str
    sign: str
    sentence: str


def verdict(summary: Json) -> Verdict:
    """The verdict of summary.json."""
    headline, sign = _HEADS[summary["status"]]
    return Verdict(headline, sign, _sentence(summary))


def _sentence(summary: Json) -> str:
    if summary["skipped"]:
        reason: str = summary["skipped"]["reason"]
        return f"Nothing was done: {reason}."
    listed, totals = summary["totals"]["listed"]["entries"], summary["totals"]
    if summary["status"] == "SUCCEEDED":
        if not listed:
            return "There was nothing to do."
        if summary["planned"]:
            return _plan(summary["planned"])
        if summary["mode"] == "verify":
            return f"All {count(listed)} entries are accounted for, and no difference was found."
        return f"All {count(listed)} entries are accounted for, and none failed."
    error = summary["error"]
    if summary["status"] == "FAILED":
        return f"{error['name']}: {error['message']}"
    bad = totals["failed"]["entries"] + totals["rejected"]["entries"]
    if not bad:
        return f"{count(summary['failures'])} rows need attention; the tree itself went through."
    return f"{count(bad)} of {count(listed)} entries failed or were rejected. The books balance: nothing is missing."


def _plan(planned: Json) -> str:
    wanted = f"A copy would write {count(planned['to_copy']['entries'])} entries"
    if planned["to_delete"] is None:
        return f"{wanted}. Nothing was written."
    if planned["delete_refused"]:
        return f"{wanted}; a sync would be refused: {planned['delete_refused']}. Nothing was written."
    return f"{wanted}; a sync would delete {count(planned['to_delete']['entries'])} as well. Nothing was written."
