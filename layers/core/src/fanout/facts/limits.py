"""Limits of the services and of this product: one named constant each, with its unit and its source."""

from __future__ import annotations

KIB = 1024
MIB = 1024 * KIB
GIB = 1024 * MIB

# docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html
LAMBDA_TIMEOUT_SECONDS = 900
LAMBDA_FILE_DESCRIPTORS = 1024
# docs.aws.amazon.com/lambda/latest/dg/configuration-filesystem-efs.html: 625 Mbit/s an environment.
LAMBDA_NETWORK_BYTES_PER_SECOND = 78_000_000

# docs.aws.amazon.com/step-functions/latest/dg/service-quotas.html
STATE_PAYLOAD_BYTES = 256 * KIB
MAP_CONCURRENCY = 10_000

# docs.aws.amazon.com/AmazonS3/latest/userguide/object-keys.html and qfacts.html
KEY_BYTES = 1024
MULTIPART_PARTS = 10_000
MULTIPART_PART_BYTES_MIN = 5 * MIB
# docs.aws.amazon.com/AmazonS3/latest/API/API_CopyObject.html
COPY_OBJECT_BYTES = 5 * GIB

# docs.aws.amazon.com/AmazonS3/latest/API/API_DeleteObjects.html
DELETE_OBJECTS = 1000
# Keys of a page; docs.aws.amazon.com/AmazonS3/latest/API/API_ListObjectsV2.html
LIST_PAGE_KEYS = 1000

# docs.aws.amazon.com/efs/latest/ug/limits.html
NAME_BYTES = 255
SYMLINK_TARGET_BYTES = 4080
DIRECTORY_DEPTH = 1000
# EFS allows 177 names of a file; one stays free for the name under which the next one is staged.
HARD_LINKS = 176
# docs.aws.amazon.com/efs/latest/ug/performance.html: best-case write latency, Regional storage.
EFS_WRITE_SECONDS = 0.0027

