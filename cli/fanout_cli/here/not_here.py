"""Parts of the product that the engine on one machine does not have, each with what has them or does instead."""

from __future__ import annotations

from collections.abc import Callable

_STACK = "run it on a stack: fanout {mode} SOURCE DESTINATION"
_ROLE = "give --profile one that assumes the role"
_ONE = "one process carries out a run here; leave it out"
_AWS = "it is about what AWS would take and cost; give --max-seconds, or ask `fanout estimate`"

NOT_HERE = {
    "checksums": f"S3 Batch Operations needs a stack's role; give --verify all, or {_STACK} --checksums",
    "calibration": "a stack has measured file systems; leave it out",
    "source_bucket.role": _ROLE,
    "source_bucket.external_id": _ROLE,
    "destination_bucket.role": _ROLE,
    "destination_bucket.external_id": _ROLE,
    "limits.max_concurrency": _ONE,
    "limits.credit_reserve_percent": "burst credits of EFS are measured by a stack; give --rate",
    "limits.max_dollars": _AWS,
    "limits.finish_by": _AWS,
    "prices": _AWS,
}
# Fields of a request file that change nothing that a run does here.
WITHOUT_EFFECT = frozenset({"calibration", "limits.max_concurrency", "limits.credit_reserve_percent", "prices"})
# Commands of a stack that somebody may type after ``fanout local``.
_OTHER_COMMANDS = {
    "schedule": "schedules are EventBridge's; here cron starts `fanout local copy`, on a stack: fanout schedule",
    "list": "fanout local report shows the newest run; all are below runs/ in the ledger",
    "limit": "a run here keeps its rates; stop it, then: fanout local retry RUN --set limits.bytes_per_second=RATE",
    "estimate": "an estimate needs no machine: fanout estimate SOURCE DESTINATION",
    "doctor": "the doctor examines a stack: fanout doctor --stack NAME",
    "probe": "a probe measures the file system of a stack: fanout probe",
    "publish": "publishing is an option of a copy: fanout local copy SOURCE DESTINATION --publish LINK",
    "start": "a request file follows at once: fanout local REQUEST.json",
}
# What a plan names: nothing in a request asks for it.
_AT_A_PLAN = (
    "schedules: cron here; `fanout schedule` on a stack",
    "runs by S3 events: a stack with Events=true",
    "checksums by S3 Batch Operations: --verify all here; --checksums on a stack",
    "EFS burst credits: not measured here, limit a run by --rate; `fanout plan` on a stack measures them",
)


def instead_of(field: str, mode: str) -> str:
    """The way to do without a field; empty where the engine carries it out."""
    return NOT_HERE.get(field, "").format(mode=mode)


def why_no_command(word: str) -> str:
    """The answer to a command that ``fanout local`` does not have; empty for what may be the name of a file."""
    return _OTHER_COMMANDS.get(word, "")


def say_not_here(say: Callable[[str], None]) -> None:
    """Print what a run on this machine cannot have, a line each, with what has it."""
    say("not on this machine:")
    for line in _AT_A_PLAN:
        say(f"  {line}")
