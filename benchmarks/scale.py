"""A model of a run at scale: what listing and partitioning take, on paper; `docs/understand/limits.md` is made of it.

python -m benchmarks.scale        writes docs/understand/limits.md anew
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

from fanout.books.run_books import SHARDS_AT_ONCE
from fanout.facts import aws, tuning
from fanout.facts.prices import prices_with
from fanout.facts.tuning import LIST_CONCURRENCY
from fanout.forecast.listing import LISTED_PER_SECOND, walk_listing
from fanout.listing.index.index_writer import ENTRIES_PER_FILE
from fanout.partition.partition_shards import LOOSE_ENDS_READ
from fanout.shards.attempt import NOTE_EVERY_SECONDS

DOCUMENT = Path(__file__).parents[1] / "docs/understand/limits.md"
SIZES = (1_000_000, 10_000_000, 100_000_000, 1_000_000_000)

# Assumed: files of 100 KB that one function copies a second, each with one GET and, to S3, one PUT.
COPIED_PER_SECOND = 300
FILE_BYTES = 100_000
COPYING_FUNCTIONS = 1_000
SHARD_SECONDS = 60
FUNCTION_GB = 1.769
# As template.yaml sets it, less what the interpreter and the libraries take.
FUNCTION_MB = 1769 - 200  # template.yaml
# Events of one round: five each of a Map and a Task, two each of two Choices and a Pass, and some for retries.
EVENTS_A_ROUND = 20
EVENTS_AROUND = 100
# Bytes of a row: of an entry in a shard before compression, of a shard in shards.json and in a round's record.
SHARD_ROW_BYTES = 260
SEGMENT_ROW_BYTES = 400 + 2 * aws.KEY_BYTES
# Assumed: one request to the ledger, seconds; and reading an entry of a loose end back into a shard.
LEDGER_SECONDS = 0.02
REPACK_SECONDS = 0.00005
# Assumed: files of a directory, shards that write into one, directories that FinishTree sets a second; names in a
# hundred that are further ones of a file, and how many of them are linked a second; a row of the ledger read, seconds.
FILES_A_DIRECTORY = 100
SHARDS_A_DIRECTORY = 2
FINISHED_PER_SECOND = 1_000
LINKED_PERCENT = 1
LINKED_PER_SECOND = 500
ROW_SECONDS = 0.00001
# Events and states of one FinishTree: five and one of the Task, two and one of the Choice after it.
EVENTS_A_FINISH = 7
STATES_A_FINISH = 2
# Python objects of one entry of an index, bytes; measured with paths of 50 bytes: 485, and 600 while it is
# read. Two parts are held, one is made.
HELD_INDEX_BYTES = 1_000
# Python objects of one shard's or segment's row when a function holds it, bytes; assumed: 1.2 KB.
HELD_ROW_BYTES = 1_500


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
    partition_bytes: int
    gather_seconds: float
    partition_seconds: float
    summarise_seconds: float
    finish_tasks: int
    finish_seconds: float
    finish_last_seconds: float

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
    finish = _finish(entries, shards)
    notes = math.ceil((listing.function_seconds + copy_function_seconds) / NOTE_EVERY_SECONDS)
    return Walk(
        entries=entries,
        rounds=rounds,
        segments=segments,
        widest_round=widest,
        shards=shards,
        list_seconds=listing.seconds,
        copy_seconds=copy_function_seconds / min(COPYING_FUNCTIONS, shards),
        events=EVENTS_AROUND + EVENTS_A_ROUND * rounds + EVENTS_A_FINISH * finish.tasks,
        transitions=transitions + STATES_A_FINISH * finish.tasks,
        invocations=segments + shards + 2 * rounds + finish.tasks,
        function_seconds=listing.function_seconds + copy_function_seconds + 60 * rounds + finish.seconds,
        list_requests=math.ceil(entries / 1000) + segments * 20,
        ledger_puts=shard_files + 3 * segments + 8 * shards + index_files + 3 + notes,
        ledger_gets=3 * segments + 8 * shards + index_files + 4 * segments,
        shards_json_bytes=shards * SHARD_ROW_BYTES,
        widest_round_bytes=widest * SEGMENT_ROW_BYTES,
        gathered_bytes=math.ceil((shards + index_files) / rounds + 2 * widest) * HELD_ROW_BYTES,
        index_bytes=index_files * HELD_ROW_BYTES + 3 * ENTRIES_PER_FILE * HELD_INDEX_BYTES,
        partition_bytes=(shards + segments) * HELD_ROW_BYTES,
        gather_seconds=widest * LEDGER_SECONDS,
        partition_seconds=rounds * LEDGER_SECONDS + _loose_entries(segments) * REPACK_SECONDS,
        summarise_seconds=shards * 4 * LEDGER_SECONDS / SHARDS_AT_ONCE,
        finish_tasks=finish.tasks,
        finish_seconds=finish.seconds,
        finish_last_seconds=finish.last_seconds,
    )


@dataclass(frozen=True, slots=True)
class Finish:
    """FinishTree, task after task; ``last_seconds`` is what one task does that cannot be divided."""

    tasks: int
    seconds: float
    last_seconds: float


def _finish(entries: int, shards: int) -> Finish:
    """Further names are linked, then directories set; each task reads again what is linked, and the last one all
    directories, for those that are set last."""
    directories = entries / FILES_A_DIRECTORY * SHARDS_A_DIRECTORY
    names = entries * LINKED_PERCENT / 100
    reading = shards * LEDGER_SECONDS / tuning.LEDGER_FILES_AHEAD + directories * ROW_SECONDS
    again = names * ROW_SECONDS
    work = names / LINKED_PER_SECOND + directories / FINISHED_PER_SECOND + 2 * reading
    task = aws.FUNCTION_SECONDS - tuning.DEADLINE_RESERVE_SECONDS
    tasks = math.ceil(work / (task - again))
    return Finish(tasks, work + tasks * again, again + reading)


def _loose_entries(segments: int) -> float:
    """Entries of loose ends that are read again: all of few, half a shard each; of many those below a quarter."""
    shard = COPIED_PER_SECOND * SHARD_SECONDS
    return segments * shard / 2 if segments <= LOOSE_ENDS_READ else segments / 4 * shard / 8


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
        Check("items of CopyShards", run.shards, aws.MAP_ITEMS),
        Check("bytes of the widest round's list", run.widest_round_bytes, aws.READER_BYTES),
        Check("bytes of shards.json", run.shards_json_bytes, aws.READER_BYTES),
        Check("bytes between states", tuning.SEGMENT_STATE_BYTES + 2048, aws.STATE_BYTES),
        Check("children at once", min(COPYING_FUNCTIONS, run.shards), aws.MAP_CONCURRENCY),
        Check("seconds of a ListSegment", tuning.SEGMENT_SECONDS, aws.FUNCTION_SECONDS),
        Check("seconds of GatherSegments", run.gather_seconds, aws.FUNCTION_SECONDS),
        Check("seconds of PartitionShards", run.partition_seconds, aws.FUNCTION_SECONDS),
        Check("seconds of SummariseTransfer", run.summarise_seconds, aws.FUNCTION_SECONDS),
        Check("seconds of FinishTree's last pass", run.finish_last_seconds, aws.FUNCTION_SECONDS),
        Check("MB that GatherSegments holds", run.gathered_bytes / 1e6, FUNCTION_MB),
        Check("MB of the index that ListSegment holds", run.index_bytes / 1e6, FUNCTION_MB),
        Check("MB that PartitionShards holds", run.partition_bytes / 1e6, FUNCTION_MB),
        Check("requests a second to the ledger and the lists", per_second, aws.S3_GET_PER_SECOND),
    ]


def document() -> str:
    """docs/understand/limits.md."""
    runs = [walk(size) for size in SIZES]
    rows = [
        ("rounds of the listing", [f"{run.rounds:,}" for run in runs]),
        ("segments, one function each", [f"{run.segments:,}" for run in runs]),
        ("segments of the widest round", [f"{run.widest_round:,}" for run in runs]),
        ("shards, one function each", [f"{run.shards:,}" for run in runs]),
        ("state transitions", [f"{run.transitions:,}" for run in runs]),
        ("LIST requests at one end", [f"{run.list_requests:,}" for run in runs]),
        ("ledger: PUT, GET", [f"{run.ledger_puts:,}, {run.ledger_gets:,}" for run in runs]),
        ("hours of listing", [f"{run.list_seconds / 3600:.2f}" for run in runs]),
        (f"hours of copying with {COPYING_FUNCTIONS:,} functions", [f"{run.copy_seconds / 3600:.2f}" for run in runs]),
        ("FinishTree, tasks one after the other", [f"{run.finish_tasks:,}" for run in runs]),
        ("hours of finishing", [f"{run.finish_seconds / 3600:.2f}" for run in runs]),
        ("dollars, without the data's own requests and metering", [f"{run.dollars:,.2f}" for run in runs]),
    ]
    quotas = [
        (f"{found[0].what} (quota {found[0].quota:,.0f})", [_mark(one) for one in found])
        for found in zip(*(checks(run) for run in runs), strict=True)
    ]
    return f"""# Limits

