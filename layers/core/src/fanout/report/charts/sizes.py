"""The files that were listed, by size: shares of their number and of their bytes."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from fanout.books.summary_document import SizeBucket
from fanout.report.charts.axes import Tick, percent_of
from fanout.report.text import count, percent, size

# Buckets between two labels of the axis: ten doublings are a KiB, a MiB, a GiB.
_LABEL_EVERY = 10


class Column(Struct, frozen=True):
    """A bucket; all in percent, the heights of the whole drawing."""

    at: float
    width: float
    entries: float
    bytes: float
    text: str


class Histogram(Struct, frozen=True):
    """The columns, the axes, and the same as a table: size, files, share, bytes, share."""

    columns: list[Column]
    sizes: list[Tick]
    shares: list[Tick]
    rows: list[tuple[str, str, str, str, str]]


def histogram(rows: Sequence[SizeBucket]) -> Histogram | None:
    """The chart of ``sizes`` in summary.json, or none if no file was listed."""
    if not rows:
        return None
    first, last = rows[0].from_bytes.bit_length(), rows[-1].from_bytes.bit_length()
    if last - first < 5:  # one column alone would fill the page
        first, last = max(0, first - 2), last + 3
    width = 100 / (last - first + 1)
    entries, in_bytes = sum(row.entries for row in rows), sum(row.bytes for row in rows)
    shares = [(row.entries / entries, row.bytes / in_bytes if in_bytes else 0.0) for row in rows]
    top = max(max(pair) for pair in shares)
    columns, table = [], []
    for row, (of_entries, of_bytes) in zip(rows, shares, strict=True):
        name = "empty" if row.below_bytes == 1 else f"{size(row.from_bytes)} to {size(row.below_bytes)}"
        cells = (name, count(row.entries), percent(of_entries), size(row.bytes), percent(of_bytes))
        text = f"{name}: {cells[1]} files ({cells[2]}), {cells[3]} ({cells[4]})"
        at = (row.from_bytes.bit_length() - first) * width
        columns.append(
            Column(round(at, 2), round(width, 2), percent_of(of_entries, top), percent_of(of_bytes, top), text)
        )
        table.append(cells)
    ticks = [Tick(100.0, percent(top)), Tick(50.0, percent(top / 2))]
    return Histogram(columns, _size_ticks(first, last, width), ticks, table)


def _size_ticks(first: int, last: int, width: float) -> list[Tick]:
    """Labels at the powers of 1,024, or at both ends where none lies between."""
    bounds = [bucket for bucket in range(max(first, 1), last + 1) if (bucket - 1) % _LABEL_EVERY == 0]
    if len(bounds) < 2:
        bounds = [max(first, 1), last]
    return [Tick(round((bucket - first) * width, 2), size(1 << (bucket - 1)), "start") for bucket in bounds]
