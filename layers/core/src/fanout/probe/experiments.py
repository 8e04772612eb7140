"""The experiments and the plan of a probe: its budget is checked, and split among them, before any begins.

| experiment         | what varies                                  | functions      | unit           |
|--------------------|----------------------------------------------|----------------|----------------|
| write_by_io_size   | bytes of one write, 64 KiB to 16 MiB         | one            | bytes a second |
| write_by_sync      | synced once at the end, or after each block  | one            | bytes a second |
| write_by_threads   | threads of a function, 1 to 64               | one            | bytes a second |
| write_latency      | size and number of files, one after another  | one            | seconds        |
| stream             | chunks of 1 KiB into one file                | one            | bytes a second |
| create_latency     | one thread that creates empty files          | one            | seconds        |
| creations          | 32 threads in one directory, and over 32     | one            | a second       |
| write_by_functions | functions that write at once                 | 1, 2, 4, 8 ... | bytes a second |
| read_by_functions  | functions that read what others wrote        | 1, 2, 4, 8 ... | bytes a second |
| ranged_writes      | functions that write ranges of one file      | 1, 2, 4, 8 ... | bytes a second |
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from fanout.efs.capacity import FileSystemState, reserve_bytes
from fanout.efs.probe_result import Experiment, Point, Sync
from fanout.facts.units import KIB, MIB
from fanout.ledger import probe_keys
from fanout.model.errors import InvalidRequest
from fanout.model.path_rules import PlainName
from fanout.probe.request import ProbeRequest


class Share(NamedTuple):
    """An experiment's part of the bytes and of the seconds, in hundredths."""

    bytes: int
    seconds: int


# Chosen: most bytes where several functions are to reach a limit; what is read is a part of what was written.
SHARES = {
    Experiment.WRITE_BY_IO_SIZE: Share(12, 12),
    Experiment.WRITE_BY_SYNC: Share(4, 6),
    Experiment.WRITE_BY_THREADS: Share(14, 14),
    Experiment.WRITE_LATENCY: Share(10, 14),
    Experiment.STREAM: Share(1, 4),
    Experiment.CREATE_LATENCY: Share(1, 4),
    Experiment.CREATIONS: Share(2, 8),
    Experiment.WRITE_BY_FUNCTIONS: Share(29, 14),
    Experiment.READ_BY_FUNCTIONS: Share(15, 12),
    Experiment.RANGED_WRITES: Share(12, 12),
}
# docs.aws.amazon.com/efs/latest/ug/metered-sizes.html: a request counts as at least so much, a creation too.
LEAST_BYTES = 4 * KIB
# Chosen: one part in so many is for trying out how fast the file system is, which is no sample; at most so many bytes.
TRIAL_SHARE = 16
TRIAL_BYTES = 1 * MIB
# Chosen: how often a point is measured, as far as the budget goes, so that it has a median and a spread.
REPEATS = 3
# Chosen: bytes of one sample of one thread; more would only take longer.
SAMPLE_BYTES = 32 * MIB
SHARED_FILE_BYTES = 1 * MIB
LEAST_FILE_BYTES = 64 * KIB
IO_SIZES = (64 * KIB, 256 * KIB, 1 * MIB, 4 * MIB, 16 * MIB)
THREADS = (1, 2, 4, 8, 16, 32, 64)
LATENCIES = ((4 * KIB, 1), (4 * KIB, 10), (4 * KIB, 100), (1 * MIB, 1), (1 * MIB, 10), (100 * MIB, 1), (100 * MIB, 3))
STREAM_BYTES = 1 * KIB
STREAMED_BYTES = 8 * MIB
FUNCTIONS = (1, 2, 4, 8, 16, 32)
SHARED_THREADS = 16
# Chosen: few, because a kernel lets one thread at a time write into a file, and sends what they wrote all at once.
RANGED_THREADS = 2
CREATING_THREADS = 32
# Chosen: the share of the seconds given to rounds, and the share by which the last round ends in any case. The rest is
# for starting functions and for removing the written files.
ROUNDS_PART = 0.6
ENDS_PART = 0.85
# Chosen: what one function works at most, well below its time limit.
ROUND_SECONDS = 100.0


