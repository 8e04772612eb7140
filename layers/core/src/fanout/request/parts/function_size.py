"""Time and memory of the stack's functions, by which a run is planned and its price reckoned."""

from __future__ import annotations

from msgspec import Struct

from fanout.facts import aws, tuning

MB_PER_GB = 1000  # as Lambda bills


class FunctionSize(Struct, frozen=True):
    """The most that a function that lists, copies or verifies may take, as the template's parameters set it."""

    seconds: int = aws.FUNCTION_SECONDS
    megabytes: int = tuning.FUNCTION_MEGABYTES

    @property
    def gigabytes(self) -> float:
        """The memory, as Lambda bills it."""
        return self.megabytes / MB_PER_GB

    @property
    def shard_seconds(self) -> float:
        """The most predicted seconds of a shard: half of a function's time, because predictions err."""
        return self.seconds / 2


# Where the stack is not known: what one of any size may be asked.
LARGEST = FunctionSize(seconds=aws.FUNCTION_SECONDS_MOST)
