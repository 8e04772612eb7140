"""Predicted seconds of copying: a fixed cost an entry plus its bytes over a rate."""

from __future__ import annotations

from msgspec import Struct

from fanout.domain import limits

# Operations of one file at an EFS destination: create, write, setattr, close, rename, and half a
# look-up of a directory that other files share.
OPERATIONS_PER_FILE = 5.5
# In one directory: one creation after the other, at the best-case latency of a write.
CREATIONS_PER_SECOND = 1 / limits.EFS_WRITE_SECONDS


class Rates(Struct, frozen=True):
    """What one function does: seconds an entry and bytes a second."""

    seconds_per_entry: float
    bytes_per_second: float

    def seconds(self, entries: int, size: int) -> float:
        """Predicted seconds for so many entries of ``size`` bytes in all."""
        return entries * self.seconds_per_entry + size / self.bytes_per_second


# Chosen, not measured: 64 requests in flight that take 60 ms each or, of large objects, 50 MB/s each.
INSIDE_S3_RATES = Rates(seconds_per_entry=0.001, bytes_per_second=3_200_000_000.0)

# docs.aws.amazon.com/efs/latest/ug/performance.html and the Lambda limits, as in `limits`.
DEFAULT_RATES = Rates(
    seconds_per_entry=OPERATIONS_PER_FILE * limits.EFS_WRITE_SECONDS / limits.CLIENT_OPERATIONS_IN_FLIGHT,
    bytes_per_second=float(limits.LAMBDA_NETWORK_BYTES_PER_SECOND),
)