def point_of(
    threads: int = 1,
    directories: int = 1,
    files: int = 1,
    file_bytes: int = 0,
    io_bytes: int = 0,
    sync: Sync = Sync.END,
) -> Point:
    """A point of measurement; by default one thread creates one empty file."""
    return Point(
        threads=threads, directories=directories, files=files, file_bytes=file_bytes, io_bytes=io_bytes, sync=sync
    )


def cost_of(point: Point) -> int:
    """Bytes of the budget that one sample of a point takes."""
    return point.threads * point.files * file_cost(point.file_bytes)


def file_cost(size: int) -> int:
    """Bytes of the budget that a file of this size takes."""
    return max(size, LEAST_BYTES)


class ProbeRound(Struct, frozen=True):
    """Functions that work at once; ``bytes`` and ``seconds`` are what each of them may use."""

    number: int
    experiment: Experiment
    functions: int
    bytes: int
    seconds: float
    points: tuple[Point, ...]

    def name(self, member: int) -> str:
        """The name of a member's working directory and of its results."""
        return f"{self.number:02d}-{member:02d}"


def rounds_of(request: ProbeRequest) -> tuple[ProbeRound, ...]:
    """The rounds in their order; what their functions may use adds up to no more than the budget."""
    rounds: list[ProbeRound] = []
    numbers = [count for count in FUNCTIONS if count < request.max_functions] + [request.max_functions]
    for experiment, share in SHARES.items():
        size = request.budget_bytes * share.bytes // 100
        seconds = request.budget_seconds * ROUNDS_PART * share.seconds / 100
        for functions in numbers if experiment.is_shared else (1,):
            # More functions get more, each of them as much: so n of them work as long as one alone.
            each = size // sum(numbers) if experiment.is_shared else size
            within = min(ROUND_SECONDS, seconds / len(numbers) if experiment.is_shared else seconds)
            points = tuple(points_of(experiment, each))
            rounds.append(ProbeRound(len(rounds), experiment, functions, each, within, points))
    return tuple(rounds)


