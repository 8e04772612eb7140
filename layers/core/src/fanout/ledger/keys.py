"""Where the parts of a run's ledger lie in the work bucket, below ``runs/<run id>/``."""

from __future__ import annotations

import os
import re
from hashlib import sha256

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
FINISH_ROUNDS = "finishing/round-"
DIGESTS = "digests/"
NOT_TOLD = "not-told/"
UNREAD = "unread/"
HELD = "archived/"
CERTIFIED = "certified/"
CERTIFICATE = "certificate.json"
OWNERS = "owners.json"
# Marks: earlier writers can write no more; all is in place; nothing is staged, and the run can write no more.
FENCED = "fencing/fenced.json"
FINISHED = "fencing/finished.json"
WITHDRAWN = "fencing/withdrawn.json"
# The same at the source of a move.
SOURCE_FENCED = "fencing/source-fenced.json"
SOURCE_FINISHED = "fencing/source-finished.json"
SOURCE_WITHDRAWN = "fencing/source-withdrawn.json"
# The version that is published when a run begins, and what the run published.
PUBLISH = "publish"
VERSION_BEFORE = "version-before.json"
PUBLISHED = "published.json"
# When, by the file system's clock, a run that published had made its last change there.
SEALED = "version-sealed.json"
ENTRIES = "entries/"
# The copies in a version as the run made them, for the run that links it.
MADE = "made/"
DELETIONS = "deletions.json"
DELETED_DIRECTORIES = "deleted-directories.json"
PROVEN = "deletions/proven/"
EARLIER_PROOFS = "deletions/earlier-proofs.json"
SOURCE_ROOT = "source-root.json"
SEGMENTS_DONE = "segments/done/"
DESTINATION_ROOT = "destination-root.json"
SEGMENTS_FAILED = "segments/failed/"
CARRIED = "segments/carried-"
# For people who watch: how far tasks are, and whom a run waits for. No state reads them.
PROGRESS = "progress/"
WAITING = "waiting.json"

# What operators and the pacing write into a ledger that is sealed; it changes how fast a run is, and nothing else.
UNSEALED = (LIMITS, PACING, THROTTLED, WORKERS, PROGRESS, WAITING)

_WITH_DIRECTORIES = re.compile(rf"{OUTCOMES}(.+)/([^/]+)-directories-(\d+)\.json")
# Chosen: two bounds in hex, each a component of a key that a file of that name can hold.
_BOUND_BYTES = 120


def round_key(number: int) -> str:
    """The segments of a round: what ListTree reads."""
    return f"segments/round-{number:04d}.json"


def round_done_key(number: int) -> str:
    """A round's listing results and the shards that it wrote."""
    return f"segments/round-{number:04d}-done.json"


def segment_key(segment_id: str) -> str:
    """The record of a segment that has been listed."""
    return f"{SEGMENTS_DONE}{segment_id}.json"


def shard_key(shard_id: str) -> str:
    """The entries of a shard."""
    return f"{SHARD_FILES}{shard_id}.jsonl.gz"


def segment_failed_key(segment_id: str) -> str:
    """The last error of a segment that could not be listed."""
    return f"{SEGMENTS_FAILED}{segment_id}.json"


def listed_outcomes_key(segment_id: str, nonce: str, number: int) -> str:
    """Outcomes of entries that need no copy."""
    return f"outcomes/listed/{segment_id}-{nonce}-{number:04d}.jsonl.gz"


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


def index_part_key(segment_id: str, nonce: str, number: int) -> str:
    """A part of the index of what a run leaves at both ends."""
    return f"index/{segment_id}-{nonce}-{number:04d}.jsonl.gz"


def outcomes_prefix(shard_id: str) -> str:
    """All outcomes of a shard."""
    return f"{OUTCOMES}{shard_id}/"


def outcomes_name(nonce: str, number: int, directories: int) -> str:
    """The name of a file of outcomes. It tells how many directories' attributes belong to it, so none is missed."""
    return f"{nonce}-{number:04d}{f'-directories-{directories}' if directories else ''}"


def directories_beside(key: str) -> tuple[str, int] | None:
    """The key and the number of the directories' attributes that belong to a file of outcomes, if there are any."""
    found = _WITH_DIRECTORIES.fullmatch(key)
    return (f"{DIRECTORIES}{found[1]}-{found[2]}.jsonl.gz", int(found[3])) if found else None


def big_file_key(big_file_id: str) -> str:
    """A big file that a segment began, whether the run counts it or not."""
    return f"{BIG_FILES_BEGUN}{big_file_id}.json"


def big_file_id(key: str) -> str:
    """The id in the key of a big file."""
    return key.removeprefix(BIG_FILES_BEGUN).removesuffix(".json")


def entries_key(phase: str, name: str) -> str:
    """Entries that the request asks to report, of one file of a phase. No state reads them."""
    return f"{ENTRIES}{phase}-{name}.json.gz"


def directories_key(shard_id: str, nonce: str, number: int) -> str:
    """Attributes of the directories that a shard made."""
    return f"directories/{shard_id}-{nonce}-{number:04d}.jsonl.gz"


def parents_key(segment_id: str, nonce: str, number: int) -> str:
    """Directories above the entries of a segment that are no entries themselves; sorts after those of entries."""
    return f"directories/parents-{segment_id}-{nonce}-{number:04d}.jsonl.gz"


def big_file_outcomes_key(name: str) -> str:
    """Outcomes of the big files that one FinishTree or FinishShard settled."""
    return f"{BIG_FILE_OUTCOMES}{name}.jsonl.gz"


