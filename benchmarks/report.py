"""Rows from samples; the table and the plot of rows."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.engine_of_today import engine_of
from benchmarks.measure import Sample, Source

OURS = "fanout"
SCHEMA_VERSION = 2
Row = dict[str, Any]


def row(
    cell: Row, tool: str, workers: int, source: Source, samples: list[Sample], limits: tuple[float, float, str]
) -> Row:
    """The medians of a tool's samples; its rates count listing, partitioning and finishing, as a peer's do.

    ``limits`` are the least seconds of copying with what ours promises, those without, and what sets the former.
    """
    seconds = median(sample.seconds for sample in samples)
    around = median(sample.seconds_around for sample in samples)
    middle = min(samples, key=lambda sample: abs(sample.seconds - seconds))
    return {
        **cell,
        "tool": tool,
        "workers": workers,
        "engine": engine_of(),
        "measured": datetime.now(UTC).isoformat(timespec="minutes"),
        "files": source.files,
        "runs": len(samples),
        "seconds": round(seconds, 3),
        "seconds_list_partition_finish": round(around, 3),
        "files_per_s": round(source.files / (seconds + around), 4),
        "mb_per_s": round(source.bytes / (seconds + around) / 1e6, 2),
        "copying_files_per_s": round(source.files / seconds, 4),
        "ratio_to_limit": round(limits[0] / seconds, 3),
        "ratio_to_bare_limit": round(limits[1] / seconds, 3),
        "limited_by": limits[2],
        "slowest_to_fastest": round(max(s.seconds for s in samples) / min(s.seconds for s in samples), 2),
        "operations_per_file": {
            name: round(number / source.files, 2)
            for name, number in middle.operations.items()
            if number / source.files >= 0.005
        },
        "peak_rss_mb": round(max(sample.peak_rss_mb for sample in samples), 1),
    }


def add_ratios(rows: list[Row]) -> None:
    """Each row beside cp and the best peer of its cell, by files a second."""
    for one in rows:
        same = [other for other in rows if _cell(other) == _cell(one)]
        peers = [other["files_per_s"] for other in same if other["tool"] != OURS]
        cp = [other["files_per_s"] for other in same if other["tool"] == "cp"]
        one["ratio_to_cp"] = round(one["files_per_s"] / cp[0], 2) if cp else None
        one["ratio_to_best_peer"] = round(one["files_per_s"] / max(peers), 2) if peers else None


def _cell(one: Row) -> tuple[str, str, int]:
    return one["data_set"], one["calibration"], one["count"]


def read(directory: Path) -> list[Row]:
    """The rows of the results that are there; those of another schema do not count."""
    path = directory / "latest.json"
    found: Row = json.loads(path.read_text()) if path.exists() else {}
    return found["rows"] if found.get("schema_version") == SCHEMA_VERSION else []


def merged(before: list[Row], rows: list[Row]) -> list[Row]:
    """Rows of earlier pieces without the cells that were measured now, and those."""
    cells = {_cell(one) for one in rows}
    return [one for one in before if _cell(one) not in cells] + rows


def table(rows: list[Row]) -> str:
    """The rows as Markdown, a table a cell."""
    lines: list[str] = []
    for cell in dict.fromkeys(_cell(one) for one in rows):
        same = [one for one in rows if _cell(one) == cell]
        by = ", ".join(dict.fromkeys(one["limited_by"] for one in same))
        lines += ["", f"### {cell[0]} ({cell[2]:,}), {cell[1]}", "", f"The limit is set by: {by}.", ""]
        lines.append(
            "| tool | workers | files/s | MB/s | to cp | to best peer | copying alone | of its limit "
            "| operations a file | memory MB |"
        )
        lines.append("|---|---|---|---|---|---|---|---|---|---|")
        for one in sorted(same, key=lambda other: other["files_per_s"]):
            operations = ", ".join(f"{name} {number:g}" for name, number in one["operations_per_file"].items())
            name = f"**{one['tool']}**" if one["tool"] == OURS else one["tool"]
            lines.append(
                f"| {name} | {one['workers']} | {one['files_per_s']:,.0f} | {one['mb_per_s']:,.1f} "
                f"| {one['ratio_to_cp']} | {one['ratio_to_best_peer']} "
                f"| {one.get('copying_files_per_s', one['files_per_s']):,.0f} | {one['ratio_to_limit']:.0%} "
                f"| {operations} | {one['peak_rss_mb']:.0f} |"
            )
    return "\n".join(lines).lstrip() + "\n"


def write(directory: Path, about: Row, rows: list[Row]) -> None:
    """latest.json and latest.md; the plot where the library for it is installed."""
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "latest.json").write_text(json.dumps({**about, "rows": rows}, indent=1) + "\n")
    (directory / "latest.md").write_text(table(rows))
    try:
        from benchmarks.plots import plot
    except ImportError as error:
        print(f"no plot: {error}")
        return
    plot(rows, directory / "latest.svg")
