"""The load of a run on the services: requests to S3, operations and bytes of each file system."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from fanout.efs.capacity import FileSystemState, Load
from fanout.efs.seconds import operations_of
from fanout.facts import aws, tuning, units
from fanout.facts.operations import (
    ENTRIES_PER_DIRECTORY,
    LINK_OPERATIONS_PER_FILE,
    LIST_OPERATIONS_PER_DIRECTORY,
    LISTED_ENTRY_BYTES,
    READ_OPERATIONS_PER_FILE,
)
from fanout.model.books import Count
from fanout.model.location import Location
from fanout.request.options import Compare
from fanout.request.proven_ends import Ends, ends_to_prove
from fanout.request.request import Request

LIST_PAGE = 1_000
# Lists besides the pages: of a run at each bucket, to see the tree; of one to a mount that leaves an index; of a
# segment, to cut what is too long for one.
LISTS_OF_RUN, LISTS_TO_MOUNT, LISTS_PER_SEGMENT = 2, 1, 20


class Work(Struct, frozen=True):
    """The work of a run: the entries listed, those of them to copy or compare, and their bytes.

    ``longest_seconds`` is the predicted time of the longest shard. ``largest_directory`` is the number of files to copy
    in the directory that has most of them. Both are 0 where not known. ``extras`` are the entries that a sync deletes,
    ``there`` all that are listed at the destination. ``held`` are entries and bytes by what holds them. ``linked`` is
    what gets names of files that the destination holds; it is in no other figure but ``listed`` and ``shards``.
    ``listed_bytes`` are those of all entries listed. ``compared`` is what ``compare: checksum`` reads at both ends,
    before it copies what differs. ``heads`` are the requests of the listing besides its pages. ``sizes`` are the files
    listed, in groups of about one size each; none: all are alike. ``directories`` are those among ``listed``, ``None``
    where that is not known. ``done`` is what an earlier run copied and this one verifies, in no figure but those two.
    """

    listed: int
    entries: int
    bytes: int
    shards: int
    longest_seconds: float
    largest_directory: int = 0
    extras: int = 0
    there: int = 0
    held: Mapping[str, Count] = field(default_factory=dict)
    linked: Count = Count()
    listed_bytes: int = 0
    compared: Count = Count()
    heads: int = 0
    sizes: tuple[Count, ...] = ()
    directories: int | None = None
    done: Count = Count()


def directories_in(listed: int, sizes: Iterable[Count]) -> int:
    """The directories among what was listed at a mount: what is no file; a link counts as one."""
    return listed - sum(group.entries for group in sizes)


class RequestCount(Struct, frozen=True):
    """Requests by their price; those that list are among the puts."""

    gets: float = 0.0
    puts: float = 0.0
    lists: float = 0.0

    def __add__(self, other: RequestCount) -> RequestCount:
        return RequestCount(self.gets + other.gets, self.puts + other.puts, self.lists + other.lists)


def lists_of(work: Work, segments: int) -> float:
    """Requests to list a bucket in so many segments."""
    return max(1, work.listed / LIST_PAGE) + (segments * LISTS_PER_SEGMENT if segments > 1 else 0)


def lists_of_directories(work: Work, entries: int) -> float:
    """Requests to see whether objects of directories are those that were asked for: one with each HEAD of them.

    Of so many entries, among which are as many directories as among those listed.
    """
    return (work.directories or 0) * entries / max(1, work.listed)


def requests_of(request: Request, work: Work, segments: int) -> RequestCount:
    """Requests to the buckets of the request, and to stage between two mounts; not those to the ledger."""
    ends = [end.is_keyed for end in (request.source, request.destination)]
    lists = (LISTS_OF_RUN + lists_of(work, segments)) * sum(ends)
    blocks = work.entries + work.bytes / tuning.BLOCK_BYTES
    if request.course.compares:  # a HEAD each, as S3 keeps checksums
        return RequestCount(
            gets=float(work.entries * sum(ends)), lists=lists + lists_of_directories(work, work.entries) * sum(ends)
        )
    if ends_to_prove(request) is Ends.S3_TO_MOUNT:
        lists += LISTS_TO_MOUNT
    looks = float(work.compared.entries * sum(ends))  # a HEAD, or a GET of a very small object
    if request.inside_s3:
        copies = work.entries + work.bytes / tuning.COPY_PART_BYTES
        return RequestCount(looks + work.entries, copies, lists)  # a HEAD before each copy
    if request.between_mounts:
        staged = work.bytes / tuning.BLOCK_BYTES + work.shards
        return RequestCount(staged, staged, lists)
    return RequestCount(blocks * ends[0] + looks, blocks * ends[1], lists)


def requests_behind(request: Request, work: Work, states: Mapping[str, FileSystemState]) -> RequestCount:
    """Requests by which what is copied to a mount of S3 Files gets to its bucket; later, so they hold nothing up."""
    state = states.get(request.destination.mount)
    return (
        RequestCount(puts=float(work.entries * state.puts_a_file))
        if state and request.course.copies
        else RequestCount()
    )


def reads_before_copying(request: Request) -> bool:
    """Whether files that both ends hold are read at both, to copy those alone that differ."""
    return request.compare is Compare.CHECKSUM and not request.course.compares


def reading(ends: Sequence[Location], work: Work) -> tuple[RequestCount, Mapping[str, Load]]:
    """Requests to S3, and the load of each mount by name, of reading all data of these ends."""
    blocks = work.entries + work.bytes / tuning.BLOCK_BYTES
    loads: dict[str, Load] = {}
    for end in ends:
        if not end.is_keyed:
            loads[end.mount] = loads.get(end.mount, Load()) + _read(work)
    return RequestCount(gets=blocks * sum(end.is_keyed for end in ends)), loads


def loads_of(request: Request, work: Work) -> Mapping[str, Load]:
    """The load of the run on each mount, by name."""
    loads: dict[str, Load] = {}
    writes = not request.course.compares
    read = work.compared if writes else Count()
    compared = replace(work, entries=read.entries, bytes=read.bytes)
    for end, is_written in ((request.source, False), (request.destination, writes)):
        if not end.is_keyed:
            load = _written(request, work) if is_written else _read(work)
            loads[end.mount] = loads.get(end.mount, Load()) + load + _read(compared)
    return loads


def loads_to_list(request: Request, work: Work) -> Mapping[str, Load]:
    """The load of listing each mount once: some operations a directory, whose answers hold its entries.

    Rows of a manifest are looked up one by one.
    """
    share = 1 / ENTRIES_PER_DIRECTORY if work.directories is None else work.directories / max(1, work.listed)
    operations, size = share * LIST_OPERATIONS_PER_DIRECTORY, float(LISTED_ENTRY_BYTES)
    if request.manifest is not None:
        operations, size = 1.0, 0.0
    each = operations * aws.EFS_LEAST_METERED + size
    loads: dict[str, Load] = {}
    for end, entries in ((request.source, work.listed), (request.destination, work.there)):
        if not end.is_keyed and entries:
            load = Load(read_operations=entries * operations, read_bytes=entries * each)
            loads[end.mount] = loads.get(end.mount, Load()) + load
    return loads


def _written(request: Request, work: Work) -> Load:
    each, links = operations_of(request), work.linked.entries * LINK_OPERATIONS_PER_FILE
    operations, metered = work.entries * each, _metered(work, each) + links * aws.EFS_LEAST_METERED
    more = _billed_more(work)
    return Load(written_operations=operations + links + _more(work), written_bytes=metered, more_written_bytes=more)


def _read(work: Work) -> Load:
    operations = work.entries * READ_OPERATIONS_PER_FILE
    metered, more = _metered(work, READ_OPERATIONS_PER_FILE), _billed_more(work)
    return Load(read_operations=operations + _more(work), read_bytes=metered, more_read_bytes=more)


def _more(work: Work) -> float:
    """Operations of data beyond the first of each file: one a MiB, the size in which an NFS client asks."""
    return work.bytes / units.MIB


def _metered(work: Work, operations: float) -> float:
    """The data, at least 4 KiB a file, and 4 KiB for each other operation."""
    least = aws.EFS_LEAST_METERED
    return _each_at_least(least, work) + work.entries * (operations - 1) * least


def _billed_more(work: Work) -> float:
    """Bytes that the mode Elastic bills beyond: 32 KiB for a file's data at least."""
    return _each_at_least(aws.EFS_LEAST_BILLED, work) - _each_at_least(aws.EFS_LEAST_METERED, work)


def _each_at_least(least: int, work: Work) -> float:
    """The data of the files to copy, each counted as so many bytes at least.

    They are taken to be small as often as those listed. No other sizes need less than equal ones.
    """
    files = sum(group.entries for group in work.sizes)
    added = sum(max(0, group.entries * least - group.bytes) for group in work.sizes)
    by_sizes = work.bytes + added * work.entries / files if files else 0.0
    return max(float(work.bytes), float(work.entries * least), by_sizes)
