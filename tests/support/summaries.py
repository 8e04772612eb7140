"""A summary.json without a run."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from fanout.books.summary_document import Status, SummaryDocument, totals_of
from fanout.model.books import Books
from fanout.request.course import Mode

_EMPTY = SummaryDocument(
    run_id="run-1",
    status=Status.SUCCEEDED,
    mode=Mode.COPY,
    began="2026-11-21T12:00:00Z",
    ended="2026-11-21T12:00:00Z",
    source="s3://a-bucket/tree/",
    destination="efs:///copy",
    totals=totals_of(Books()),
    seconds={},
)


def summary_of(**fields: Any) -> SummaryDocument:
    """One of a run that did nothing, but for these fields."""
    return replace(_EMPTY, **fields)
