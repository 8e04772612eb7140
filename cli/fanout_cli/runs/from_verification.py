"""The request that copies what a verification found to differ."""

from __future__ import annotations

from typing import Any

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


def request_from(stack: Stack, run_id: str) -> dict[str, Any]:
    """The request of a verification as a copy of the entries that it names, whatever seems unchanged there.

    The ends and the filters are the verification's; how it compares is left out. Raises ``CommandError`` if the run is
    no verification, still runs, broke off, or found nothing that a copy of single entries mends.
    """
    describe_ended(stack, run_id)
    summary, asked = read_ledger(stack, run_id, SUMMARY), asked_of(stack, run_id)
    if summary is None or not isinstance(asked, dict) or summary["status"] not in WHOLE:
        raise CommandError(f"{run_id} has not compared everything; verify again: {stack.command('retry', run_id)}")
    if summary["mode"] != Mode.VERIFY:
        raise CommandError(
            f"{run_id} is a {summary['mode']}; --from-verify takes a run of `fanout verify`, and `fanout retry` others"
        )
    # A copy would compare the whole trees once more.
    given = {name: value for name, value in asked.items() if value is not None and name != "verify"}
    found = with_mode(given, Mode.COPY) | {"compare": "always"}
    reasons = {one["reason"] for one in summary["failures_by_class"]}
    if not reasons:
        raise CommandError(f"{run_id} found no difference; there is nothing to copy")
    if reasons == {Reason.EXTRA.value}:
        raise CommandError(f"{run_id} found only what the source lacks, and a copy deletes nothing")
    whole = f"{command_of(found)} {stack.option}"
    if reasons <= _LEFT:
        raise CommandError(f"only a copy of the whole tree makes names of one file again: {whole}")
    if asked.get("symlinks") == Symlinks.FOLLOW.value:
        raise CommandError(f"what {run_id} found behind symlinks is not copied by a list; copy the whole tree: {whole}")
    return {**found, "manifest": f"s3://{stack.work_bucket}/{run_prefix(run_id)}{FAILURES}"}
