"""Where the parts of a run's ledger lie in the work bucket, below ``runs/<run id>/``."""

from __future__ import annotations

import os
from hashlib import sha256
from string import Formatter

REQUEST = "request.json"
PLAN = "plan.json"
SHARDS = "shards.json"
LINKS = "links.json"
FORECAST = "forecast.json"
SPENDING = "spending.json"
INDEX = "index.json"
EARLIER = "earlier.json"
CLOCKS = "clocks.json"
FILE_SYSTEMS = "file-systems.json"
LIMITS = "limits.json"
WORKERS = "workers/"
PACING = "pacing/"
# Not plan.json: what may write it can then be denied the plan of a run.
PACING_PLAN = "pacing/begun.json"
FINISH = "pacing/finish.json"
PACED_RATE = "pacing/rate.json"
COPIED = "pacing/copied.json"
DECISIONS = "pacing/decisions-"
THROTTLED = "throttled/"
SUMMARY = "summary.json"
PLANNED = "planned.jsonl"
FAILURES = "failures.jsonl"
REPORT = "report.html"
VERIFICATION = "verification/"
BIG_FILES = "big-files.json"
BIG_FILES_BEGUN = "big-files/"
OUTCOMES = "outcomes/shards/"
SHARD_FILES = "shards/"
LISTED_NAMES = "links/listed/"
DIRECTORIES = "directories/"
BIG_FILE_OUTCOMES = "outcomes/big-files/"
DIRECTORIES_SET = "directories/set.json"
DIRECTORIES_MENDED = "directories/mended.json"
DIRECTORY_FAILURES = "directories/failures/"
PLACED = "finishing/placed/"
FINISH_ROUNDS = "finishing/round-"
CERTIFICATE = "certificate.json"
OWNERS = "owners.json"
# Marks: earlier writers can write no more; all is in place; nothing is staged, and the run can write no more.
FENCED = "fencing/fenced.json"
FINISHED = "fencing/finished.json"
WITHDRAWN = "fencing/withdrawn.json"
# The directory that the run stages in.
STAGED = "fencing/staged.json"
# The same at the source of a move.
SOURCE_FENCED = "fencing/source-fenced.json"
SOURCE_FINISHED = "fencing/source-finished.json"
SOURCE_WITHDRAWN = "fencing/source-withdrawn.json"
SOURCE_STAGED = "fencing/source-staged.json"
# The version that is published when a run begins, and what the run published.
PUBLISH = "publish"
VERSION_BEFORE = "version-before.json"
PUBLISHED = "published.json"
# When, by the file system's clock, a run that published had made its last change there.
SEALED = "version-sealed.json"
# Ends the name of a record of RecordShardFailure, which holds failures alone.
FAILED = "-failed"
ENTRIES = "entries/"
# The copies in a version as the run made them, for the run that links it.
MADE = "made/"
DELETIONS = "deletions.json"
DELETED_DIRECTORIES = "deleted-directories.json"
EARLIER_PROOFS = "deletions/earlier-proofs.json"
SOURCE_ROOT = "source-root.json"
SEGMENTS_DONE = "segments/done/"
DESTINATION_ROOT = "destination-root.json"
SEGMENTS_FAILED = "segments/failed/"
CARRIED = "segments/carried-"
# For people who watch: how far tasks are, and whom a run waits for. No state reads them.
PROGRESS = "progress/"
WAITING = "waiting.json"
NOTES = "notes/"

# What operators and the pacing write into a ledger that is sealed; it changes how fast a run is, and nothing else.
UNSEALED = (LIMITS, PACING, THROTTLED, WORKERS, PROGRESS, WAITING)


def page_key(key: str, page: int) -> str:
    """The page of a list that a Map reads; page 0 is the list itself."""
    return f"{key}-{page:04d}" if page else key


