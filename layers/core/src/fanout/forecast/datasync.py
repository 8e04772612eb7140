"""The dollars of the same work with AWS DataSync, in the cheaper of its two task modes.

Both modes take the same requests and metering for the copy. The verification is the one that the request asks for:

| ``verify``                | DataSync's VerifyMode      | Basic reads again       | Enhanced reads again    |
|---------------------------|----------------------------|-------------------------|-------------------------|
| none                      | NONE                       | nothing                 | nothing                 |
| copied                    | ONLY_FILES_TRANSFERRED     | at the destination      | at the destination      |
| content, all, mode verify | POINT_IN_TIME_CONSISTENT   | both ends               | not possible            |

Basic takes a limited number of items a task. Where it takes too many, Enhanced does what it can. Source:
docs.aws.amazon.com/datasync/latest/userguide/choosing-task-mode.html, and Options of its API.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from types import MappingProxyType

from msgspec import Struct
from msgspec.structs import replace

from fanout.efs.capacity import FileSystemState
from fanout.efs.load import RequestCount, Work, loads_of, loads_to_list, reading, requests_of
from fanout.facts import aws
from fanout.facts.units import GB
from fanout.forecast.between_regions import to_copy
from fanout.forecast.costs import metering_dollars, request_dollars
from fanout.model.location import Location
from fanout.request.options import Verify
from fanout.request.request import Request


class TaskMode(StrEnum):
    BASIC = "basic"
    ENHANCED = "enhanced"


class DataSync(Struct, frozen=True):
    """The dollars of a DataSync task: its fee, requests to S3, metering of EFS, and ``transfer`` between regions."""

    mode: TaskMode
    fee: float
    s3: float
    efs: float
    transfer: float = 0.0

    @property
    def total(self) -> float:
        return self.fee + self.s3 + self.efs + self.transfer


class _Reads(Struct, frozen=True):
    """Requests to S3, and metering of EFS, in dollars."""

    s3: float = 0.0
    efs: float = 0.0


def datasync_of(
    request: Request,
    work: Work,
    states: Mapping[str, FileSystemState],
    price: Mapping[str, float],
    regions: Mapping[str, str] = MappingProxyType({}),
) -> DataSync:
    """The cheaper mode of those that can do the work; Enhanced where neither does all of it.

    Between regions its copy is charged as ours is; what its verification reads there is left out.
    """
    transfer = sum(to_copy(request, work.bytes, 0, regions, price).values())
    return replace(_cheaper(request, work, states, price), transfer=transfer)


def _cheaper(
    request: Request, work: Work, states: Mapping[str, FileSystemState], price: Mapping[str, float]
) -> DataSync:
    enhanced = _task(TaskMode.ENHANCED, request, work, states, price)
    if work.listed > aws.DATASYNC_BASIC_ITEMS:
        return enhanced
    basic = _task(TaskMode.BASIC, request, work, states, price)
    return basic if _compares_trees(request) else min(basic, enhanced, key=lambda found: found.total)


def basic_verification(
    request: Request, work: Work, states: Mapping[str, FileSystemState], price: Mapping[str, float]
) -> float:
    """The dollars of reading both ends once more, as Basic does unless its VerifyMode says otherwise."""
    reads = _reads((request.source, request.destination), work, states, price)
    return reads.s3 + reads.efs


def _task(
    mode: TaskMode,
    request: Request,
    work: Work,
    states: Mapping[str, FileSystemState],
    price: Mapping[str, float],
) -> DataSync:
    moved = 0 if request.course.compares else work.bytes
    by_the_gb = price["datasync_basic_gb" if mode is TaskMode.BASIC else "datasync_gb"]
    fee = moved / GB * by_the_gb + (price["datasync_task"] if mode is TaskMode.ENHANCED else 0.0)
    copied, again = _copied(request, work, states, price), _Reads()
    if _compares_trees(request) and mode is TaskMode.BASIC:
        again = _reads((request.source, request.destination), work, states, price)
    elif request.verifies_after is not Verify.NONE:
        again = _reads((request.destination,), work, states, price)
    return DataSync(mode, fee, copied.s3 + again.s3, copied.efs + again.efs)


def _compares_trees(request: Request) -> bool:
    return request.course.compares or request.verifies_after.whole_trees


def _copied(request: Request, work: Work, states: Mapping[str, FileSystemState], price: Mapping[str, float]) -> _Reads:
    """Listing both ends, and the copy; a copy between two file systems needs no S3."""
    metering = metering_dollars(loads_to_list(request, work), states, price)
    found = requests_of(request, work, 0)
    if request.course.compares:
        return _Reads(request_dollars(RequestCount(lists=found.lists), price), metering)
    s3 = 0.0 if request.between_mounts else request_dollars(found, price)
    return _Reads(s3, metering + metering_dollars(loads_of(request, work), states, price))


def _reads(
    ends: Sequence[Location], work: Work, states: Mapping[str, FileSystemState], price: Mapping[str, float]
) -> _Reads:
    """Reading the data of these ends once more."""
    requests, loads = reading(ends, work)
    return _Reads(request_dollars(requests, price), metering_dollars(loads, states, price))
