"""What a run asks of S3 and of its file systems: the table by direction and mode, and what holds for all."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from fanout.efs.load import Work, lists_of_directories, loads_of, loads_to_list, requests_of
from fanout.facts import tuning, units
from fanout.facts.operations import OPERATIONS_PER_FILE
from fanout.forecast.deleting import Deleting, deletion
from fanout.forecast.verifying import loads_to_verify, requests_to_verify
from fanout.request.parse import parse_request
from fanout.request.request import Request
from fanout.shards.sizes import Sizes, groups_of

WORK = Work(listed=10_000, entries=1_000, bytes=1_000 * 100_000, shards=10, longest_seconds=1)
BLOCKS = 1_000 + WORK.bytes / tuning.BLOCK_BYTES
S3, DATA, ARCHIVE = "s3://my-data/in/", "efs://data/x", "efs://archive/y"


def request(source: str, destination: str, **fields: Any) -> Request:
    return parse_request({"source": source, "destination": destination, **fields}, ("data", "archive"), 100)


@pytest.mark.parametrize(
    ("source", "destination", "mode", "gets", "puts"),
    [
        (S3, DATA, "copy", BLOCKS, 0.0),
        (DATA, S3, "copy", 0.0, BLOCKS),
        (DATA, "efs://data/z", "copy", 0.0, 0.0),
        (S3, "s3://my-results/out/", "copy", 1_000, 1_000 + WORK.bytes / tuning.COPY_PART_BYTES),
        (S3, DATA, "verify", 1_000, 0.0),  # a HEAD each
        (S3, "s3://my-results/out/", "verify", 2 * 1_000, 0.0),
    ],
)
def test_requests_to_s3_by_direction(source: str, destination: str, mode: str, gets: float, puts: float) -> None:
    found = requests_of(request(source, destination, mode=mode), WORK, segments=1)
    assert [found.gets, found.puts] == pytest.approx([gets, puts])


def test_between_two_mounts_bytes_are_staged_in_s3() -> None:
    found = requests_of(request(DATA, ARCHIVE), WORK, segments=1)
    assert found.puts == found.gets == pytest.approx(WORK.bytes / tuning.BLOCK_BYTES + 10)
    assert found.lists == 0


@pytest.mark.parametrize(("source", "destination", "ends"), [(S3, DATA, 1), (S3, "s3://b-b/o/", 2), (DATA, ARCHIVE, 0)])
def test_each_end_in_s3_is_listed_by_pages_of_a_thousand(source: str, destination: str, ends: int) -> None:
    asked, of_run = request(source, destination), 2
    to_mount = ends == 1
    assert requests_of(asked, WORK, segments=3).lists == pytest.approx(ends * (of_run + 10 + 3 * 20) + to_mount)
    assert requests_of(asked, WORK, segments=1).lists == pytest.approx(ends * (of_run + 10) + to_mount)


@pytest.mark.parametrize("fields", [{"mode": "verify"}, {"verify": "copied"}, {"mode": "move"}])
def test_each_directory_of_a_mount_is_a_list_more_where_its_object_is_looked_at(fields: dict[str, Any]) -> None:
    found = []
    for directories in (0, 500):
        work, asked = replace(WORK, directories=directories, extras=1_000), request(DATA, S3, **fields)
        deletes = deletion(asked, 1_000, Deleting(shards=1), lists_of_directories(work, 1_000)).requests.lists
        verified = requests_to_verify(asked, work, 1).lists
        found.append(requests_of(asked, work, 1).lists + verified + deletes * asked.course.deletes_proven)
    looks = {"verify": 500 / 10, "copy": 500 / 10, "move": 2 * 500 / 10}[request(DATA, S3, **fields).mode]
    assert found[1] - found[0] == pytest.approx(looks)


def test_what_is_written_and_what_is_read_of_a_file_system() -> None:
    written = loads_of(request(S3, DATA), WORK)["data"]
    assert written.read_operations == written.read_bytes == 0
    assert written.written_operations == pytest.approx(OPERATIONS_PER_FILE * 1_000 + WORK.bytes / units.MIB)
    assert written.written_bytes == pytest.approx(WORK.bytes + (OPERATIONS_PER_FILE - 1) * 1_000 * 4096)
    read = loads_of(request(DATA, S3), WORK)["data"]
    assert read.written_operations == read.written_bytes == 0
    assert read.read_bytes == pytest.approx(WORK.bytes + 2 * 1_000 * 4096)


@pytest.mark.parametrize(
    ("fields", "directories", "operations", "size"),
    [
        ({}, None, 0.4, 256 + 0.4 * 4096),  # of each directory READDIR twice, ACCESS, GETATTR; ten entries in each
        ({}, 10, 0.004, 256 + 0.004 * 4096),
        ({"manifest": "s3://lists/m.csv"}, None, 1, 4096),  # a look at each row
    ],
)
def test_listing_a_mount_asks_of_its_directories_and_of_each_row_of_a_manifest(
    fields: dict[str, Any], directories: int | None, operations: float, size: float
) -> None:
    work = replace(WORK, there=1_000, directories=directories)
    ends = {(S3, DATA): {"data": 1_000}, (DATA, ARCHIVE): {"data": 10_000, "archive": 1_000}, (S3, "s3://b-b/o/"): {}}
    for (source, destination), listed in ends.items():
        found = loads_to_list(request(source, destination, **fields), work)
        assert {mount: load.read_operations for mount, load in found.items()} == pytest.approx(
            {mount: operations * entries for mount, entries in listed.items()}
        )
        assert {mount: load.read_bytes for mount, load in found.items()} == pytest.approx(
            {mount: size * entries for mount, entries in listed.items()}
        )


def test_a_copy_on_one_mount_both_reads_and_writes_it_and_a_comparison_only_reads() -> None:
    one = loads_of(request(DATA, "efs://data/z"), WORK)
    assert set(one) == {"data"}
    assert one["data"].read_bytes > 0 and one["data"].written_bytes > 0
    two = loads_of(request(DATA, ARCHIVE, mode="verify"), WORK)
    assert set(two) == {"data", "archive"}
    assert all(load.written_bytes == 0 for load in two.values())


def test_an_empty_file_counts_as_4_kib() -> None:
    nothing = Work(listed=1, entries=1, bytes=0, shards=1, longest_seconds=1)
    assert loads_of(request(S3, DATA), nothing)["data"].written_bytes == pytest.approx(OPERATIONS_PER_FILE * 4096)


@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=50), st.integers(0, 10))
def test_each_file_is_metered_and_billed_by_its_own_size_where_sizes_are_known(sizes: list[int], others: int) -> None:
    """``others`` times as many files were listed, of the same sizes, and are not copied."""
    rows = Sizes()
    rows.add_files(sizes * (1 + others))
    work = Work(len(sizes) * (1 + others), len(sizes), sum(sizes), 1, 1, sizes=groups_of([rows.row()]))
    written, read = loads_of(request(S3, DATA), work)["data"], loads_of(request(DATA, S3), work)["data"]
    metadata = (OPERATIONS_PER_FILE - 1) * len(sizes) * 4096
    assert written.written_bytes == pytest.approx(sum(max(size, 4096) for size in sizes) + metadata)
    billed = sum(max(size, 32_768) for size in sizes)
    assert written.written_bytes + written.more_written_bytes == pytest.approx(billed + metadata)
    assert read.read_bytes + read.more_read_bytes == pytest.approx(billed + 2 * len(sizes) * 4096)


@given(st.integers(0, 10**8), st.integers(0, 10**14), st.integers(1, 10**8), st.integers(1, 10**12))
def test_more_entries_or_bytes_are_never_less_load(entries: int, size: int, more: int, more_bytes: int) -> None:
    asked = request(S3, DATA)
    less = Work(entries, entries, size, 1, 1)
    larger = Work(entries + more, entries + more, size + more_bytes, 1, 1)
    before, after = loads_of(asked, less)["data"], loads_of(asked, larger)["data"]
    assert after.written_operations > before.written_operations
    assert after.metered_bytes >= before.metered_bytes >= size
    assert requests_of(asked, larger, 1).gets > requests_of(asked, less, 1).gets


@pytest.mark.parametrize(
    ("source", "destination", "verify", "gets", "lists", "read_bytes"),
    [
        (S3, DATA, "none", 0, 0, {}),
        (S3, DATA, "copied", 1_000, 0, {"data": 1}),
        (S3, "s3://my-results/out/", "copied", 2_000, 0, {}),
        (DATA, ARCHIVE, "copied", 0, 0, {"data": 1, "archive": 1}),
        (DATA, "efs://data/z", "copied", 0, 0, {"data": 2}),
        (DATA, S3, "all", 1_000, 10 + 3 * 20, {"data": 1}),
    ],
)
def test_a_verification_after_the_copy_asks_both_ends_anew(
    source: str, destination: str, verify: str, gets: int, lists: int, read_bytes: dict[str, int]
) -> None:
    asked = request(source, destination, verify=verify)
    found = requests_to_verify(asked, WORK, segments=3)
    assert [found.gets, found.puts, found.lists] == pytest.approx([gets, 0, lists])
    loads = loads_to_verify(asked, WORK)
    once = float(WORK.bytes + 2 * 1_000 * 4096)
    if verify == "all":
        once += loads_to_list(asked, WORK)["data"].read_bytes
    assert {mount: load.read_bytes for mount, load in loads.items()} == pytest.approx(
        {mount: times * once for mount, times in read_bytes.items()}
    )
    assert all(load.written_bytes == 0 for load in loads.values())
