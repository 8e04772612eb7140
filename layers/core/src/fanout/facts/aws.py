"""AWS's own limits and rates, as read in November 2026: a constant each, with its unit and the page that states it.

Pages are below docs.aws.amazon.com. This product's own choices are in ``tuning.py``.
"""

from __future__ import annotations

from typing import NamedTuple

from fanout.facts.units import GIB, KIB, MIB, TIB

DATE = "2026-11"

# general/latest/gr/rande.html: the name of a region, such as eu-west-1 or us-gov-east-1. It becomes part of a host's.
REGION = r"[a-z]{2,8}(-[a-z]{2,16}){1,3}-[0-9]{1,2}"
# The end of the names of AWS's hosts, by the beginning of the region's name, in the partitions that have their own;
# as botocore's partitions.json has them.
SUFFIX = "amazonaws.com"
SUFFIXES = {
    "cn-": "amazonaws.com.cn",
    "eusc-": "amazonaws.eu",
    "us-iso-": "c2s.ic.gov",
    "us-isob-": "sc2s.sgov.gov",
    "us-isof-": "csp.hci.ic.gov",
    "eu-isoe-": "cloud.adc-e.uk",
}

# lambda/latest/dg/gettingstarted-limits.html: what every region takes.
FUNCTION_SECONDS = 900
FUNCTION_MEMORY_MB = 10_240
# lambda/latest/api/API_CreateFunction.html: what Lambda takes at most; not every region does.
FUNCTION_SECONDS_MOST = 1_800
FUNCTION_MEMORY_MB_MOST = 32_768
LAMBDA_FILE_DESCRIPTORS = 1024
# A function's code and its layers unpacked, and what is uploaded packed without S3.
LAYER_BYTES = 250 * MIB
UPLOAD_BYTES = 50 * MIB
# lambda/latest/dg/configuration-filesystem-efs.html: 625 Mbit/s an environment.
LAMBDA_NETWORK_BYTES_PER_SECOND = 78_000_000

# step-functions/latest/dg/service-quotas.html
DEFINITION_BYTES = 1 * MIB
STATE_BYTES = 256 * KIB
HISTORY_EVENTS = 25_000
# step-functions/latest/apireference/API_StartExecution.html
EXECUTION_NAME_CHARACTERS = 80
# step-functions/latest/dg/state-map-distributed.html; children of the type STANDARD that start a second.
MAP_CONCURRENCY = 10_000
MAP_ITEMS = 100_000_000
MAP_CHILDREN_PER_SECOND = 100
# step-functions/latest/dg/input-output-itemreader.html
READER_BYTES = 10 * 10**9

# scheduler/latest/APIReference/API_Target.html
SCHEDULE_INPUT_BYTES = 256 * KIB

# AmazonS3/latest/userguide/object-keys.html and qfacts.html
KEY_BYTES = 1024
MULTIPART_PARTS = 10_000
MULTIPART_PART_BYTES_MIN = 5 * MIB
# AmazonS3/latest/API/API_CopyObject.html
COPY_OBJECT_BYTES = 5 * GIB
# AmazonS3/latest/API/API_DeleteObjects.html
DELETE_OBJECTS = 1000
# Keys of a page; AmazonS3/latest/API/API_ListObjectsV2.html
LIST_PAGE_KEYS = 1000
# Files, objects and directories of a task in Basic mode; datasync/latest/userguide/datasync-limits.html
DATASYNC_BASIC_ITEMS = 50_000_000
# At least so many a second and partitioned prefix; AmazonS3/latest/userguide/optimizing-performance.html
S3_GET_PER_SECOND = 5_500
S3_PUT_PER_SECOND = 3_500

# efs/latest/ug/limits.html
NAME_BYTES = 255
SYMLINK_TARGET_BYTES = 4080
DIRECTORY_DEPTH = 1000
# EFS allows 177 names of a file; one stays free for the name under which the next one is staged.
HARD_LINKS = 176


class FileSystemQuota(NamedTuple):
    """The maximum rates of one EFS file system: operations and bytes a second; the low end of a range, any region.

    ``read_iops`` is that of data that nobody read lately, as a copy's source is.
    """

    read_iops: float
    write_iops: float
    read_bytes_per_second: float
    write_bytes_per_second: float


# By throughput mode, and of a One Zone file system whatever its mode.
EFS_PAGE = "efs/latest/ug/performance.html"
EFS = {
    "elastic": FileSystemQuota(90_000, 50_000, 20 * GIB, 1 * GIB),
    "provisioned": FileSystemQuota(55_000, 25_000, 3 * GIB, 1 * GIB),
    "bursting": FileSystemQuota(35_000, 7_000, 3 * GIB, 1 * GIB),
}
EFS_ONE_ZONE = FileSystemQuota(35_000, 7_000, 3 * GIB, 1 * GIB)
# Best-case write latency, Regional storage.
EFS_WRITE_SECONDS = 0.0027
# Bursting, a second and for each TiB of the Standard class, and what the smallest file system has.
EFS_BASELINE_PER_TIB = 50.0 * MIB
EFS_BASELINE_LEAST = 1.0 * MIB
EFS_BURST_PER_TIB = 100.0 * MIB
EFS_BURST_LEAST = 100.0 * MIB
# Credits that a file system keeps at most, up to one TiB and for each TiB above it.
EFS_CREDITS_PER_TIB = 2.1 * TIB
# Every NFS request counts as so many bytes, or as those of request and answer where these are more
# (efs/latest/ug/performance.html); what is read counts as a third.
EFS_LEAST_METERED = 4 * KIB
# What the mode Elastic bills for an operation on data at least (efs/latest/ug/metered-sizes.html); one on metadata has
# the least above.
EFS_LEAST_BILLED = 32 * KIB
EFS_READ_SHARE = 1 / 3