# Chosen: operations in flight that an NFSv4.1 client of EFS keeps, and so threads of one function.
CLIENT_OPERATIONS_IN_FLIGHT = 64
# Chosen: processes among which a function divides the operations in flight where both ends are mounts, and
# entries that are worth one of them.
COPY_PROCESSES = 8
ENTRIES_A_PROCESS = 50
# Chosen: the same between two mounts: what fits a processor's cache while it is read, summed and written.
BLOCK_BYTES_ON_MOUNTS = MIB
# Chosen: a file is read and written in blocks of this size unless its part size is larger.
BLOCK_BYTES = 8 * MIB
# Chosen: a file of this size is copied in blocks by as many functions as its time asks for; about 7 s of one.
SPLIT_BYTES = 512 * MIB
# Chosen: files up to this size are compared by checksum; reading and then copying them takes one function 4 minutes.
COMPARE_BYTES = 8 * GIB
# Chosen: blocks of one big file that a function copies at once.
BLOCKS_IN_FLIGHT = 16
# Chosen: the same between two mounts, where the kernel lets one write of a file in at a time and its cache holds
# what is not sent yet.
BLOCKS_IN_FLIGHT_ON_MOUNTS = 4
# Chosen: the same from a bucket to a mount: two of the four fill the 78 MB/s of a function, and more writers only
# wait for each other.
BLOCKS_IN_FLIGHT_FROM_BUCKETS = 4
# Chosen: above this size an object is copied inside S3 in parts. CopyObject is one request without an answer until
# all is copied; at the 100 MB/s or so of one request a GiB stays well below the 30 s of silence that are waited for.
COPY_WHOLE_BYTES = 1 * GIB
# Chosen: the part of such a copy unless 10,000 of them are too few: some seconds each, so that little is repeated.
COPY_PART_BYTES = 256 * MIB
# Chosen: parts of such copies that one function has in flight, whatever number of objects they belong to.
COPY_PARTS_IN_FLIGHT = 64
# Chosen: big files that FinishTree completes at once; a multipart upload of 10,000 parts takes S3 some seconds.
BIG_FILES_COMPLETED_AT_ONCE = 16
# Chosen: files of the ledger that are read ahead of the one in turn.
LEDGER_FILES_AHEAD = 32
# Chosen: a staged object between two mounts holds about so many bytes of small files, and this many of one large one
# (``BLOCK_BYTES``); a file up to ``PACKED_BYTES`` is a small one.
PACK_BYTES = 16 * MIB
PACKED_BYTES = 1 * MIB
# Chosen: entries of one such object; bounds what a lost worker repeats where entries have few bytes.
PACK_ENTRIES = 5_000
# Chosen: such objects that a function sends at once, and that it holds to read from: 64 MiB and 96 MiB at most.
PACKS_IN_FLIGHT = 4
PACKS_HELD = 6
# Chosen: bytes of blocks that one function holds at once; bounds its memory.
BUFFER_BYTES = 128 * MIB
# Chosen: blocks up to this size are not counted in it; 64 threads hold 16 MiB of them.
BLOCK_BYTES_FREE = 64 * KIB
# Chosen: entries of that size that a thread has asked S3 for, or sent to it, before it waits for the first of them,
# and those of all threads together: one thread that never waits beats four that queue for the interpreter's lock.
THREAD_ENTRIES_UNDER_WAY = 16
ENTRIES_UNDER_WAY = 128
# Chosen: threads are added while the process takes less than this share of a processor, looked at so often,
# and waits at least for every other entry.
PROCESSOR_BUSY = 0.7
THREADS_REVIEW_SECONDS = 0.01
# Chosen: outcomes are handed on at least so often.
OUTCOMES_EVERY_SECONDS = 0.1
# Chosen: directories that files are taken from in turn; fewer than the descriptors kept of each tree.
SPREAD_DIRECTORIES = 128
# Chosen: entries of a shard; bounds a shard's file and the memory that reading it takes.
SHARD_ENTRIES = 20_000
# Chosen: names of files with several hard links that PartitionShards groups at once; bounds its memory.
LINKED_NAMES = 100_000
# Chosen: the least predicted seconds for which a shard of its own is worth a cold start.
SHARD_SECONDS_MIN = 5.0
# Chosen: seconds that a function keeps at its end to write what it did to the ledger.
DEADLINE_RESERVE_SECONDS = 30.0
# Chosen: entries that one ListSegment lists, and seconds from the first one, before it hands back the rest.
SEGMENT_ENTRIES = 500_000
# Chosen: bytes of a manifest of rows that one ListSegment reads; some 100,000 rows.
MANIFEST_PART_BYTES = 16 * MIB
# Chosen: bytes of a manifest that are asked for at once, and that are unpacked at once.
MANIFEST_READ_BYTES = 4 * MIB
# Chosen: the longest row of a manifest; no path needs a hundredth of it.
MANIFEST_ROW_BYTES = 1 * MIB
# Chosen: what is read past of a longer row in a packed manifest; seconds of a function, whatever was packed.
MANIFEST_LINE_BYTES = 1 * GIB
# Chosen: the largest manifest.json of an S3 Inventory that is read; names some 60,000 data files.
MANIFEST_JSON_BYTES = 16 * MIB
SEGMENT_SECONDS = 120.0
# Chosen: the same while few functions list, as at the beginning: what one function lists in seconds ends in one round.
FIRST_SEGMENT_ENTRIES = 200_000
FIRST_SEGMENT_SECONDS = 15.0
# Chosen: segments of a round that are aimed at; more than list at once, because segments are not alike.
FRONTIER_SEGMENTS = 64
# Chosen: requests, or directories read, by which one function finds out where to cut what is left.
CUT_PROBES = 160
# Chosen: of these, asked at the same time.
CUT_PROBES_AT_ONCE = 32
# Chosen: names of one directory that a listing holds at once; a larger one is read again for each so many.
NAMES_HELD = 200_000
# Chosen: threads that ask a file system for the attributes of a directory's entries, where an answer takes
# longer than STAT_SLOW_SECONDS; below that threads cost more than they save.
STAT_THREADS = 32
STAT_SLOW_SECONDS = 0.0001
# Chosen: directories that a listing reads before their turn, as many as a client of EFS has operations in flight,
# where reading three in a row made it wait this long.
DIRECTORIES_AHEAD = CLIENT_OPERATIONS_IN_FLIGHT
DIRECTORY_SLOW_SECONDS = 0.0005
# Chosen: of what was read before its turn so many directories are held, or entries: 13 to 17 MB.
DIRECTORIES_HELD = 4 * DIRECTORIES_AHEAD
ENTRIES_HELD = 65_536
# Chosen: bytes of a segment that a state may carry; a larger one is read from the round's list.
SEGMENT_STATE_BYTES = 16 * KIB
# Chosen: seconds after which CopyShard writes the outcomes that it has, so that a lost worker costs little.
CHECKPOINT_SECONDS = 20.0
# Chosen: functions that list at once in a round.
LIST_CONCURRENCY = 40
# The least that a request may ask for: a file that is not divided is copied by one function in its time.
LEAST_BYTES_PER_SECOND = 1 * MIB
LEAST_FILES_PER_SECOND = 1
