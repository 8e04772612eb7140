"""The findings of doctor for people."""

from __future__ import annotations

from rich.console import Console

from fanout.ports.finding import Finding, Level

STYLES = {Level.OK: "green", Level.WARN: "yellow", Level.FAIL: "red"}


def verdict(found: list[Finding]) -> str:
    """All findings in one line."""
    failed, warned = (sum(one.level is level for one in found) for level in (Level.FAIL, Level.WARN))
    if not failed and not warned:
        return f"all {len(found)} checks passed"
    return f"{len(found)} checks: {failed} failed, {warned} with a warning"


def show(console: Console, finding: Finding) -> None:
    """Print a finding, and its remedy below it."""
    console.print(f"{finding.level.value:<5}", style=STYLES[finding.level], end="")
    console.print(f"{finding.name}: {finding.what}", markup=False, highlight=False, soft_wrap=True)
    if finding.remedy:
        console.print(f"     {finding.remedy}", markup=False, highlight=False, soft_wrap=True)