class Key:
    """The key of a part, by what it is of: its parts in their order, as ``segment_id`` and ``number``."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._parts = [name for _, name, _, _ in Formatter().parse(text) if name]

    def __call__(self, *parts: str | int) -> str:
        return self._text.format(**dict(zip(self._parts, parts, strict=True)))


# The segments of a round: what ListTree reads.
round_key = Key("segments/round-{number:04d}.json")
# A round's listing results and the shards that it wrote.
round_done_key = Key("segments/round-{number:04d}-done.json")
# The record of a segment that has been listed.
segment_key = Key(SEGMENTS_DONE + "{segment_id}.json")
# The last error of a segment that could not be listed.
segment_failed_key = Key(SEGMENTS_FAILED + "{segment_id}.json")
# The entries of a shard.
shard_key = Key(SHARD_FILES + "{shard_id}.jsonl.gz")
# Outcomes of entries that need no copy.
listed_outcomes_key = Key("outcomes/listed/{segment_id}-{nonce}-{number:04d}.jsonl.gz")
# A part of the index of what a run leaves at both ends.
index_part_key = Key("index/{segment_id}-{nonce}-{number:04d}.jsonl.gz")
# Entries that the request asks to report, of one file of a phase. No state reads them.
entries_key = Key(ENTRIES + "{phase}-{name}.json.gz")
# All outcomes of a shard.
outcomes_prefix = Key(OUTCOMES + "{shard_id}/")
# The name of the outcomes of verifying a shard, next to those of copying it.
verified_id = Key("verified-{shard_id}")
# The name of the checksums of a shard's blocks at the source, in a run that only compares.
source_id = Key("source-{shard_id}")
# The name of the checksums of a shard's entries at the destination, next to those of the source.
destination_id = Key("destination-{shard_id}")
# The name of the receipts of staging a part of a big file, next to those of writing it.
packed_id = Key("packed-{shard_id}")
# Checksums of a shard's entries at the source, for the function that sees the destination.
source_checksums_prefix = Key("checksums/{shard_id}/")
# A big file that a segment began, whether the run counts it or not.
big_file_key = Key(BIG_FILES_BEGUN + "{big_file_id}.json")
# Outcomes of the big files that one FinishTree or FinishShard settled.
big_file_outcomes_key = Key(BIG_FILE_OUTCOMES + "{name}.jsonl.gz")
# The attributes at one end of a big file that is only compared.
seen_key = Key("seen/{big_file_id}-{end}.json")
# The answer of the store at one end about a big file that is only compared.
stored_key = Key("seen/{big_file_id}-{end}-told.json")
# The look at the tags of a big object that a move would delete.
tags_key = Key("seen/{big_file_id}-tags.json")
# Attributes of the directories that a shard made.
directories_key = Key("directories/{shard_id}-{nonce}-{number:04d}.jsonl.gz")
# Directories above the entries of a segment that are no entries themselves; sorts after those of entries.
parents_key = Key("directories/parents-{segment_id}-{nonce}-{number:04d}.jsonl.gz")
# The key of directories carried over from an earlier run; sorts before those of shards, which are newer.
carried_directories_key = Key("directories/0000-{segment_id}-{nonce}-{number:04d}.jsonl.gz")
# Where big files and further names were put.
placed_key = Key(PLACED + "{name}-{number:04d}.jsonl.gz")
# Directories whose attributes one FinishTree or FinishShard could not set.
directory_failures_key = Key(DIRECTORY_FAILURES + "{name}.jsonl")
# Directories of one depth that their owner cannot pass, which a later round sets.
closed_directories_key = Key("finishing/closed/{shard_id}-{nonce}-{number:04d}-{depth:04d}.jsonl.gz")
# The shards of a round of finishing: what FinishShards reads.
finish_round_key = Key(FINISH_ROUNDS + "{number:04d}.json")
# How far a FinishShard came, and whether it is done.
finish_progress_key = Key("finishing/stands/{shard_id}.json")
# Parts of an earlier run that one segment takes over.
carried_key = Key(CARRIED + "{number:06d}.json")
# Entries that only the destination holds.
extras_key = Key("outcomes/extras/{segment_id}-{nonce}.jsonl.gz")
# Entries that a sync is to delete, as the destination's listing showed them.
deletion_key = Key("deletions/{shard_id}.jsonl.gz")
# Which extras of a shard were looked for at the source, for the function that sees the destination.
source_looks_key = Key("deletions/looks/{shard_id}.json")
# Listed names of files that have several hard links.
listed_names_key = Key(LISTED_NAMES + "{segment_id}-{nonce}-{number:04d}.jsonl.gz")
# The same names, brought together by file.
spilled_names_key = Key("links/{where}/{bucket:05d}-{nonce}-{number:04d}.jsonl.gz")
# The files with a segment's entries at a destination that the listing function does not see.
destination_listing_key = Key("listed/{segment_id}.json")
# Entries of a segment at the destination: those that were listed, or what was looked up path by path.
destination_entries_key = Key("listed/{segment_id}-{what}-{nonce}-{number:04d}.jsonl.gz")
# A phase's findings for the summary.
note_key = Key(NOTES + "{phase}.json")
# When a phase began and ended.
phase_key = Key("phases/{phase}.json")
# The runs at work at another mount when an end was checked, which were not fenced.
other_runs_key = Key("fencing/fenced-except-{field}.json")

# Chosen: two bounds in hex, each a component of a key that a file of that name can hold.
_BOUND_BYTES = 120


def made_key(first: str, last: str, nonce: str, number: int) -> str:
    """Copies of a version as they were made, of the paths from ``first`` to ``last``; the key tells how these begin."""
    bounds = "/".join(bound_of(path).hex() for path in (first, last))
    return f"{MADE}{bounds}/{nonce}-{number:04d}.jsonl.gz"


def bound_of(path: str) -> bytes:
    """How a path begins in the bounds of ``made_key``; these are in the order of the paths."""
    return os.fsencode(path)[:_BOUND_BYTES]


def made_bounds(key: str) -> tuple[bytes, bytes]:
    """How the first and the last path of a ``made_key`` begin. Raises ``ValueError`` for another key."""
    first, last = key.removeprefix(MADE).split("/")[:2]
    return bytes.fromhex(first), bytes.fromhex(last)


def big_file_id(key: str) -> str:
    """The id in the key of a big file."""
    return key.removeprefix(BIG_FILES_BEGUN).removesuffix(".json")


def copied_directories(key: str) -> str | None:
    """The shard whose copy wrote a file of directories; none for those of a listing or of an earlier run."""
    name = key.removeprefix(DIRECTORIES)
    return None if name.startswith(("0000-", "parents-")) else name.rsplit("-", 2)[0]


def is_carried(key: str) -> bool:
    """Whether a file of directories is one that was taken over from an earlier run."""
    return key.startswith(f"{DIRECTORIES}0000-")


def attributes_key(path: str) -> str:
    """The attributes of a big file on the other mount."""
    return f"attributes/{sha256(os.fsencode(path)).hexdigest()}.json"
