"""A model of a run at scale: what listing and partitioning take, on paper; `docs/understand/limits.md` is made of it.

python -m benchmarks.scale        writes docs/understand/limits.md anew
"""

from __future__ import annotations

import json
import math
import textwrap
from dataclasses import dataclass
from pathlib import Path

from benchmarks import scale_phases as phases
from benchmarks.scale_phases import COPIED_PER_SECOND, FILES_A_DIRECTORY, HELD_ROW_BYTES, LEDGER_SECONDS, SHARD_SECONDS
from fanout.facts import aws, tuning
from fanout.facts.prices import prices_with
from fanout.facts.tuning import LIST_CONCURRENCY
from fanout.forecast.way import LISTED_PER_SECOND, walk_listing
from fanout.listing.index.earlier_index import ENTRIES_PER_FILE
from fanout.shards.tasks.attempt import NOTE_EVERY_SECONDS

DOCUMENT = Path(__file__).parents[1] / "docs/understand/limits.md"
MEASURED = Path(__file__).parent / "results" / "phases.json"
SIZES = (1_000_000, 10_000_000, 100_000_000, 1_000_000_000)

# A quota that is used up to this share is near.
NEAR = 0.2

FILE_BYTES = 100_000
COPYING_FUNCTIONS = phases.FUNCTIONS
FUNCTION_GB = 1.769
# As template.yaml sets it, less what the interpreter and the libraries take.
FUNCTION_MB = 1769 - 200  # template.yaml
# Events of one round: five each of a Map and a Task, two each of two Choices and a Pass, and some for retries.
EVENTS_A_ROUND = 20
EVENTS_AROUND = 100
# Bytes of a row: of an entry in a shard before compression, of a shard in shards.json and in a round's record.
SHARD_ROW_BYTES = 260
SEGMENT_ROW_BYTES = 400 + 2 * aws.KEY_BYTES
# Python objects of one entry of an index, bytes; measured with paths of 50 bytes: 485, and 600 while it is
# read. Two parts are held, one is made.
HELD_INDEX_BYTES = 1_000


@dataclass(frozen=True, slots=True)
class Walk:
    """The run of so many new entries, state by state."""

    entries: int
    rounds: int
    segments: int
    widest_round: int
    shards: int
    list_seconds: float
    copy_seconds: float
    events: int
    transitions: int
    invocations: int
    function_seconds: float
    list_requests: int
    ledger_puts: int
    ledger_gets: int
    shards_json_bytes: int
    widest_round_bytes: int
    gathered_bytes: int
    index_bytes: int
    partition_bytes: float
    gather_seconds: float
    partition_seconds: float
    deletion_seconds: float
    books_bytes: float
    summarise_seconds: float
    remove_seconds: float
    remove_bytes: float
    finish: phases.Finish

    @property
    def parts(self) -> dict[str, float]:
        """Seconds of the run's phases, one after the other."""
        return {
            "listing": self.list_seconds + self.rounds * self.gather_seconds,
            "partitioning": self.partition_seconds,
            "copying": self.copy_seconds,
            "finishing": self.finish.seconds,
            "summarising": self.summarise_seconds,
        }

    @property
    def seconds(self) -> float:
        """The whole run."""
        return sum(self.parts.values())

    @property
    def dollars(self) -> float:
        """Of Step Functions, Lambda and the requests of listing and ledger; not those of the data itself."""
        price = prices_with({})
        return (
            self.transitions * price["transition"]
            + self.invocations * price["lambda_request"]
            + self.function_seconds * FUNCTION_GB * price["lambda_gb_second"]
            + (self.list_requests + self.ledger_puts) * price["s3_put"]
            + self.ledger_gets * price["s3_get"]
        )


