"""The metrics of a whole run, from its summary.json."""

from __future__ import annotations

from fanout.model.document import Json

# Totals that are worth a graph in bytes; the others only in entries.
BYTES_OF = ("listed", "copied")


def run_metrics(summary: Json) -> dict[str, float]:
    """Each metric by its name, which ends in its unit where that is no count: ``Seconds``, or begins with ``Bytes``.

    ``Retries`` are the times that a task on a shard was begun again without having handed back its tail.
    """
    totals = summary["totals"]
    succeeded = summary["status"] == "SUCCEEDED"
    tasks = summary["tasks"]
    again = sum(row["begun"] - row["shards_begun"] - row["handed_back"] for row in tasks)
    return {
        "RunsSucceeded": int(succeeded),
        "RunsFailed": int(not succeeded),
        **{f"Entries{name.capitalize()}": count["entries"] for name, count in totals.items()},
        **{f"Bytes{name.capitalize()}": totals[name]["bytes"] for name in BYTES_OF},
        "Failures": summary["failures"],
        "Shards": summary["shards"]["count"],
        "Retries": max(again, 0),
        **{f"{phase.capitalize()}Seconds": seconds for phase, seconds in summary["seconds"].items()},
        "RunSeconds": sum(summary["seconds"].values()),
        **_credits(summary.get("forecast")),
    }


def _credits(forecast: Json | None) -> dict[str, float]:
    """The fewest burst credits of a file system of the run when it was planned; nothing where they play no part."""
    file_systems = forecast["file_systems"] if forecast else []
    found = [one["credits"]["begin_bytes"] for one in file_systems if one["credits"]]
    return {"BytesOfCredits": min(found)} if found else {}
