"""A whole self-test: what it may cost, doctor, the cases, the removal, the page. After Ctrl-C it removes too."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from fanout.ports.finding import Finding, Severity
from fanout_cli.command_error import CommandError, human_errors
from fanout_cli.doctor.checks import examine_stack
from fanout_cli.selftest.budget import SelftestBudget, expect, expect_removal
from fanout_cli.selftest.cases import SelftestPlace, cases_of
from fanout_cli.selftest.cleanup import remove_all
from fanout_cli.selftest.data_sets import DataSets, Say
from fanout_cli.selftest.data_sizes import PROFILES
from fanout_cli.selftest.page import document_of, write
from fanout_cli.selftest.runner import CaseRow, Runner
from fanout_cli.stacks import Stack


@dataclass(frozen=True, slots=True)
class SelftestOptions:
    """The options of the command line; ``confirm`` is shown what it may cost and says whether to go on."""

    place: SelftestPlace
    size: str
    budget_dollars: float
    output: Path
    confirm: Callable[[str], bool]


def new_id() -> str:
    """An id that sorts by time."""
    return time.strftime("%Y%m%dt%H%M%S", time.gmtime())


def bucket_of(stack: Stack, named: str) -> str:
    """The bucket named, else the first that the stack may read and write. Raises ``CommandError``."""
    if named:
        return named
    arns = [stack.parameters.get(name, "").split(",") for name in ("ReadBucketArns", "WriteBucketArns")]
    both = [arn.partition(":::")[2] for arn in arns[0] if arn in arns[1] and ":::" in arn]
    plain = [name for name in both if "*" not in name]
    if not plain:
        raise CommandError(
            "no bucket is in both ReadBucketArns and WriteBucketArns; name one that the stack may read and write "
            "with --bucket"
        )
    return plain[0]


def run_selftest(stack: Stack, asked: SelftestOptions, say: Say) -> tuple[dict[str, Any], dict[str, str]] | None:
    """Carry it out; returns selftest.json and the paths of both files, or ``None`` if it was not confirmed."""
    place, sizes = asked.place, PROFILES[asked.size]
    cases = cases_of(place, sizes)
    budget = SelftestBudget(asked.budget_dollars, expect_removal(place, cases))
    expected = [expect(case) for case in cases]
    total = budget.require(expected)
    for case, one in zip(cases, expected, strict=True):
        say(f"{case.title}: about {one.seconds:,.0f} s, ${one.dollars:,.2f}")
    if not asked.confirm(f"It may cost up to ${total:,.2f}, of a budget of ${asked.budget_dollars:,.2f}. Go on?"):
        return None
    began, interrupted = _now(), False
    rows = [CaseRow(case.name, case.title) for case in cases]
    findings: list[Finding] = []
    left: list[str] = []
    started = False
    try:
        findings += examine_stack(stack)
        if not any(one.level is Severity.FAIL for one in findings):
            started = True
            runner = Runner(stack, place, DataSets(stack.client("s3"), place, sizes), budget, say)
            for case, row in zip(cases, rows, strict=True):
                runner.run(case, row)
    except KeyboardInterrupt:
        interrupted = True
    finally:
        if started:
            left += _remove(stack, place, say)
            budget.spent += budget.reserved
    about = {
        "id": place.test_id,
        "stack": stack.name,
        "region": region_of(stack),
        "bucket": place.bucket,
        "size": asked.size,
        "budget_dollars": asked.budget_dollars,
        "spent_dollars": round(budget.spent, 4),
        "began": began,
        "ended": _now(),
    }
    document = document_of(about, findings, rows, left, interrupted=interrupted)
    return document, write(document, asked.output)


def _remove(stack: Stack, place: SelftestPlace, say: Say) -> list[str]:
    """Remove everything; a second Ctrl-C breaks it off, and what it left is said."""
    again = f"fanout selftest --clean {place.test_id} --bucket {place.bucket} {stack.option}"
    say(f"removing what it made; if this is broken off: {again}")
    try:
        return remove_all(stack, place)
    except KeyboardInterrupt:
        return [f"the removal was broken off; go on with it: {again}"]


def clean(stack: Stack, place: SelftestPlace) -> list[str]:
    """Remove what an earlier self-test left; returns what is still there."""
    with human_errors():
        return remove_all(stack, place)


def region_of(stack: Stack) -> str:
    """The region of the state machine."""
    return stack.state_machine_arn.split(":")[3]


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
