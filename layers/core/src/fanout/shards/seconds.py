"""Predicted seconds of copying: a fixed cost an entry plus its bytes over a rate."""

from __future__ import annotations

from fanout.facts import aws, tuning
from fanout.model.shard import OPERATIONS_PER_FILE, Rates

# Chosen, not measured: 64 requests in flight that take 60 ms each or, of large objects, 50 MB/s each.
INSIDE_S3_RATES = Rates(seconds_per_entry=0.001, bytes_per_second=3_200_000_000.0)

# docs.aws.amazon.com/efs/latest/ug/performance.html and the Lambda limits, as in `limits`.
DEFAULT_RATES = Rates(
    seconds_per_entry=OPERATIONS_PER_FILE * aws.EFS_WRITE_SECONDS / tuning.CLIENT_OPERATIONS_IN_FLIGHT,
    bytes_per_second=float(aws.LAMBDA_NETWORK_BYTES_PER_SECOND),
)