def walk(entries: int) -> Walk:
    """Walk the model: rounds by the budgets of segments, shards by their seconds."""
    listing = walk_listing(entries, LIST_CONCURRENCY)
    rounds, segments, widest = listing.rounds, listing.segments, listing.widest_round
    shards = max(1, math.ceil(entries / (COPIED_PER_SECOND * SHARD_SECONDS)))
    copy_function_seconds = entries / COPIED_PER_SECOND
    # Each child of a Map: its start, the Task, the Choice and the end; each round: seven states.
    transitions = 10 + 7 * rounds + 2 * segments + 4 * shards
    shard_files = shards + segments
    # Where an end is a bucket; each segment reads its parts of the last run's, and two that other ones read too.
    index_files = math.ceil(entries / ENTRIES_PER_FILE) + segments
    finish = phases.finish(entries, shards)
    notes = math.ceil((listing.function_seconds + copy_function_seconds) / NOTE_EVERY_SECONDS)
    return Walk(
        entries=entries,
        rounds=rounds,
        segments=segments,
        widest_round=widest,
        shards=shards,
        list_seconds=listing.seconds,
        copy_seconds=copy_function_seconds / min(COPYING_FUNCTIONS, shards),
        events=EVENTS_AROUND + EVENTS_A_ROUND * rounds + finish.events,
        transitions=transitions + finish.transitions,
        invocations=segments + shards + 2 * rounds + finish.rounds + 1 + finish.shards,
        function_seconds=listing.function_seconds + copy_function_seconds + 60 * rounds + finish.function_seconds,
        list_requests=math.ceil(entries / 1000) + segments * 20,
        ledger_puts=shard_files + 3 * segments + 8 * shards + index_files + 3 + notes,
        ledger_gets=3 * segments + 8 * shards + index_files + 4 * segments,
        shards_json_bytes=shards * SHARD_ROW_BYTES,
        widest_round_bytes=widest * SEGMENT_ROW_BYTES,
        gathered_bytes=math.ceil((shards + index_files) / rounds + 2 * widest) * HELD_ROW_BYTES,
        index_bytes=index_files * HELD_ROW_BYTES + 3 * ENTRIES_PER_FILE * HELD_INDEX_BYTES,
        partition_bytes=phases.partition_bytes(entries, shards, segments),
        gather_seconds=phases.gather_seconds(widest),
        partition_seconds=phases.partition_seconds(entries, rounds, segments),
        deletion_seconds=phases.deletion_seconds(entries, shards),
        books_bytes=phases.books_bytes(shards),
        summarise_seconds=phases.summarise_seconds(entries, shards),
        remove_seconds=phases.remove_seconds(entries),
        remove_bytes=phases.remove_bytes(shards),
        finish=finish,
    )


@dataclass(frozen=True, slots=True)
class Check:
    """Something that has a quota, as a run of a size needs it."""

    what: str
    needed: float
    quota: float

    @property
    def holds(self) -> bool:
        """Whether the quota is kept."""
        return self.needed <= self.quota


def checks(run: Walk) -> list[Check]:
    """Every quota that the walk meets."""
    per_second = max(run.ledger_gets / max(1.0, run.copy_seconds), LIST_CONCURRENCY / LEDGER_SECONDS)
    return [
        Check("events of the execution's history", run.events, aws.HISTORY_EVENTS),
        Check("items of the widest round's Map", run.widest_round, aws.MAP_ITEMS),
        Check("items of FinishShards", run.finish.shards, aws.MAP_ITEMS),
        Check("bytes of an item of FinishShards", run.finish.shard_bytes, aws.STATE_BYTES),
        Check("items of CopyShards", run.shards, aws.MAP_ITEMS),
        Check("bytes of the widest round's list", run.widest_round_bytes, aws.READER_BYTES),
        Check("bytes of shards.json", run.shards_json_bytes, aws.READER_BYTES),
        Check("bytes between states", tuning.SEGMENT_STATE_BYTES + 2048, aws.STATE_BYTES),
        Check("children at once", min(COPYING_FUNCTIONS, run.shards), aws.MAP_CONCURRENCY),
        Check("seconds of a ListSegment", tuning.SEGMENT_SECONDS, aws.FUNCTION_SECONDS),
        Check("seconds of GatherSegments", run.gather_seconds, aws.FUNCTION_SECONDS),
        Check("seconds of PartitionShards", run.partition_seconds, aws.FUNCTION_SECONDS),
        Check("seconds of FinishTree", run.finish.alone_seconds, aws.FUNCTION_SECONDS),
        Check("seconds of a FinishShard", run.finish.shard_seconds, aws.FUNCTION_SECONDS),
        Check("seconds of BeginDeletion", run.deletion_seconds, aws.FUNCTION_SECONDS),
        Check("seconds of SummariseTransfer", run.summarise_seconds, aws.FUNCTION_SECONDS),
        Check("MB that GatherSegments holds", run.gathered_bytes / 1e6, FUNCTION_MB),
        Check("MB of the index that ListSegment holds", run.index_bytes / 1e6, FUNCTION_MB),
        Check("MB that PartitionShards holds", run.partition_bytes / 1e6, FUNCTION_MB),
        Check("MB that FinishTree holds", run.finish.alone_bytes / 1e6, FUNCTION_MB),
        Check("MB that BeginDeletion and SummariseTransfer hold", run.books_bytes / 1e6, FUNCTION_MB),
        Check("MB that RemoveDirectories holds", run.remove_bytes / 1e6, FUNCTION_MB),
        Check("requests a second to the ledger and the lists", per_second, aws.S3_GET_PER_SECOND),
    ]


