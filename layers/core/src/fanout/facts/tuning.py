"""This product's own choices: one constant each, with its unit and the reason. AWS's limits are in ``aws.py``."""

from __future__ import annotations

from fanout.facts.units import GIB, KIB, MIB

# Operations in flight that an NFSv4.1 client of EFS keeps, and so threads of one function.
CLIENT_OPERATIONS_IN_FLIGHT = 64
# Processes among which a function divides the operations in flight where both ends are mounts, and
# entries that are worth one of them.
COPY_PROCESSES = 8
ENTRIES_A_PROCESS = 50
# The same between two mounts: what fits a processor's cache while it is read, summed and written.
BLOCK_BYTES_ON_MOUNTS = MIB
# A file is read and written in blocks of this size unless its part size is larger.
BLOCK_BYTES = 8 * MIB
# A file of this size is copied in blocks by as many functions as its time asks for; about 7 s of one.
SPLIT_BYTES = 512 * MIB
# Files up to this size are compared by checksum; reading and then copying them takes one function 4 minutes.
COMPARE_BYTES = 8 * GIB
# Objects in one job of S3 Batch Operations: a verification reads the whole report, some 45 MB, for each of its shards.
CHECKSUM_JOB_OBJECTS = 100_000
# Blocks of one big file that a function copies at once.
BLOCKS_IN_FLIGHT = 16
# The same between two mounts, where the kernel lets one write of a file in at a time and its cache holds
# what is not sent yet.
BLOCKS_IN_FLIGHT_ON_MOUNTS = 4
# The same from a bucket to a mount: two of the four fill the 78 MB/s of a function, and more writers only
# wait for each other.
BLOCKS_IN_FLIGHT_FROM_BUCKETS = 4
# Above this size an object is copied inside S3 in parts. CopyObject is one request that answers when all is
# copied. One request copies about 100 MB/s, so a GiB stays well below the timeout of 30 s without an answer.
COPY_WHOLE_BYTES = 1 * GIB
# The part of such a copy unless 10,000 of them are too few: some seconds each, so that little is repeated.
COPY_PART_BYTES = 256 * MIB
# Parts of such copies that one function has in flight, whatever number of objects they belong to.
COPY_PARTS_IN_FLIGHT = 64
# Big files that one function completes at once; a multipart upload of 10,000 parts takes S3 some seconds.
BIG_FILES_COMPLETED_AT_ONCE = 16
# Seconds in which the short way begins steps, and for which Step Functions waits where it lost the function.
SHORT_WAY_SECONDS = 120.0
# Predicted seconds of several shards that the short way works on one after the other. The Map and its functions take
# some 10 s to begin, and what they do costs the same.
SHORT_WAY_SHARDS_SECONDS = 30.0
# Predicted seconds of finishing that FinishTree does alone. A round of FinishShards costs some 10 s: the Map, cold
# functions, and FinishTree again. Most runs need two rounds, so below this more functions would save nothing.
FINISH_ALONE_SECONDS = 20.0
# The most seconds of a FinishShard, so that a lost worker costs little.
FINISH_SECONDS = 60.0
# Assumed: what one function finishes a second, and the seconds of a big file, of which several are completed at once.
DIRECTORIES_PER_SECOND = 1_000
LINKS_PER_SECOND = 500
BIG_FILE_SECONDS = 0.25
# Files of the ledger that one FinishShard reads; their names travel with it, some 70 bytes each.
FINISH_FILES = 500
# Files of the ledger that are read ahead of the one in turn.
LEDGER_FILES_AHEAD = 32
# A staged object between two mounts holds about so many bytes of small files, or this many of one large file
# (``BLOCK_BYTES``); a file up to ``PACKED_BYTES`` is small.
PACK_BYTES = 16 * MIB
PACKED_BYTES = 1 * MIB
# Entries of one such object; bounds what a lost worker repeats where entries have few bytes.
PACK_ENTRIES = 5_000
# Such objects that a function sends at once, and that it holds to read from: 64 MiB and 96 MiB at most.
PACKS_IN_FLIGHT = 4
PACKS_HELD = 6
# Memory of a function that lists, copies or verifies, unless the stack has another: a whole virtual processor
# (lambda/latest/dg/gettingstarted-limits.html). More of it brings more processors, and costs as much more.
FUNCTION_MEGABYTES = 1_769
# Bytes of blocks that one function holds at once; bounds its memory.
BUFFER_BYTES = 128 * MIB
# Blocks up to this size are not counted in it; 64 threads hold 16 MiB of them.
BLOCK_BYTES_FREE = 64 * KIB
# Limits on entries of that size that a thread has under way with S3 before it waits for the first of them,
# and on those of all threads together. One thread that never waits is faster than four that share the interpreter.
THREAD_ENTRIES_UNDER_WAY = 16
ENTRIES_UNDER_WAY = 128
# Of all threads, at the beginning, and entries done for each one more: each has a connection, and the handshake of one
# costs the processor as much as five small objects.
ENTRIES_UNDER_WAY_FIRST = 32
ENTRIES_A_CONNECTION = 8
# Threads are added while the process takes less than this share of a processor, looked at so often,
# and waits at least for every other entry.
PROCESSOR_BUSY = 0.7
THREADS_REVIEW_SECONDS = 0.01
# Outcomes are handed on at least so often.
OUTCOMES_EVERY_SECONDS = 0.1
# Directories that files are taken from in turn. The ledger's format depends on it: see ``ledger.shard_order``.
SPREAD_DIRECTORIES = 128
# Look-ups in a directory of the version before that wait before it is read as a whole, which takes as long as six.
LOOK_UPS_ONE_BY_ONE = 2
# Names that are read then at most.
NAMES_AT_ONCE = 4_096
# Entries of a shard; bounds a shard's file and the memory that reading it takes.
SHARD_ENTRIES = 20_000
# Names of files with several hard links that PartitionShards groups at once; bounds its memory.
LINKED_NAMES = 100_000
# The least predicted seconds for which a separate shard is worth a cold start.
SHARD_SECONDS_MIN = 5.0
# Seconds that a function reserves at its end to write its results to the ledger.
DEADLINE_RESERVE_SECONDS = 30.0
# Entries that one ListSegment lists, and seconds from the first one, before it hands back the rest.
SEGMENT_ENTRIES = 500_000
# Bytes of a manifest of rows that one ListSegment reads; some 100,000 rows.
MANIFEST_PART_BYTES = 16 * MIB
# Bytes of a manifest that are asked for at once, and that are unpacked at once.
MANIFEST_READ_BYTES = 4 * MIB
# The longest row of a manifest; no path needs a hundredth of it.
MANIFEST_ROW_BYTES = 1 * MIB
# Rows of a part that cannot be read, each an outcome: a packed part of half a megabyte can hold 10^8.
MANIFEST_BROKEN_ROWS = 100_000
# Bytes of a longer row to skip in a packed manifest: seconds of a function, whatever was packed.
MANIFEST_LINE_BYTES = 1 * GIB
# The largest manifest.json of an S3 Inventory that is read; names some 60,000 data files.
MANIFEST_JSON_BYTES = 16 * MIB
SEGMENT_SECONDS = 120.0
# The same while few functions list, as at the beginning: what one function lists in seconds ends in one round.
FIRST_SEGMENT_ENTRIES = 200_000
FIRST_SEGMENT_SECONDS = 15.0
# Segments of a round that are aimed at; more than list at once, because segments are not alike.
FRONTIER_SEGMENTS = 64
# Requests, or directories read, by which one function finds out where to cut what is left.
CUT_PROBES = 160
# Of these, the number asked at the same time.
CUT_PROBES_AT_ONCE = 32
# Entries between two marks of an index, at which the next listing of a bucket may begin: four pages, and room for some
# more keys. Pieces that are listed ahead at the same time, and entries that each may hold; some megabytes in all.
PIECE_ENTRIES = 3_900
PIECES_AHEAD = 4
PIECE_HELD = 2 * PIECE_ENTRIES
# Names of one directory that a listing holds at once; a larger one is read again for each so many.
NAMES_HELD = 200_000
# Threads that ask a file system for the attributes of a directory's entries, where an answer takes
# longer than STAT_SLOW_SECONDS; below that threads cost more than they save.
STAT_THREADS = 32
STAT_SLOW_SECONDS = 0.0001
# Directories that a listing reads ahead: as many as an EFS client has operations in flight,
# where reading three in a row made it wait this long.
DIRECTORIES_AHEAD = CLIENT_OPERATIONS_IN_FLIGHT
DIRECTORY_SLOW_SECONDS = 0.0005
# Limits on directories, and on entries, held after reading ahead: 13 to 17 MB.
DIRECTORIES_HELD = 4 * DIRECTORIES_AHEAD
ENTRIES_HELD = 65_536
# Bytes of a segment that a state may carry; a larger one is read from the round's list.
SEGMENT_STATE_BYTES = 16 * KIB
# Seconds after which CopyShard writes the outcomes that it has, so that a lost worker costs little.
CHECKPOINT_SECONDS = 20.0
# The steps of a task that may show nothing, each with its seconds; a task that shows nothing for longer than all of
# them has stalled. Pauses between two of them are shown, or shorter.
SILENT_STEPS = {
    # efs/latest/ug/mounting-fs-nfs-mount-settings.html: timeo=600, after which a client sends a request again.
    "a file system whose answer was lost": 60.0,
    # adapters.http.curl.Timeouts: a new connection, then not a byte.
    "a store that does not answer": 35.0,
    # work.rates.shared_limiter: how long a process waits for the limits.
    "a process that asks for the limits of the run": 60.0,
}
STALL_SECONDS = max(SILENT_STEPS.values()) + 10.0
# How often it is looked at; and for how long a task that was interrupted may show nothing until it is again.
STALL_LOOK_SECONDS, STALL_GRACE_SECONDS = 1.0, 10.0
# Functions that list at once in a round.
LIST_CONCURRENCY = 40
# The least that a request may ask for: a file that is not divided is copied by one function in its time.
LEAST_BYTES_PER_SECOND = 1 * MIB
LEAST_FILES_PER_SECOND = 1
# Chosen: far above what any run moves, and no sum of rates and seconds leaves the numbers that a float holds exactly.
MOST_PER_SECOND = 10**12
