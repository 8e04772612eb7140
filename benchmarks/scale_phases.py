"""The model of a run at scale, continued: finishing, and what one function does alone."""

from __future__ import annotations

import math
from dataclasses import dataclass

from fanout.books.run_books import FAILURES_KEPT, SHARDS_AT_ONCE
from fanout.facts import aws, tuning
from fanout.finishing.link_names import NAMES_PER_FILE
from fanout.partition.partition_shards import LOOSE_ENDS_READ
from fanout.shards.packing import target_seconds

# Assumed: files of 100 KB that one function copies a second, each with one GET and, to S3, one PUT.
COPIED_PER_SECOND = 300
FUNCTIONS = 1_000
SHARD_SECONDS = 60
# Assumed: one request to the ledger, and one for a thousand of its keys, seconds; what a request costs the processor.
# Measured here: an entry of a loose end read back into a shard (8 us); a row of the ledger read; a name read, spilled,
# read again, grouped and written (11 us).
LEDGER_SECONDS = 0.02
LIST_SECONDS = 0.1
REQUEST_CPU_SECONDS = 0.0004
REPACK_SECONDS = 0.000008
ROW_SECONDS = 0.00001
NAME_SECONDS = 0.000015
# Requests of a phase beside those that grow, one after the other; and making report.html (benchmarks/phases.py).
GATHER_REQUESTS, PARTITION_REQUESTS, DELETION_REQUESTS, SUMMARY_REQUESTS = 3, 12, 15, 38
REPORT_SECONDS = 0.4
# Assumed: files of a directory; names in a hundred that are further ones of a file; extra entries in a hundred of a
# sync, and extra directories that RemoveDirectories removes a second.
FILES_A_DIRECTORY = 100
LINKED_PERCENT = 1
EXTRA_PERCENT = 1
REMOVED_PER_SECOND = 1_000
# Assumed: what a round of FinishShards takes beside its shards: the Map, cold functions, FinishTree again.
FINISH_ROUND_SECONDS = 10.0
# Files of outcomes of a shard: one every ``CHECKPOINT_SECONDS``.
FILES_A_SHARD = SHARD_SECONDS / tuning.CHECKPOINT_SECONDS
# Events and states of one FinishTree: five and one of the Task, two and one of the Choice after it; and of a Map.
EVENTS_A_FINISH, STATES_A_FINISH = 7, 2
EVENTS_A_MAP, STATES_A_MAP = 6, 1
STATES_A_SHARD = 4
# Python objects, bytes; assumed: of a shard's or segment's row, of a listed file of directories, of a kept failure.
HELD_ROW_BYTES = 1_500
HELD_FILE_BYTES = 600
HELD_FAILURE_BYTES = 1_500


@dataclass(frozen=True, slots=True)
class Finish:
    """FinishTree and its rounds of FinishShards; ``alone_seconds`` are those of the longest FinishTree."""

    rounds: int
    shards: int
    seconds: float
    function_seconds: float
    alone_seconds: float
    alone_bytes: float
    shard_seconds: float
    shard_bytes: int

    @property
    def events(self) -> int:
        """Of the execution's history."""
        return EVENTS_A_FINISH * (self.rounds + 1) + EVENTS_A_MAP * self.rounds

    @property
    def transitions(self) -> int:
        """Of the execution and of its children."""
        return STATES_A_FINISH * (self.rounds + 1) + STATES_A_MAP * self.rounds + STATES_A_SHARD * self.shards


def finish(entries: int, shards: int) -> Finish:
    """Names are linked, then directories set, each in a round of its own unless one function does all.

    A directory stands in one file, that of the shard which made it. FinishTree lists the ledger before each round.
    """
    directories, names = entries / FILES_A_DIRECTORY, further_names(entries)
    files = shards * FILES_A_SHARD
    listing = 3 * files / aws.LIST_PAGE_KEYS * LIST_SECONDS
    linking, setting = names / tuning.LINKS_PER_SECOND, directories / tuning.DIRECTORIES_PER_SECOND
    if linking + setting <= tuning.FINISH_ALONE_SECONDS:
        alone = listing + linking + setting + directories * ROW_SECONDS
        return Finish(0, 0, alone, alone, alone, files * HELD_FILE_BYTES, 0.0, 0)
    seconds = used = longest = alone = 0.0
    count = most_files = 0
    # What a shard reads beside its own rows: for links the shard of links and the outcomes of the first names.
    again = 4 * LEDGER_SECONDS + 2 * tuning.SHARD_ENTRIES * ROW_SECONDS
    for work, reads in ((linking, again), (setting, files * LEDGER_SECONDS / tuning.LEDGER_FILES_AHEAD)):
        target = target_seconds(work, FUNCTIONS, tuning.FINISH_SECONDS)
        parts = math.ceil(work / target)
        reading = reads if work == linking else reads / parts + directories * ROW_SECONDS / parts
        waves = math.ceil(parts / FUNCTIONS)
        planning = listing + parts * LEDGER_SECONDS / tuning.LEDGER_FILES_AHEAD
        started = parts / aws.MAP_CHILDREN_PER_SECOND
        seconds += FINISH_ROUND_SECONDS + planning + max(waves * (target + reading), started + target + reading)
        used += work + parts * reading + planning
        longest, alone = max(longest, target + reading), max(alone, planning)
        count, most_files = count + parts, max(most_files, math.ceil(files / parts))
    held = files * HELD_FILE_BYTES + count * HELD_ROW_BYTES
    return Finish(2, count, seconds, used, alone, held, longest, most_files * 110)


