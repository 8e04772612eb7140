"""Quotas of AWS, as read on DATE, each with the page that states it: the one table that forecast and model share."""

from __future__ import annotations

from typing import NamedTuple

from fanout.facts.limits import GIB, MIB

DATE = "2026-11"


class Quota(NamedTuple):
    """A quota: its value and the page that states it, below docs.aws.amazon.com."""

    value: float
    page: str


class FileSystemQuota(NamedTuple):
    """What one EFS file system does at most: operations and bytes a second; of a range the low end, whatever region."""

    read_iops: float
    write_iops: float
    read_bytes_per_second: float
    write_bytes_per_second: float


_STEP_FUNCTIONS = "step-functions/latest/dg/service-quotas.html"
_MAP = "step-functions/latest/dg/state-map-distributed.html"
_READER = "step-functions/latest/dg/input-output-itemreader.html"
_LAMBDA = "lambda/latest/dg/gettingstarted-limits.html"
_S3 = "AmazonS3/latest/userguide/optimizing-performance.html"
_EFS = "efs/latest/ug/performance.html"

STATE_BYTES = Quota(256 * 1024, _STEP_FUNCTIONS)
HISTORY_EVENTS = Quota(25_000, _STEP_FUNCTIONS)
MAP_ITEMS = Quota(100_000_000, _MAP)
MAP_CONCURRENCY = Quota(10_000, _MAP)
# Children of a Distributed Map that start a second, those of the type STANDARD.
MAP_CHILDREN_PER_SECOND = Quota(100, _MAP)
READER_BYTES = Quota(10 * 10**9, _READER)
FUNCTION_SECONDS = Quota(900, _LAMBDA)
FUNCTION_MEMORY_MB = Quota(10_240, _LAMBDA)
# At least so many a second and partitioned prefix.
S3_GET_PER_SECOND = Quota(5_500, _S3)
S3_PUT_PER_SECOND = Quota(3_500, _S3)

# By throughput mode, and of a One Zone file system whatever its mode: efs/latest/ug/performance.html.
EFS_PAGE = _EFS
EFS = {
    "elastic": FileSystemQuota(250_000, 50_000, 20 * GIB, 1 * GIB),
    "provisioned": FileSystemQuota(55_000, 25_000, 3 * GIB, 1 * GIB),
    "bursting": FileSystemQuota(35_000, 7_000, 3 * GIB, 1 * GIB),
}
EFS_ONE_ZONE = FileSystemQuota(35_000, 7_000, 3 * GIB, 1 * GIB)
# Bursting, a second and for each TiB of the Standard class, and what the smallest file system has.
EFS_BASELINE_PER_TIB = Quota(50 * MIB, _EFS)
EFS_BASELINE_LEAST = Quota(1 * MIB, _EFS)
EFS_BURST_PER_TIB = Quota(100 * MIB, _EFS)
EFS_BURST_LEAST = Quota(100 * MIB, _EFS)
# Credits that a file system keeps at most, up to one TiB and for each TiB above it.
EFS_CREDITS_PER_TIB = Quota(2.1 * 1024 * GIB, _EFS)
# Every request counts as at least so many bytes; what is read counts as a third.
EFS_LEAST_METERED = Quota(4 * 1024, _EFS)
EFS_READ_SHARE = Quota(1 / 3, _EFS)
