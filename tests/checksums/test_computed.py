"""Whole runs in which S3 computes the checksums that a verification would have to read objects for."""

from __future__ import annotations

import pytest

from fanout.model.checksum import CRC64NVME
from fanout.model.document import Json
from fanout.model.entry import Kind
from fanout.model.errors import InvalidRequest
from fanout.work.context import WayOut
from tests.checksums.ends import DATA, FROM_S3, NAMES, VERIFY, Ends, ends

ROLE = "arn:aws:iam::444455556666:role/their-data"
TO_S3 = {"source": "efs:///in", "destination": "s3://a-bucket/out/"}
INSIDE_S3 = {"source": "s3://a-bucket/in/", "destination": "s3://b-bucket/out/"}


def test_of_somebody_else_s_objects_no_byte_is_read_where_the_job_told_them(one: Ends) -> None:
    summary = one.run()
    assert (summary["status"], summary["balanced"]) == ("SUCCEEDED", True)
    assert one.read == (0, len(NAMES))
    assert sorted(one.jobs.batch.objects) == sorted(f"in/{name}" for name in NAMES)
    assert one.note.startswith(f"S3 computed the checksums of {len(NAMES)} of {len(NAMES)} objects")
    assert one.world.entered.count("WaitForChecksums") == 2


@pytest.mark.parametrize(
    ("request_of", "here", "there", "computed", "read"),
    [
        (FROM_S3, [], [], "in", (0, 4)),
        (FROM_S3, ["SHA256"], [], "", (0, 4)),
        (TO_S3, [], [], "out", (4, 0)),
        (TO_S3, [], [CRC64NVME], "", (4, 0)),
        (INSIDE_S3, [], [], "in out", (0, 0)),
        (INSIDE_S3, [CRC64NVME], [], "out", (0, 0)),
        (INSIDE_S3, ["SHA256"], ["MD5"], "in out", (0, 0)),
        (INSIDE_S3, ["SHA256"], [CRC64NVME], "in", (0, 0)),
        (INSIDE_S3, ["CRC32"], ["CRC32"], "", (0, 0)),
    ],
    ids=str,
)
def test_each_end_is_read_only_where_nobody_tells_it(
    request_of: Json, here: list[str], there: list[str], computed: str, read: tuple[int, int]
) -> None:
    both = ends(request_of, here, there)
    assert both.run()["status"] == "SUCCEEDED"
    assert both.read == read
    assert {key.split("/")[0] for key in both.jobs.batch.objects} == {*computed.split()}


def test_other_bytes_at_the_other_end_are_found_by_what_was_computed(one: Ends) -> None:
    one.destination.put("plain", Kind.FILE, b"the s4me bytes")
    summary = one.run()
    assert summary["status"] == "FAILED_WITH_ITEMS" and one.source.read_bytes == 0
    assert [row["path"] for row in one.world.ledger.read_rows("failures.jsonl")] == ["plain"]


def test_after_a_copy_the_whole_trees_are_compared_with_what_was_computed() -> None:
    both = ends(FROM_S3)
    both.source.put("new", Kind.FILE, DATA)
    both.destination.read_bytes = 0
    summary = both.run(mode="copy", verify="all")
    assert (summary["status"], summary["verification"]["differences"]) == ("SUCCEEDED", 0)
    assert "in/new" in both.jobs.batch.objects and both.note.startswith("S3 computed the checksums of 5 of 5")
    assert both.world.entered.count("ComputeChecksums") == 3
    dollars = summary["forecast"]["actual_dollars"]
    assert dollars["checksums"] == pytest.approx(0.25 + 5e-6, abs=1e-4)


def test_the_parts_of_a_big_file_are_told_by_one_row() -> None:
    data = bytes(range(256)) * (70 * 4096)
    both = ends(FROM_S3, names=())
    for tree in (both.source, both.destination):
        tree.put("big", Kind.FILE, data)
    summary = both.run(limits={"split_bytes": 16 * 1024 * 1024, "shard_seconds": 0.1})
    assert summary["status"] == "SUCCEEDED" and both.jobs.batch.objects == ["in/big"]
    assert both.source.read_bytes == 0 and both.destination.read_bytes


def test_a_stack_that_lost_its_role_reads_all(one: Ends) -> None:
    one.world.plan(one.request | VERIFY)
    one.world.checksum_jobs = None
    state = one.world.state(list={"round": 1, "key": "runs/run-1/segments/round-0001.json", "max_concurrency": 1})
    one.world.list_all(state)
    one.world.walk("PartitionShards", one.world.state(), "SummariseTransfer", "ToDelete?")
    assert one.read == (4, 4) and "no role" in one.note


def test_a_stack_without_a_role_refuses_the_field_by_its_name(one: Ends) -> None:
    one.world.checksum_jobs = None
    with pytest.raises(InvalidRequest, match="ComputedChecksums: true") as refused:
        one.run()
    assert refused.value.field == "checksums"


def test_no_job_is_asked_for_a_bucket_of_another_region(one: Ends) -> None:
    one.world.way_out = WayOut.MOUNTS
    one.world.regions = {"a-bucket": "eu-west-1"}
    with pytest.raises(InvalidRequest, match="a-bucket is in eu-west-1") as refused:
        one.run()
    assert refused.value.field == "checksums"


@pytest.mark.parametrize("end", ["source_bucket", "destination_bucket"])
def test_no_job_is_asked_for_a_bucket_that_a_role_of_another_account_opens(end: str) -> None:
    role = "arn:aws:iam::444455556666:role/their-data"
    both = ends(INSIDE_S3)
    both.world.way_out, both.world.roles = WayOut.BUCKETS, (role,)
    with pytest.raises(InvalidRequest, match=f"the stack's own role, and {end}.role names {role}") as refused:
        both.world.run(both.request | VERIFY | {end: {"role": role}})
    assert refused.value.field == "checksums" and both.jobs.batch.created == {}
