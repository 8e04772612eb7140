"""The request that copies what a verification found to differ."""

from __future__ import annotations

from typing import Any, NamedTuple

from fanout.books.summary_document import Status
from fanout.ledger.keys import FAILURES, SUMMARY
from fanout.ledger.run_places import run_prefix
from fanout.model.outcome import Reason
from fanout.request.command_line import command_of
from fanout.request.course import Mode
from fanout.request.mode_fields import with_mode
from fanout.request.parts.symlinks import Symlinks
from fanout_cli.command_error import CommandError
from fanout_cli.runs.runs import asked_of, describe_ended, read_ledger
from fanout_cli.stacks import Stack

WHOLE = (Status.SUCCEEDED, Status.FAILED_WITH_ITEMS)
# What a copy of single entries leaves as it is.
_LEFT = {Reason.LINKS_DIFFER.value, Reason.EXTRA.value}


class EndedVerification(NamedTuple):
    """A run of ``verify`` that has ended: its summary and its request, ``None`` where it left none.

    ``bucket`` holds its ledger. ``again`` is the command that repeats it; ``option`` follows other commands.
    """

    run_id: str
    summary: Any
    asked: Any
    bucket: str
    again: str
    option: str
    fanout: str = "fanout"


def request_from(stack: Stack, run_id: str) -> dict[str, Any]:
    """The request of a verification of a stack as a copy; see ``copy_of_found``."""
    describe_ended(stack, run_id)
    summary, asked = read_ledger(stack, run_id, SUMMARY), asked_of(stack, run_id)
    again = stack.command("retry", run_id)
    return copy_of_found(EndedVerification(run_id, summary, asked, stack.work_bucket, again, stack.option))


def copy_of_found(found: EndedVerification) -> dict[str, Any]:
    """The request of a verification as a copy of the entries that it names, whatever seems unchanged there.

    The ends and the filters are the verification's; how it compares is left out. Raises ``CommandError`` if the run is
    no verification, broke off, or found nothing that a copy of single entries mends.
    """
    run_id, summary, asked = found.run_id, found.summary, found.asked
    if summary is None or not isinstance(asked, dict) or summary["status"] not in WHOLE:
        raise CommandError(f"{run_id} has not compared everything; verify again: {found.again}")
    if summary["mode"] != Mode.VERIFY:
        raise CommandError(
            f"{run_id} is a {summary['mode']}; --from-verify takes a run of `{found.fanout} verify`, and "
            f"`{found.fanout} retry` others"
        )
    # A copy would compare the whole trees once more.
    given = {name: value for name, value in asked.items() if value is not None and name != "verify"}
    copy = with_mode(given, Mode.COPY) | {"compare": "always"}
    reasons = {one["reason"] for one in summary["failures_by_class"]}
    if not reasons:
        raise CommandError(f"{run_id} found no difference; there is nothing to copy")
    if reasons == {Reason.EXTRA.value}:
        raise CommandError(f"{run_id} found only what the source lacks, and a copy deletes nothing")
    whole = f"{command_of(copy).replace('fanout', found.fanout, 1)} {found.option}"
    if reasons <= _LEFT:
        raise CommandError(f"only a copy of the whole tree makes names of one file again: {whole}")
    if asked.get("symlinks") == Symlinks.FOLLOW.value:
        raise CommandError(f"what {run_id} found behind symlinks is not copied by a list; copy the whole tree: {whole}")
    return {**copy, "manifest": f"s3://{found.bucket}/{run_prefix(run_id)}{FAILURES}"}


def with_options(found: dict[str, Any], typed: dict[str, Any]) -> dict[str, Any]:
    """The request of a verification with what was typed besides."""
    parts = {name: found[name] | value for name, value in typed.items() if isinstance(value, dict) and name in found}
    return found | typed | parts
