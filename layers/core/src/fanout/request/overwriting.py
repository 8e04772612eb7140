"""When ``overwrite`` replaces what is at an entry's place, by the times of both."""

from __future__ import annotations

from fanout.model.entry import SECOND_NS
from fanout.request.options import Overwrite


def replaces(overwrite: Overwrite, source_ns: int, destination_ns: int) -> bool:
    """Whether what is there is replaced; times are nanoseconds since 1970, the destination's the latest it may be."""
    if overwrite is Overwrite.IF_NEWER:
        return source_ns > destination_ns
    return overwrite is Overwrite.ALWAYS


def latest_of_second(time_ns: int) -> int:
    """The latest time that a header in whole seconds may mean."""
    return time_ns - time_ns % SECOND_NS + SECOND_NS - 1