def directory_failures_key(name: str) -> str:
    """Directories whose attributes one FinishTree or FinishShard could not set."""
    return f"{DIRECTORY_FAILURES}{name}.jsonl"


def finish_round_key(number: int) -> str:
    """The shards of a round of finishing: what FinishShards reads."""
    return f"{FINISH_ROUNDS}{number:04d}.json"


def finish_stand_key(shard_id: str) -> str:
    """How far a FinishShard came, and whether it is done."""
    return f"finishing/stands/{shard_id}.json"


def closed_directories_key(shard_id: str, nonce: str, number: int, depth: int) -> str:
    """Directories of one depth that their owner cannot pass, which a later round sets."""
    return f"finishing/closed/{shard_id}-{nonce}-{number:04d}-{depth:04d}.jsonl.gz"


def copied_directories(key: str) -> str | None:
    """The shard whose copy wrote a file of directories; none for those of a listing or of an earlier run."""
    name = key.removeprefix(DIRECTORIES)
    return None if name.startswith(("0000-", "parents-")) else name.rsplit("-", 2)[0]


def carried_directories_key(segment_id: str, nonce: str, number: int) -> str:
    """The key of directories carried over from an earlier run; sorts before those of shards, which are newer."""
    return f"directories/0000-{segment_id}-{nonce}-{number:04d}.jsonl.gz"


def carried_key(number: int) -> str:
    """Parts of an earlier run that one segment takes over."""
    return f"{CARRIED}{number:06d}.json"


def extras_key(segment_id: str, nonce: str) -> str:
    """Entries that only the destination holds."""
    return f"outcomes/extras/{segment_id}-{nonce}.jsonl.gz"


def deletion_key(shard_id: str) -> str:
    """Entries that a sync is to delete, as the destination's listing showed them."""
    return f"deletions/{shard_id}.jsonl.gz"


def proven_key(shard_id: str, name: str) -> str:
    """Which shards hold what an attempt at a verification shard proved, in a move."""
    return f"{PROVEN}{shard_id}/{name}.json"


def source_looks_key(shard_id: str) -> str:
    """Which extras of a shard were looked for at the source, for the function that sees the destination."""
    return f"deletions/looks/{shard_id}.json"


# Ends the name of receipts that an earlier comparison wrote first.
TAKEN_OVER = "-taken-over"


def verified_id(shard_id: str) -> str:
    """The name of the outcomes of verifying a shard, next to those of copying it."""
    return f"verified-{shard_id}"


def source_id(shard_id: str) -> str:
    """The name of the checksums of a shard's blocks at the source lie, in a run that only compares."""
    return f"source-{shard_id}"


def digests_key(shard_id: str, nonce: str) -> str:
    """Digests by directory of what was verified."""
    return f"{DIGESTS}{shard_id}-{nonce}.jsonl.gz"


def certified_key(shard_id: str, nonce: str) -> str:
    """The sums of an attempt at a shard for a certificate, and the rows that they are of; without the ending."""
    return f"{CERTIFIED}{shard_id}/{nonce}"


def listed_names_key(segment_id: str, nonce: str, number: int) -> str:
    """Listed names of files that have several hard links."""
    return f"{LISTED_NAMES}{segment_id}-{nonce}-{number:04d}.jsonl.gz"


def spilled_names_key(bucket: int, nonce: str, number: int, where: str = "by-file") -> str:
    """The same names, brought together by file."""
    return f"links/{where}/{bucket:05d}-{nonce}-{number:04d}.jsonl.gz"


def destination_listing_key(segment_id: str) -> str:
    """The files with a segment's entries at a destination that the listing function does not see."""
    return f"listed/{segment_id}.json"


def destination_entries_key(segment_id: str, what: str, nonce: str, number: int) -> str:
    """Entries of a segment at the destination: those that were listed, or what was looked up path by path."""
    return f"listed/{segment_id}-{what}-{nonce}-{number:04d}.jsonl.gz"


def attributes_key(path: str) -> str:
    """The attributes of a big file on the other mount."""
    return f"attributes/{sha256(os.fsencode(path)).hexdigest()}.json"


def packed_id(shard_id: str) -> str:
    """The name of the receipts of staging a part of a big file, next to those of writing it."""
    return f"packed-{shard_id}"


def source_checksums_prefix(shard_id: str) -> str:
    """Checksums of a shard's entries at the source, for the function that sees the destination."""
    return f"checksums/{shard_id}/"


def destination_id(shard_id: str) -> str:
    """The name of the checksums of a shard's entries at the destination, next to those of the source."""
    return f"destination-{shard_id}"


def seen_key(big_file_id: str, end: str) -> str:
    """The attributes at one end of a big file that is only compared."""
    return f"seen/{big_file_id}-{end}.json"


def told_key(big_file_id: str, end: str) -> str:
    """The answer of the store at one end about a big file that is only compared."""
    return f"seen/{big_file_id}-{end}-told.json"


def not_told_prefix(shard_id: str) -> str:
    """Which entries of a shard had attributes that could not be compared."""
    return f"{NOT_TOLD}{shard_id}/"


def held_prefix(shard_id: str) -> str:
    """Which entries of a shard a verification could not read because they are held."""
    return f"{HELD}{shard_id}/"


NOTES = "notes/"


def note_key(phase: str) -> str:
    """A phase's findings for the summary."""
    return f"{NOTES}{phase}.json"


def phase_key(phase: str) -> str:
    """When a phase began and ended."""
    return f"phases/{phase}.json"


def other_runs_key(field: str) -> str:
    """The runs that may write to another mount, as they were known when an end was checked."""
    return f"fencing/others-{field}.json"
