"""The checks as data, and how they are run: none keeps another from being run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from botocore.exceptions import ClientError
from rich.console import Console

from fanout.ports.finding import Finding, Severity, fail, warn
from fanout_cli.command_error import CommandError, human_errors
from fanout_cli.doctor import checksum_checks, mount_checks, network_checks, stack_checks
from fanout_cli.doctor.inside import inside_findings, turns_findings
from fanout_cli.stacks import Stack


@dataclass(frozen=True, slots=True)
class Check:
    """A check; ``remote`` ones make no sense for the stack on this machine."""

    name: str
    run: Callable[[Stack], Iterator[Finding]]
    remote: bool = True


CHECKS = (
    Check("credentials", stack_checks.credentials),
    Check("state machine", stack_checks.state_machine, remote=False),
    Check("work bucket", stack_checks.work_bucket, remote=False),
    # The emulator deploys a bucket without the rules by which its objects expire.
    Check("work bucket: lifecycle", stack_checks.lifecycle),
    Check("buckets", stack_checks.buckets),
    Check("function size", stack_checks.function_size),
    Check("way out", stack_checks.way_out),
    Check("Lambda concurrency", stack_checks.concurrency),
    Check("kinds of file systems", mount_checks.kinds),
    Check("mount targets", network_checks.mount_targets),
    Check("S3 endpoint", network_checks.way_to_s3),
    Check("endpoints of services", network_checks.interface_endpoints),
    Check("computed checksums", checksum_checks.computed_checksums),
    Check("runs at the same time", turns_findings, remote=False),
)


def examine_stack(stack: Stack, kms_key_id: str = "") -> Iterator[Finding]:
    """The findings of every check, and those from inside the network."""
    inside = Check("inside the network", lambda found: inside_findings(found, kms_key_id), remote=False)
    for check in (*CHECKS, inside):
        if check.remote and stack.is_local:
            continue
        yield from _guarded(check, stack)


def _guarded(check: Check, stack: Stack) -> Iterator[Finding]:
    """A check that is not permitted is a warning: a run needs other permissions than a person."""
    try:
        with human_errors():
            yield from check.run(stack)
    except CommandError as error:
        what, _, remedy = str(error).partition("; ")
        refused = isinstance(error.__cause__, ClientError) and "is not permitted" in what
        yield warn(check.name, f"not checked: {what}", remedy) if refused else fail(check.name, what, remedy)


STYLES = {Severity.OK: "green", Severity.WARN: "yellow", Severity.FAIL: "red"}


def verdict(found: list[Finding]) -> str:
    """All findings in one line."""
    failed, warned = (sum(one.level is level for one in found) for level in (Severity.FAIL, Severity.WARN))
    if not failed and not warned:
        return f"all {len(found)} checks passed"
    return f"{len(found)} checks: {failed} failed, {warned} with a warning"


def show(console: Console, finding: Finding) -> None:
    """Print a finding, and its remedy below it."""
    console.print(f"{finding.level.value:<5}", style=STYLES[finding.level], end="")
    console.print(f"{finding.name}: {finding.what}", markup=False, highlight=False, soft_wrap=True)
    if finding.remedy:
        console.print(f"     {finding.remedy}", markup=False, highlight=False, soft_wrap=True)
