"""The metrics of a whole run, from its summary.json."""

from __future__ import annotations

from msgspec.structs import asdict

from fanout.books.summary_document import Status, SummaryDocument
from fanout.forecast.document import ForecastDocument


def run_metrics(summary: SummaryDocument) -> dict[str, float]:
    """Each metric by its name, which ends in its unit where that is no count: ``Seconds``, or begins with ``Bytes``.

    ``Retries`` are the times that a task on a shard was begun again without having handed back its tail. Totals that
    are worth a graph in bytes have one; the others only in entries.
    """
    totals = summary.totals
    succeeded = summary.status is Status.SUCCEEDED
    again = sum(tasks.begun - tasks.shards_begun - tasks.handed_back for tasks in summary.tasks)
    return {
        "RunsSucceeded": int(succeeded),
        "RunsFailed": int(not succeeded),
        **{f"Entries{name.capitalize()}": count.entries for name, count in asdict(totals).items()},
        "BytesListed": totals.listed.bytes,
        "BytesCopied": totals.copied.bytes,
        "Failures": summary.failures,
        "Shards": summary.shards.count,
        "Retries": max(again, 0),
        **{f"{phase.capitalize()}Seconds": seconds for phase, seconds in summary.seconds.items()},
        "RunSeconds": sum(summary.seconds.values()),
        **_credits(summary.forecast),
    }


def _credits(forecast: ForecastDocument | None) -> dict[str, float]:
    """The fewest burst credits of a file system of the run when it was planned; nothing where they play no part."""
    file_systems = forecast.file_systems if forecast else []
    found = [one.credits.begin_bytes for one in file_systems if one.credits]
    return {"BytesOfCredits": min(found)} if found else {}
