"""The kinds of objects of the ledger of a run, below ``runs/<run id>/`` in the work bucket, each declared once.

A kind whose type is of a higher room is declared there, next to the type. Those here have a type of this room or of
one below, or none; a higher room gives it to those that are ``Untyped``, because lower rooms name them too.
"""

from __future__ import annotations

import os
from hashlib import sha256

from fanout.ledger.documents import Marker, Moment, Notes, PhaseBegan, RawRequest, SegmentFailed, Spending
from fanout.ledger.kind import (
    AFTER_RECORDS,
    ALONE,
    FIRST,
    LAST,
    RECORD,
    KeyPart,
    ObjectKind,
    PlainText,
    RowsKind,
    Untyped,
)
from fanout.ledger.run_places import run_of
from fanout.model.entry import Attributes
from fanout.model.file_system import Staged
from fanout.model.segment import DestinationListing, Segment
from fanout.model.shard import BigFile, Deletion
from fanout.request.plan import Plan

# Functions that write the same: those of the tasks, those that begin a phase, those that finish, those on shards.
TASKS = (*("ListSegment", "CopyShard", "VerifyShard", "FinishTree", "FinishShard", "DeleteShard", "RemoveDirectories"),)
CONTROL = (
    *("PlanTransfer", "CheckMount", "GatherSegments", "PartitionShards", "BeginDeletion", "BeginVerification"),
    "ComputeChecksums",
)
FINISHERS = ("FinishTree", "FinishShard")
WITHDRAWERS = ("FinishTree", "RemoveDirectories")
ON_SHARDS = ("CopyShard", "VerifyShard", *FINISHERS, "DeleteShard", "RemoveDirectories")
# A run that is skipped has no other function than PlanTransfer.
SUMMARISERS = ("PlanTransfer", "SummariseTransfer")

# The phase and the note of publishing.
PUBLISH = "publish"
# Ends the name of a record of RecordShardFailure, which holds failures alone.
FAILED = "-failed"
# Where the files of a kind are, for those that list them.
SHARD_FILES, OUTCOMES, BIG_FILES_BEGUN = "shards/", "outcomes/shards/", "big-files/"
BIG_FILE_OUTCOMES, DIRECTORIES, DIRECTORY_FAILURES = "outcomes/big-files/", "directories/", "directories/failures/"
SEGMENTS_DONE, SEGMENTS_FAILED, NOTES, MADE = "segments/done/", "segments/failed/", "notes/", "made/"
PLACED, FINISH_ROUNDS, LISTED_NAMES = "finishing/placed/", "finishing/round-", "links/listed/"
DECISIONS, THROTTLED, WORKERS, PROGRESS = "pacing/decisions-", "throttled/", "workers/", "progress/"

REQUEST = ObjectKind("request.json", RawRequest, by=("PlanTransfer",), wave=ALONE, early=True)
PLAN = ObjectKind("plan.json", Plan, by=("PlanTransfer",), early=True)
SUMMARY = ObjectKind("summary.json", Untyped, by=SUMMARISERS, wave=LAST, early=True)
FAILURES = RowsKind("failures.jsonl", by=SUMMARISERS, wave=ALONE, early=True)
more_failures_key = RowsKind("failures-{number}.jsonl", by=("SummariseTransfer",))
REPORT = ObjectKind("report.html", PlainText, by=SUMMARISERS, wave=ALONE, early=True)
CERTIFICATE = ObjectKind("certificate.json", PlainText, by=("SummariseTransfer",))
PLANNED = RowsKind("planned.jsonl", by=("SummariseTransfer",), wave=RECORD)
more_planned_key = RowsKind("planned-{number}.jsonl.gz", by=("SummariseTransfer",))
FORECAST = ObjectKind("forecast.json", Untyped, by=("PartitionShards",), wave=ALONE)
SPENDING = ObjectKind("spending.json", Spending, by=(*TASKS, *CONTROL, "PaceCopy"))
# The shards to copy: what CopyShards reads.
SHARDS = ObjectKind(
    "shards.json", Untyped, by=("PartitionShards",), wave=AFTER_RECORDS, waits=True, area="shards.json*"
)
# When all shards had been copied.
COPIED = ObjectKind("pacing/copied.json", Moment, by=("PaceCopy",), sealed=False, area="pacing/*")
# The decisions of one PaceCopy.
decisions_key = RowsKind(DECISIONS + "{at}-{nonce}.jsonl", by=("PaceCopy",), sealed=False, area="pacing/*")