def document() -> str:
    """docs/understand/limits.md."""
    runs = [walk(size) for size in SIZES]
    rows = [
        ("shards, one function each", [f"{run.shards:,}" for run in runs]),
        ("minutes", [f"{run.seconds / 60:,.0f}" for run in runs]),
        ("hours that RemoveDirectories adds to a sync", [f"{run.remove_seconds / 3600:.2f}" for run in runs]),
        ("dollars, without the data's own requests and metering", [f"{run.dollars:,.2f}" for run in runs]),
    ]
    near = [one for one in checks(runs[-1]) if one.needed >= NEAR * one.quota]
    quotas = "\n".join(f"| {one.what} | {_mark(one)} | {one.quota:,.0f} |" for one in near)
    assumed = _filled(
        f"On paper, not measured on AWS. Every entry is new and copied by up to {COPYING_FUNCTIONS:,} functions. "
        f"A function lists and decides {LISTED_PER_SECOND:,} entries a second, {LIST_CONCURRENCY} at once; copies "
        f"{COPIED_PER_SECOND} files of {FILE_BYTES // 1000} KB a second; sets {tuning.DIRECTORIES_PER_SECOND:,} "
        f"directories or {tuning.LINKS_PER_SECOND} further names a second. A directory has {FILES_A_DIRECTORY} files, "
        f"{phases.LINKED_PERCENT} name in a hundred is a further one, a sync finds {phases.EXTRA_PERCENT} entry in a "
        f"hundred extra. Quotas and prices: {aws.DATE}."
    )
    measured = _filled(
        f"The model uses every other quota under {NEAR:.0%}. Measured on a synthetic tree and two cores, {_measured()}."
    )
    return f"""# Limits

{assumed}

{_table("entries", rows)}

The minutes leave out RemoveDirectories, for which only a sync that deletes waits: one task after another sets the times
of all directories that the run made again.

## Quotas

At {SIZES[-1]:,} entries:

| what | needed | quota |
|---|---|---|
{quotas}

{measured}

## A directory of very many names

A listing holds at most twice {tuning.NAMES_HELD:,} names of one directory. It reads a larger one again for each
{tuning.NAMES_HELD:,} names that a segment lists, and once as each segment begins.
"""


def _filled(text: str) -> str:
    return textwrap.fill(text, 120, break_on_hyphens=False, break_long_words=False)


def _measured() -> str:
    rows = json.loads(MEASURED.read_text(encoding="utf-8"))["rows"]
    errors = [row["error"] * 100 for row in rows]
    most = max(row["entries"] for row in rows)
    return f"up to {most:,} entries the model is {min(errors):+.0f}% to {max(errors):+.0f}% off"


def _mark(check: Check) -> str:
    shown = f"{check.needed:,.0f}" if check.needed >= 10 else f"{check.needed:,.1f}"
    return shown if check.holds else f"**{shown}: too much**"


def _table(title: str, rows: list[tuple[str, list[str]]]) -> str:
    head = [f"| {title} | " + " | ".join(f"{size:,}" for size in SIZES) + " |", "|---" * (len(SIZES) + 1) + "|"]
    return "\n".join(head + [f"| {name} | " + " | ".join(values) + " |" for name, values in rows])


def main() -> None:
    """Write the page."""
    DOCUMENT.write_text(document(), encoding="utf-8")


if __name__ == "__main__":
    main()
