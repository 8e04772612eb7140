"""Quotas and prices that the model of scale rests on, as read on DATE; each names the page that it came from."""

from __future__ import annotations

from typing import NamedTuple

DATE = "2026-11"


class Quota(NamedTuple):
    """A quota: its value and the page that states it, below docs.aws.amazon.com."""

    value: float
    page: str


_STEP_FUNCTIONS = "step-functions/latest/dg/service-quotas.html"
_MAP = "step-functions/latest/dg/state-map-distributed.html"
_READER = "step-functions/latest/dg/input-output-itemreader.html"
_LAMBDA = "lambda/latest/dg/gettingstarted-limits.html"

STATE_BYTES = Quota(256 * 1024, _STEP_FUNCTIONS)
HISTORY_EVENTS = Quota(25_000, _STEP_FUNCTIONS)
MAP_ITEMS = Quota(100_000_000, _MAP)
MAP_CONCURRENCY = Quota(10_000, _MAP)
READER_BYTES = Quota(10 * 10**9, _READER)
FUNCTION_SECONDS = Quota(900, _LAMBDA)
FUNCTION_MEMORY_MB = Quota(10_240, _LAMBDA)
# At least so many a second and partitioned prefix.
S3_GET_PER_SECOND = Quota(5_500, "AmazonS3/latest/userguide/optimizing-performance.html")

# us-east-1; second-hand, from pages that quote the price lists.
DOLLARS_TRANSITION = 0.025 / 1000
DOLLARS_GB_SECOND_ARM = 0.0000133334
DOLLARS_INVOCATION = 0.20 / 1_000_000
DOLLARS_PUT_OR_LIST = 0.005 / 1000
DOLLARS_GET = 0.0004 / 1000
