"""The phases of a run, in their order: for the forecast, the summary, and those who watch it."""

from __future__ import annotations

from fanout.request.options import Verify
from fanout.request.request import Request


def phases_of(request: Request) -> tuple[str, ...]:
    """The phases of a run of this request, as far as each has something to do."""
    course = request.course
    if course.goes_back:
        return ("plan", "publish", "summarise")
    if course.plans:
        return ("plan", "list", "partition", "summarise")
    found = ["plan", "list", "partition", course.work]
    if course.copies:
        found += ["restore", "finish"] if request.restores_archived else ["finish"]
    if course.deletes_extras:
        found.append("delete")
    if request.verifies_after is not Verify.NONE:
        found.append("verify")
    if course.deletes_proven:
        found.append("delete")
    if request.publish is not None:
        found.append("publish")
    return (*found, "summarise")