def points_of(experiment: Experiment, size: int) -> Iterator[Point]:
    """The points of an experiment whose function may move so many bytes, the cheap ones first."""
    size -= size // TRIAL_SHARE
    match experiment:
        case Experiment.WRITE_BY_IO_SIZE:
            wanted = min(SAMPLE_BYTES, size // REPEATS // len(IO_SIZES))
            yield from (point_of(file_bytes=max(io, wanted // io * io), io_bytes=io) for io in IO_SIZES)
        case Experiment.WRITE_BY_SYNC:
            wanted = min(SAMPLE_BYTES, size // REPEATS // len(Sync)) // MIB * MIB
            for sync in (Sync.END, Sync.BLOCK):
                yield point_of(file_bytes=max(MIB, wanted), io_bytes=MIB, sync=sync)
        case Experiment.WRITE_BY_THREADS:
            files = {threads: max(1, 8 // threads) for threads in THREADS}
            each = power_of_two(size // REPEATS // sum(threads * count for threads, count in files.items()))
            for threads, count in files.items():
                yield point_of(threads, threads, count, each, min(each, MIB))
        case Experiment.WRITE_LATENCY:
            for each, count in LATENCIES:
                yield point_of(1, 1, count, each, min(each, MIB), Sync.CLOSE)
        case Experiment.STREAM:
            wanted = min(STREAMED_BYTES, size // REPEATS)
            yield point_of(file_bytes=max(STREAM_BYTES, wanted // STREAM_BYTES * STREAM_BYTES), io_bytes=STREAM_BYTES)
        case Experiment.CREATE_LATENCY:
            yield point_of(files=max(1, min(100, size // REPEATS // LEAST_BYTES)), sync=Sync.CLOSE)
        case Experiment.CREATIONS:
            count = max(1, min(16, size // REPEATS // 2 // CREATING_THREADS // LEAST_BYTES))
            yield point_of(CREATING_THREADS, 1, count, sync=Sync.CLOSE)
            yield point_of(CREATING_THREADS, CREATING_THREADS, count, sync=Sync.CLOSE)
        case _:
            threads = RANGED_THREADS if experiment is Experiment.RANGED_WRITES else SHARED_THREADS
            each = power_of_two(size // threads, SHARED_FILE_BYTES)
            yield point_of(threads, threads, max(1, size // threads // each), each, each)


def power_of_two(wanted: int, most: int = 4 * MIB) -> int:
    """The greatest power of two up to ``wanted``, within ``LEAST_FILE_BYTES`` and ``most``."""
    return max(LEAST_FILE_BYTES, min(most, 1 << max(0, wanted.bit_length() - 1)))


def fitted(
    experiment: Experiment, point: Point, rate: float, left_seconds: float, slice_seconds: float
) -> Point | None:
    """The point with files that a sample's time suffices for at ``rate``, bytes a second; ``None`` if it cannot.

    Where the size of the files is what is measured, they stay as they are, and may take what time is left. A rate of 0
    is not known yet.
    """
    if not rate or experiment in (Experiment.CREATE_LATENCY, Experiment.CREATIONS):
        return point
    if experiment is Experiment.WRITE_LATENCY:
        return point if cost_of(point) <= rate * left_seconds else None
    able = int(rate * slice_seconds / point.threads / point.files)
    if point.file_bytes <= able:
        return point
    if experiment is Experiment.WRITE_BY_THREADS:
        size = min(point.file_bytes, power_of_two(able))
        point = replace(point, file_bytes=size, io_bytes=min(size, point.io_bytes))
    else:
        point = replace(point, file_bytes=max(1, able // point.io_bytes) * point.io_bytes)
    return point if cost_of(point) <= rate * left_seconds else None


def shared_point(point: Point, able: float) -> Point:
    """The point of a function that works while others do; ``able`` bytes make one file a thread."""
    each = min(point.file_bytes, power_of_two(int(able / point.threads)))
    return replace(point, files=point.files * point.file_bytes // each, file_bytes=each, io_bytes=each)


def files_to_read(paths: Sequence[str], client: str, member: int, members: int) -> tuple[list[str], bool]:
    """Which of the files that were written a function reads, and whether others wrote all of them.

    The name of a file begins with the client that wrote it; what one wrote itself it may still hold in memory.
    """
    others = [path for path in paths if not path.rpartition("/")[2].startswith(f"{client}-")]
    return list((others or paths)[member::members]), bool(others)


class ProbePlan(Struct, frozen=True):
    """``ends_at`` is when the last experiment ends, in seconds since 1970; ``file_system_id`` may be empty.

    ``state`` is what EFS and CloudWatch say; ``None`` for a mount without an id.
    """

    probe_id: PlainName
    mount: str
    file_system_id: str
    request: ProbeRequest
    began_at: float
    ends_at: float
    state: FileSystemState | None
    rounds: tuple[ProbeRound, ...]


PROBE_PLAN = probe_keys.PLAN.of(ProbePlan)


def check_credits(state: FileSystemState, request: ProbeRequest) -> None:
    """Raise ``InvalidRequest`` where the budget would spend burst credits that are to stay for others.

    Every byte of the budget counts as written, which errs towards the file system: what is read is metered as a third.
    """
    if state.credits_bytes is None:
        return
    spare = state.credits_bytes - reserve_bytes(state, request.credit_reserve_percent)
    if spare >= request.budget_bytes:
        return
    why = "; ".join(note for note in state.assumptions if note.startswith("BurstCredit"))
    problem = f"{_mib(request.budget_bytes)} are more than the burst credits that may be spent, {_mib(max(0.0, spare))}"
    allowed = "wait for credits, or ask for less or for a smaller credit_reserve_percent"
    raise InvalidRequest("budget_bytes", f"{problem} ({why})" if why else problem, allowed)


def check_space(free_bytes: int, request: ProbeRequest) -> None:
    """Raise ``InvalidRequest`` where the budget would fill the file system."""
    if free_bytes < request.budget_bytes:
        problem = f"{_mib(request.budget_bytes)} are more than what is free, {_mib(free_bytes)}"
        raise InvalidRequest("budget_bytes", problem, "free space, or ask for less")


def _mib(size: float) -> str:
    return f"{int(size // MIB):,} MiB"