def further_names(entries: int) -> float:
    """Names of files beside their first ones."""
    return entries * LINKED_PERCENT / 100


def gather_seconds(widest: int) -> float:
    """The records of a round are read one after the other."""
    return (GATHER_REQUESTS + widest) * LEDGER_SECONDS


def partition_seconds(
    entries: int, rounds: int, segments: int, shard_entries: float = COPIED_PER_SECOND * SHARD_SECONDS
) -> float:
    """Loose ends are packed again; names of files with several are grouped by way of the ledger, and written.

    A segment's loose end is read once, its names twice: for their files, and for the directories among them.
    """
    names = 2 * further_names(entries)
    buckets = math.ceil(names / tuning.LINKED_NAMES)
    spilled = 2 * buckets**2 * LEDGER_SECONDS / tuning.LEDGER_FILES_AHEAD if buckets > 1 else 0.0
    loose = _loose_entries(segments)
    written = loose / shard_entries + 2 * names / tuning.SHARD_ENTRIES
    requests = PARTITION_REQUESTS + rounds + 3 * segments + written
    return requests * LEDGER_SECONDS + loose * REPACK_SECONDS + names * NAME_SECONDS + spilled


def partition_bytes(entries: int, shards: int, segments: int) -> float:
    """Rows of shards, and twice the names that are grouped at once."""
    names = min(2 * further_names(entries), 2 * tuning.LINKED_NAMES)
    return (shards + segments + names) * HELD_ROW_BYTES


def _loose_entries(segments: int) -> float:
    """Entries of loose ends that are read again: all of few, half a shard each; of many those below a quarter."""
    shard = COPIED_PER_SECOND * SHARD_SECONDS
    return segments * shard / 2 if segments <= LOOSE_ENDS_READ else segments / 4 * shard / 8


def books_seconds(entries: int, shards: int) -> float:
    """What BeginDeletion and SummariseTransfer take to add up: four requests a shard, two a file of linked names."""
    names = 2 * further_names(entries) / NAMES_PER_FILE
    return (4 * shards + 2 * names) * (LEDGER_SECONDS / SHARDS_AT_ONCE + REQUEST_CPU_SECONDS)


def deletion_seconds(entries: int, shards: int) -> float:
    """What BeginDeletion takes where few entries are extra."""
    return DELETION_REQUESTS * LEDGER_SECONDS + books_seconds(entries, shards)


def summarise_seconds(entries: int, shards: int) -> float:
    """The books, the records of attempts, which are keys alone, and the report."""
    attempts = 2 * shards / aws.LIST_PAGE_KEYS * LIST_SECONDS
    return SUMMARY_REQUESTS * LEDGER_SECONDS + books_seconds(entries, shards) + attempts + REPORT_SECONDS


def books_bytes(shards: int) -> float:
    """What the books hold at most."""
    return shards * HELD_ROW_BYTES + FAILURES_KEPT * HELD_FAILURE_BYTES


def remove_seconds(entries: int) -> float:
    """RemoveDirectories of a sync, task after task: extra directories, then the times of all that the run made."""
    extra = entries * EXTRA_PERCENT / 100 / FILES_A_DIRECTORY
    directories = entries / FILES_A_DIRECTORY
    return extra / REMOVED_PER_SECOND + directories / tuning.DIRECTORIES_PER_SECOND + 2 * directories * ROW_SECONDS


def remove_bytes(shards: int) -> float:
    """What RemoveDirectories holds at most: names of files of directories, and the rows of one shard of deletions."""
    return shards * FILES_A_SHARD * HELD_FILE_BYTES + tuning.SHARD_ENTRIES * HELD_ROW_BYTES
