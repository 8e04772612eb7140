"""The figures of a run: bytes, seconds, rate, cost, and failures by class with their remedies."""

from __future__ import annotations

from collections.abc import Iterator

from fanout.report.text import dollars, duration, size
from fanout_cli.runs.results import RunResult


def figures(result: RunResult) -> Iterator[str]:
    """The lines, those alone of which something is known."""
    copied = result.totals["copied"]
    parts = [size(copied["bytes"])] if copied["entries"] else []
    seconds = result.run_seconds if result.mode else 0.0
    if seconds:
        parts.append(f"in {duration(seconds)}")
    if copied["bytes"] and result.seconds.get("copy"):
        parts.append(f"{size(copied['bytes'] / result.seconds['copy'])}/s while copying")
    if result.dollars is not None:
        money = dollars(result.dollars)
        parts.append(money if money.startswith("<") else f"about {money}")
    if parts:
        yield ", ".join(parts)
    for one in result.classes:
        remedy = f": {one.remedy}" if one.remedy else ""
        yield f"  {one.entries:,} {one.outcome.value}, {one.reason or 'no reason given'}{remedy}"
