"""The figures of a run: bytes, seconds, rate, cost, and failures by class with their remedies."""

from __future__ import annotations

from collections.abc import Iterator

from fanout.books.summary_document import Published
from fanout.report.text import dollars, duration, size, visible
from fanout_cli.runs.failed_paths import lines_of
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
        where = " on AWS" if result.is_local else ""
        parts.append(f"{money if money.startswith('<') else f'about {money}'}{where}")
    if parts:
        yield ", ".join(parts)
    if result.published is not None:
        yield published(result.published)
    for one in result.classes:
        remedy = f": {one.remedy}" if one.remedy else ""
        yield f"  {one.entries:,} {one.outcome.value}, {one.reason or 'no reason given'}{remedy}"
        yield from lines_of(one, result.failed_paths)


def published(one: Published) -> str:
    """The link, the version that it names now, and how much of that was linked and not copied."""
    before = f", before {one.before}" if one.before else ""
    linked = f"; {one.linked.entries:,} files ({size(one.linked.bytes)}) shared with it" if one.linked.entries else ""
    removed = f"; removed: {', '.join(one.removed)}" if one.removed else ""
    return f"published: {visible(one.link)} -> {one.version}{before}{linked}{removed}"