What a run of up to a billion entries takes, and every quota that it keeps: on paper. Nothing of it is measured on AWS.
`python -m benchmarks.scale` writes this page from a model that walks the states. A test fails where the page is not
what the model says, or a quota is not kept.

| assumed | value |
|---|---|
| a function lists, decides and writes | {LISTED_PER_SECOND:,} entries a second |
| functions that list at once | {LIST_CONCURRENCY} |
| a function copies | {COPIED_PER_SECOND} files of {FILE_BYTES // 1000} KB a second |
| a shard takes | {SHARD_SECONDS} s |
| a request to the ledger takes | {LEDGER_SECONDS * 1000:.0f} ms |
| a directory has | {FILES_A_DIRECTORY} files, which {SHARDS_A_DIRECTORY} shards write |
| FinishTree sets | {FINISHED_PER_SECOND:,} directories a second |
| further names of a file | {LINKED_PERCENT} name in a hundred; {LINKED_PER_SECOND} are linked a second |

Every entry is new and copied. Segments are cut evenly. Quotas and prices were read in {aws.DATE}; the other constants
are the product's own (`fanout.facts`). FinishTree is one function after the other: beyond some ten million entries a
run waits longer for it than for the copying.

## What a run takes

{_table("entries", rows)}

## Quotas

{_table("entries", quotas)}

`fanout.facts.tuning` and `fanout.facts.aws` set them, the latter with their pages. FinishTree's last pass reads all
directories again, for those that their owner could not pass afterwards. One task does it by itself; where the time of
a task is used up, the pass begins in a new one.

## A directory of very many names

A file system hands out names in no order, and a listing needs them in order. A listing holds at most twice
{tuning.NAMES_HELD:,} names of one directory at once. It reads a larger directory again for each
{tuning.NAMES_HELD:,} names that a segment lists of it, and each segment of it begins with reading all its names.
"""


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