# Marks: earlier writers can write no more; this run begins to give up its right to write; it can write no more.
# That all is in place is another one, which FinishTree alone writes: ``shards.finished_tree``.
FENCED = ObjectKind("fencing/fenced.json", Marker, by=("CheckMount",), wave=ALONE, area="fencing/*fenced*")
WITHDRAWING = ObjectKind(
    "fencing/withdrawing.json", Marker, by=WITHDRAWERS, wave=AFTER_RECORDS, area="fencing/withdraw*"
)
WITHDRAWN = ObjectKind("fencing/withdrawn.json", Marker, by=WITHDRAWERS, area="fencing/withdraw*")
# The directory that the run stages in.
STAGED = ObjectKind("fencing/staged.json", Staged, by=("CheckMount",), area="fencing/*staged.json")
# The same at the source of a move. A pattern each for both ends: the policy of ShortWay is as long as it may be.
SOURCE_FENCED = ObjectKind(
    "fencing/source-fenced.json", Marker, by=("CheckMount",), wave=ALONE, area="fencing/*fenced*"
)
SOURCE_WITHDRAWING = ObjectKind("fencing/source-withdrawing.json", Marker, by=WITHDRAWERS, short=False)
SOURCE_WITHDRAWN = ObjectKind("fencing/source-withdrawn.json", Marker, by=WITHDRAWERS, short=False)
SOURCE_STAGED = ObjectKind("fencing/source-staged.json", Staged, by=("CheckMount",), area="fencing/*staged.json")

# A phase's findings for the summary.
note_key = ObjectKind(
    "notes/{phase}.json",
    Notes,
    by=(*TASKS, *CONTROL, "PaceCopy", "SummariseTransfer", "PlanProbe"),
    wave=FIRST,
    early=("plan", "measure", "index"),
)
# When a phase began and ended; that of the summary, if somebody had a run summarised before it was planned.
phase_key = ObjectKind(
    "phases/{phase}.json",
    PhaseBegan,
    by=(*CONTROL, "FinishTree", "SummariseTransfer", "OpenProbe", "CloseProbe"),
    wave=ALONE,
    early=("plan", "summarise"),
)
# By name, because the names are also those of documents of the run, and the star of a right matches a directory.
INDEX_NOTE = ObjectKind("notes/index.json", Notes, by=("PlanTransfer", "CheckMount", "ListSegment"), wave=FIRST)
PLAN_NOTE = ObjectKind("notes/plan.json", Notes, by=("PlanTransfer",), wave=FIRST)
PLAN_BEGAN = ObjectKind("phases/plan.json", PhaseBegan, by=("PlanTransfer",), wave=ALONE)

