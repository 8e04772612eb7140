"""Models the capacity of an EFS file system: bytes and operations a second, and its burst credits over time.

Sources: docs.aws.amazon.com/efs/latest/ug/performance.html, as in ``quotas``. Bytes are metered ones unless said
otherwise: what is written counts whole, what is read a third.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec import Struct
from msgspec.structs import astuple

from fanout.facts import aws
from fanout.facts.units import MIB
from fanout.model.file_system import ThroughputMode

_TIB = 1024.0**4
# Chosen: whatever others use, this share of the limit is the run's, or it would never end.
LEAST_SHARE = 0.1


class FileSystemState(Struct, frozen=True):
    """A file system as the plan takes it to be.

    ``permitted_bytes_per_second`` is what it allows in all now, ``others_bytes_per_second`` what others use of it, both
    metered; ``others_iops_share`` is the part of its operations that others use. ``credits_bytes`` is ``None`` where
    credits play no part. ``probed_bytes_per_second`` is the most that a probe could write while others wrote, if it
    reached that limit. ``puts_a_file`` are requests to a bucket behind it, for each file
    written. ``assumptions`` says in a sentence each what was not measured.
    """

    mode: ThroughputMode
    permitted_bytes_per_second: float
    one_zone: bool = False
    performance_mode: str = "generalPurpose"
    standard_bytes: int = 0
    stored_bytes: int = 0
    others_bytes_per_second: float = 0.0
    others_iops_share: float = 0.0
    credits_bytes: float | None = None
    assumptions: tuple[str, ...] = ()
    probed_bytes_per_second: float | None = None
    puts_a_file: int = 0

    @property
    def quota(self) -> aws.FileSystemQuota:
        """The published figures: of One Zone storage, or of the mode; of an unknown mode the smallest ones."""
        if self.one_zone:
            return aws.EFS_ONE_ZONE
        return aws.EFS.get(self.mode.value, aws.EFS["bursting"])


class Load(Struct, frozen=True):
    """The load of a run on one file system: operations, and bytes with each request counted as at least 4 KiB.

    ``more_read_bytes`` and ``more_written_bytes`` are what the mode Elastic bills beyond these for small files.
    """

    read_operations: float = 0.0
    read_bytes: float = 0.0
    written_operations: float = 0.0
    written_bytes: float = 0.0
    more_read_bytes: float = 0.0
    more_written_bytes: float = 0.0

    def __add__(self, other: Load) -> Load:
        return Load(*map(sum, zip(astuple(self), astuple(other), strict=True)))

    @property
    def metered_bytes(self) -> float:
        """Bytes as they count against throughput and credits."""
        return self.read_bytes * aws.EFS_READ_SHARE + self.written_bytes


def merged(loads: Iterable[Mapping[str, Load]]) -> dict[str, Load]:
    """The loads together, by mount."""
    found: dict[str, Load] = {}
    for mount, load in (one for each in loads for one in each.items()):
        found[mount] = found.get(mount, Load()) + load
    return found


class Drain(Struct, frozen=True):
    """The credits over a run: its seconds, the credits left at the end, and when they ran out, if they did.

    ``empty_share`` is the share of the work done by then, ``empty_seconds`` the time from its begin.
    """

    seconds: float
    credits_end: float
    empty_share: float | None = None
    empty_seconds: float | None = None


def baseline(standard_bytes: float) -> float:
    """Bytes a second that a bursting file system earns, and may always do: 50 MiB/s a TiB, at least 1 MiB/s."""
    return _capped(max(aws.EFS_BASELINE_LEAST, aws.EFS_BASELINE_PER_TIB * standard_bytes / _TIB))


def burst(standard_bytes: float) -> float:
    """Bytes a second while credits last: 100 MiB/s a TiB, at least 100 MiB/s."""
    return _capped(max(aws.EFS_BURST_LEAST, aws.EFS_BURST_PER_TIB * standard_bytes / _TIB))


def _capped(rate: float) -> float:
    return min(rate, aws.EFS["bursting"].write_bytes_per_second)


def most_credits(standard_bytes: float) -> float:
    """Credits at most, bytes: 2.1 TiB, and above one TiB as much for each."""
    return aws.EFS_CREDITS_PER_TIB * max(1.0, standard_bytes / _TIB)


def published(mode: ThroughputMode, standard_bytes: float, provisioned: float, one_zone: bool) -> float:
    """Metered bytes a second that a mode permits by its published figures; with credits, if it has any."""
    quota = aws.EFS_ONE_ZONE if one_zone else aws.EFS.get(mode.value, aws.EFS["bursting"])
    figures = {
        ThroughputMode.BURSTING: burst(standard_bytes),
        ThroughputMode.PROVISIONED: max(provisioned, baseline(standard_bytes)),
        ThroughputMode.ELASTIC: quota.write_bytes_per_second,
        ThroughputMode.ASSUMED: aws.EFS_BURST_LEAST,
    }
    return min(figures[mode], quota.write_bytes_per_second)


def assumed_state(why: str) -> FileSystemState:
    """The state assumed for a file system that cannot be measured: the smallest published figures, no other users."""
    rate = published(ThroughputMode.ASSUMED, 0, 0, one_zone=False)
    sentence = f"{why}; {rate / MIB:.0f} MiB/s and the IOPS of Bursting are assumed"
    return FileSystemState(ThroughputMode.ASSUMED, rate, assumptions=(sentence,))


def left_for_run(state: FileSystemState, permitted: float) -> float:
    """The part of a rate that others leave to the run: at least ``LEAST_SHARE`` of it, at most the probed rate."""
    left = max(permitted - state.others_bytes_per_second, permitted * LEAST_SHARE)
    return left if state.probed_bytes_per_second is None else min(left, state.probed_bytes_per_second)


def iops_seconds(state: FileSystemState, load: Load) -> float:
    """Seconds that the operations take at least; shares of read and of write operations add up."""
    share = max(1 - state.others_iops_share, LEAST_SHARE)
    reads, writes = state.quota.read_iops * share, state.quota.write_iops * share
    return load.read_operations / reads + load.written_operations / writes


def drain(state: FileSystemState, metered: float, rate: float) -> Drain:
    """Move so many metered bytes at ``rate`` or what the file system leaves, until the credits end, then at baseline.

    Exact for constant rates; credits over the most that is kept are lost.
    """
    if state.credits_bytes is None:
        return Drain(metered / min(rate, left_for_run(state, state.permitted_bytes_per_second)), 0.0)
    earned, used = baseline(state.standard_bytes), state.others_bytes_per_second
    slow = min(rate, left_for_run(state, earned))
    fast = min(rate, left_for_run(state, burst(state.standard_bytes))) if state.credits_bytes > 0 else slow
    loss = fast + used - earned
    seconds = metered / fast
    if loss <= 0 or state.credits_bytes >= loss * seconds:
        most = most_credits(state.standard_bytes)
        return Drain(seconds, min(most, max(0.0, state.credits_bytes - loss * seconds)))
    empty = state.credits_bytes / loss
    moved = fast * empty
    return Drain(empty + (metered - moved) / slow, 0.0, moved / metered, empty)


def reserve_bytes(state: FileSystemState, percent: float) -> float:
    """The credits that stay for others: so many percent of what the file system can keep."""
    return most_credits(state.standard_bytes) * percent / 100 if state.credits_bytes is not None else 0.0


def kept_rate(state: FileSystemState, metered: float, reserve: float) -> float:
    """The fastest constant rate, metered, that leaves ``reserve`` credits at the end.

    Where even they are used up already, or others use more than is earned, the rate that spends none.
    """
    if state.credits_bytes is None:
        return left_for_run(state, state.permitted_bytes_per_second)
    earned, used = baseline(state.standard_bytes), state.others_bytes_per_second
    slow = left_for_run(state, earned)
    fast = max(slow, left_for_run(state, burst(state.standard_bytes)))
    spendable = state.credits_bytes - reserve
    if spendable <= 0:
        return slow
    if spendable >= (fast + used - earned) * metered / fast:
        return fast
    # credits - (rate + used - earned) * metered / rate = reserve, solved for the rate.
    return max(slow, (earned - used) * metered / (metered - spendable)) if metered > spendable else slow