# The segments of a round: what ListTree reads.
round_key = ObjectKind(
    "segments/round-{number:04d}.json",
    list[Segment],
    by=("PlanTransfer", "GatherSegments", "BeginVerification"),
    wave=ALONE,
    early=(1,),
)
# The last error of a segment that could not be listed.
segment_failed_key = ObjectKind(SEGMENTS_FAILED + "{segment_id}.json", SegmentFailed, by=("ListSegment",))
# The entries of a shard.
shard_key = RowsKind(SHARD_FILES + "{shard_id}.jsonl.gz", by=("ListSegment", "PartitionShards"))
# Outcomes of entries that need no copy.
listed_outcomes_key = RowsKind("outcomes/listed/{segment_id}-{nonce}-{number:04d}.jsonl.gz", by=("ListSegment",))
# Entries that only the destination holds.
extras_key = RowsKind("outcomes/extras/{segment_id}-{nonce}.jsonl.gz", by=("ListSegment",))
# A part of the index of what a run leaves at both ends.
index_part_key = RowsKind("index/{segment_id}-{nonce}-{number:04d}.jsonl.gz", by=("ListSegment",))
# Entries that the request asks to report, of one file of a phase. No state reads them.
entries_key = RowsKind("entries/{phase}-{name}.json.gz", by=(*TASKS, "SummariseTransfer"))
# All outcomes of a shard.
outcomes_prefix = KeyPart(OUTCOMES + "{shard_id}/")
# The name of the outcomes of verifying a shard, next to those of copying it.
verified_id = KeyPart("verified-{shard_id}")
# The name of the checksums of a shard's blocks at the source, in a run that only compares.
source_id = KeyPart("source-{shard_id}")
# The name of the checksums of a shard's entries at the destination, next to those of the source.
destination_id = KeyPart("destination-{shard_id}")
# The name of the receipts of staging a part of a big file, next to those of writing it.
packed_id = KeyPart("packed-{shard_id}")
# Checksums of a shard's entries at the source, for the function that sees the destination.
source_checksums_prefix = KeyPart("checksums/{shard_id}/")
source_checksums_key = RowsKind("checksums/{shard_id}/{name}.jsonl.gz", by=("VerifyShard",))
# A big file that a segment began, whether the run counts it or not.
big_file_key = ObjectKind(BIG_FILES_BEGUN + "{big_file_id}.json", BigFile, by=("ListSegment",))
# Outcomes of the big files that one FinishTree or FinishShard settled.
big_file_outcomes_key = RowsKind(BIG_FILE_OUTCOMES + "{name}.jsonl.gz", by=FINISHERS)
# The attributes at one end of a big file that is only compared.
seen_key = ObjectKind("seen/{big_file_id}-{end}.json", Attributes, by=("VerifyShard",))
# Attributes of the directories that a shard made.
directories_key = RowsKind("directories/{shard_id}-{nonce}-{number:04d}.jsonl.gz", by=("CopyShard",))
# Directories above the entries of a segment that are no entries themselves; sorts after those of entries.
parents_key = RowsKind(
    "directories/parents-{segment_id}-{nonce}-{number:04d}.jsonl.gz", by=("ListSegment",), area="directories/*"
)
# The key of directories carried over from an earlier run; sorts before those of shards, which are newer.
carried_directories_key = RowsKind(
    "directories/0000-{segment_id}-{nonce}-{number:04d}.jsonl.gz", by=("ListSegment",), area="directories/*"
)
# Where big files and further names were put.
placed_key = RowsKind(PLACED + "{name}-{number:04d}.jsonl.gz", by=FINISHERS, area="finishing/*")
# Directories whose attributes one FinishTree or FinishShard could not set.
directory_failures_key = RowsKind(DIRECTORY_FAILURES + "{name}.jsonl", by=(*FINISHERS, "RemoveDirectories"))
# Directories of one depth that their owner cannot pass, which a later round sets.
closed_directories_key = RowsKind(
    "finishing/closed/{shard_id}-{nonce}-{number:04d}-{depth:04d}.jsonl.gz", by=FINISHERS, area="finishing/*"
)
# The entries that a sync is to delete, as the destination's listing showed them.
deletion_key = RowsKind("deletions/{shard_id}.jsonl.gz", by=("ListSegment",))
# What a move is to delete; the shards of a sync are of its listing.
move_deletion_key = RowsKind("deletions/move-{name}.jsonl.gz", by=("VerifyShard", "BeginDeletion"))
DELETIONS = ObjectKind("deletions.json", list[Deletion], by=("BeginDeletion",), area="deletions.json*")
# Listed names of files that have several hard links.
listed_names_key = RowsKind(
    LISTED_NAMES + "{segment_id}-{nonce}-{number:04d}.jsonl.gz", by=("ListSegment",), area="links/*"
)
# The same names, brought together by file.
spilled_names_key = RowsKind(
    "links/{where}/{bucket:05d}-{nonce}-{number:04d}.jsonl.gz", by=("PartitionShards", "BeginDeletion")
)
# The files with a segment's entries at a destination that the listing function does not see.
destination_listing_key = ObjectKind("listed/{segment_id}.json", DestinationListing, by=("ListSegment",))
# Entries of a segment at the destination: those that were listed, or what was looked up path by path.
destination_entries_key = RowsKind("listed/{segment_id}-{what}-{nonce}-{number:04d}.jsonl.gz", by=("ListSegment",))
# The attributes of a big file on the other mount, by its path.
_attributes_key = ObjectKind("attributes/{digest}.json", Attributes, by=("ListSegment",))
# The copies in a version as the run made them, for the run that links it.
_made_key = RowsKind(MADE + "{first}/{last}/{nonce}-{number:04d}.jsonl.gz", by=("CopyShard", *FINISHERS), short=False)

# Chosen: two bounds in hex, each a component of a key that a file of that name can hold.
_BOUND_BYTES = 120


def made_key(first: str, last: str, nonce: str, number: int) -> str:
    """Copies of a version as they were made, of the paths from ``first`` to ``last``; the key tells how these begin."""
    bounds = (bound_of(path).hex() for path in (first, last))
    return _made_key(*bounds, nonce, number)


def bound_of(path: str) -> bytes:
    """How a path begins in the bounds of ``made_key``; these are in the order of the paths."""
    return os.fsencode(path)[:_BOUND_BYTES]


def made_bounds(key: str) -> tuple[bytes, bytes]:
    """How the first and the last path of a ``made_key`` begin. Raises ``ValueError`` for another key."""
    first, last = key.removeprefix(MADE).split("/")[:2]
    return bytes.fromhex(first), bytes.fromhex(last)


def is_failures(key: str) -> bool:
    """Whether a key of the work bucket is that of a run's failures, and of nothing else that a run wrote."""
    return run_of(key, FAILURES) is not None


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


def attributes_key(path: str) -> ObjectKind[Attributes]:
    """The attributes of a big file on the other mount."""
    return _attributes_key(sha256(os.fsencode(path)).hexdigest())
