"""Whole runs in which S3 computes the checksums that a verification would have to read objects for."""

from __future__ import annotations

import base64
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from urllib.parse import unquote_plus

import pytest

from fanout.checksums.compute_checksums import PATIENCE_SECONDS, wait_seconds
from fanout.facts import tuning
from fanout.model.algorithms import CRC64NVME
from fanout.model.document import Json
from fanout.model.entry import Kind
from fanout.model.errors import AccessDenied, InvalidRequest, LedgerBroken, OutOfTime, Transient
from fanout.model.location import S3Location
from fanout.ports.checksum_jobs import JobLook, JobState, Stored
from fanout.work.context import WayOut
from tests.support.batch_operations import MemoryJobs, Row, contradicted, no_row, quoted, said, twice
from tests.support.flow import World
from tests.support.telling import Telling

ROLE = "arn:aws:iam::444455556666:role/their-data"
FROM_S3 = {"source": "s3://a-bucket/in/", "destination": "efs:///copy"}
TO_S3 = {"source": "efs:///in", "destination": "s3://a-bucket/out/"}
INSIDE_S3 = {"source": "s3://a-bucket/in/", "destination": "s3://b-bucket/out/"}
VERIFY = {"mode": "verify", "verify": "content", "checksums": "computed"}
NAMES = ("plain", "d/ü and ' %41+&", 'd/a,b"c', "d/line\nbreak")
DATA = b"the same bytes"
# The checksum of other bytes.
OTHER = base64.b64encode(bytes(8)).decode()


@dataclass
class Ends:
    """Two stores that hold the same, and the jobs about them."""

    source: Telling
    destination: Telling
    world: World
    jobs: MemoryJobs
    request: Json

    def run(self, run_id: str = "run-1", **more: object) -> Json:
        """A run that compares them."""
        self.source.read_bytes = self.destination.read_bytes = 0
        self.world.run_id = run_id
        return self.world.run(self.request | VERIFY | more)

    @property
    def read(self) -> tuple[int, int]:
        """Objects that were read at each end."""
        return self.source.read_bytes // len(DATA), self.destination.read_bytes // len(DATA)

    @property
    def note(self) -> str:
        """What the run says about the checksums."""
        notes: list[str] = self.world.ledger.read_json("notes/checksums.json")["notes"]
        return "; ".join(notes)


def ends(request: Json, here: Sequence[str] = (), there: Sequence[str] = (), names: Sequence[str] = NAMES) -> Ends:
    source, destination = Telling(here), Telling(there)
    for tree in (source, destination):
        for name in names:
            tree.put(name, Kind.FILE, DATA)
        tree.put("empty", Kind.FILE, b"")
    world = World(source=source, destination=destination)
    places = {
        end: S3Location(*request[end].removeprefix("s3://").split("/", 1))
        for end in ("source", "destination")
        if request[end].startswith("s3://")
    }
    jobs = MemoryJobs({"source": source, "destination": destination}, places, world.store)
    jobs.batch.now = lambda: world.clock.time
    world.checksum_jobs = jobs
    return Ends(source, destination, world, jobs, request)


@pytest.fixture
def one() -> Ends:
    """Objects of somebody else, without checksums, and their copies on a mount."""
    return ends(FROM_S3)


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


# What becomes of the reports, how many objects are read, and what the run says.
FAULTS: dict[str, tuple[Callable[[Ends], None], int, str]] = {}


def fault(read: int, note: str) -> Callable[[Callable[[Ends], None]], Callable[[Ends], None]]:
    def named(make: Callable[[Ends], None]) -> Callable[[Ends], None]:
        FAULTS[make.__name__] = make, read, note
        return make

    return named


@fault(4, "gave none: too many tasks failed")
def the_job_fails(one: Ends) -> None:
    one.jobs.batch.status = JobState.FAILED


@fault(4, "refused to compute checksums: ")
def the_job_is_refused(one: Ends) -> None:
    one.jobs.batch.refuses = "AccessDenied"


@fault(4, "its report cannot be read")
def the_report_is_missing(one: Ends) -> None:
    one.jobs.batch.reports = False


@fault(4, "of S3 Batch Operations were given up after a day")
def the_job_is_late(one: Ends) -> None:
    one.jobs.batch.looks = 10_000


@fault(4, "S3 computed the checksums of 0 of 4")
def the_rows_are_missing(one: Ends) -> None:
    one.jobs.batch.rows = no_row


@fault(3, "S3 computed the checksums of 1 of 4")
def some_rows_are_missing(one: Ends) -> None:
    one.jobs.batch.rows = lambda row: [row] if row[1] == "in/plain" else []


@fault(4, "S3 computed")
def the_rows_are_of_another_etag(one: Ends) -> None:
    one.jobs.batch.rows = said(etag="another", checksum_base64=OTHER)


@fault(4, "S3 computed the checksums of 0 of 4")
def the_rows_are_of_another_bucket(one: Ends) -> None:
    one.jobs.batch.rows = lambda row: [["b-bucket", *row[1:]]]


@fault(4, "S3 computed the checksums of 0 of 4")
def the_rows_are_of_another_algorithm(one: Ends) -> None:
    one.jobs.batch.rows = said(checksumAlgorithm="CRC32", checksum_base64=OTHER)


@fault(4, "S3 computed the checksums of 0 of 4")
def the_rows_are_composite(one: Ends) -> None:
    one.jobs.batch.rows = said(checksumType="COMPOSITE", checksum_base64=OTHER)


@fault(4, "S3 computed the checksums of 0 of 4")
def the_checksums_are_none(one: Ends) -> None:
    one.jobs.batch.rows = said(checksum_base64="AAAA")


@fault(4, "S3 computed the checksums of 0 of 4")
def the_messages_are_no_json(one: Ends) -> None:
    one.jobs.batch.rows = lambda row: [[*row[:6], "ok"]]


@fault(0, "S3 computed the checksums of 4 of 4")
def the_rows_come_twice(one: Ends) -> None:
    one.jobs.batch.rows = twice


@fault(4, "S3 computed the checksums of 0 of 4")
def the_rows_contradict_each_other(one: Ends) -> None:
    one.jobs.batch.rows = contradicted


@fault(4, "S3 computed")
def the_rows_are_each_other_s(one: Ends) -> None:
    keys = {f"in/{name}": f"in/{other}" for name, other in itertools.pairwise((*NAMES, NAMES[0]))}

    def swapped(row: Row) -> list[Row]:
        key = unquote_plus(row[1])
        return [[row[0], quoted(keys[key]), *row[2:]]]

    one.jobs.batch.rows = swapped


@fault(0, "S3 computed the checksums of 4 of 4")
def the_bucket_has_versions(one: Ends) -> None:
    one.jobs.versions = True


@pytest.mark.parametrize("name", FAULTS)
def test_whatever_becomes_of_a_job_the_trees_are_compared_whole(one: Ends, name: str) -> None:
    make, read, note = FAULTS[name]
    make(one)
    summary = one.run()
    assert (summary["status"], summary["balanced"], one.read[0]) == ("SUCCEEDED", True, read)
    assert note in one.note and any(note in said for said in summary["notes"])


@pytest.mark.parametrize("name", FAULTS)
def test_and_a_difference_is_found(one: Ends, name: str) -> None:
    FAULTS[name][0](one)
    one.destination.put("plain", Kind.FILE, b"the s4me bytes")
    assert one.run()["status"] == "FAILED_WITH_ITEMS"
    assert [row["path"] for row in one.world.ledger.read_rows("failures.jsonl")] == ["plain"]


def test_an_object_that_is_replaced_after_its_job_is_not_taken_for_what_it_was(one: Ends) -> None:
    describe = one.jobs.batch.describe

    def replacing(job_id: str) -> object:
        found = describe(job_id)
        if found.state is JobState.COMPLETE:
            one.source.put("plain", Kind.FILE, b"the n3w bytes!")
        return found

    one.jobs.batch.describe = replacing  # type: ignore[assignment, method-assign]
    summary = one.run()
    assert summary["status"] == "FAILED_WITH_ITEMS"
    (row,) = one.world.ledger.read_rows("failures.jsonl")
    assert (row["path"], row["reason"]) == ("plain", "source changed")


def test_a_report_that_somebody_wrote_among_the_run_s_objects_is_not_read(one: Ends) -> None:
    one.jobs.batch.rows = no_row
    put = one.world.store.put

    def also(key: str, data: bytes) -> None:
        put(key, data)
        put(f"runs/run-1/{key}", data.replace(b"results", b"../../runs/run-1/forged"))

    one.jobs.batch.write = also
    assert one.run()["status"] == "SUCCEEDED"
    assert one.read == (4, 4)


@pytest.mark.parametrize("job_id", ["../../runs/run-1", "job", "x" * 40, "job-9999"])
def test_a_job_that_the_ledger_names_and_s3_does_not_know_tells_nothing(one: Ends, job_id: str) -> None:
    create = one.jobs.create
    one.jobs.create = lambda asked: create(asked) and job_id  # type: ignore[method-assign]
    assert one.run()["status"] == "SUCCEEDED"
    assert one.read == (4, 4) and "gave none" in one.note


def test_a_task_that_died_asks_for_the_same_job_again(one: Ends) -> None:
    created: list[str] = []
    real = one.jobs.create

    def dying(asked: object) -> str:
        created.append(real(asked))  # type: ignore[arg-type]
        if len(created) == 1:
            raise Transient("the answer is lost")
        return created[-1]

    one.jobs.create = dying  # type: ignore[method-assign]
    state = one.world.plan(one.request | VERIFY)
    one.world.list_all(state)
    shards = one.world.walk("PartitionShards", one.world.state(), "ComputeChecksums")[1]
    with pytest.raises(Transient):
        one.world.walk("ComputeChecksums", shards, "AreTheyComputed?")
    one.world.walk("ComputeChecksums", shards, "SummariseTransfer", "ToDelete?")
    assert created == ["job-0000", "job-0000"] and len(one.jobs.batch.created) == 1 and one.read == (0, 4)


def test_a_job_is_of_whole_shards_and_not_too_large(one: Ends, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tuning, "SHARD_ENTRIES", 1)
    monkeypatch.setattr(tuning, "CHECKSUM_JOB_OBJECTS", 2)
    assert one.run(limits={"shard_seconds": 0.1})["status"] == "SUCCEEDED"
    assert one.read == (0, 4) and len(one.jobs.batch.created) == 2


def test_a_task_goes_on_where_the_one_before_ran_out_of_time(one: Ends, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tuning, "SHARD_ENTRIES", 1)
    look = one.jobs.look

    def slow(end: str, path: str) -> Stored | None:
        one.world.clock.sleep(1_000.0)
        return look(end, path)

    one.jobs.look = slow  # type: ignore[method-assign]
    assert one.run(limits={"shard_seconds": 0.1})["status"] == "SUCCEEDED"
    assert one.read == (0, 4) and one.world.entered.count("ComputeChecksums") > 4


def test_the_parts_of_a_big_file_are_told_by_one_row() -> None:
    data = bytes(range(256)) * (70 * 4096)
    both = ends(FROM_S3, names=())
    for tree in (both.source, both.destination):
        tree.put("big", Kind.FILE, data)
    summary = both.run(limits={"split_bytes": 16 * 1024 * 1024, "shard_seconds": 0.1})
    assert summary["status"] == "SUCCEEDED" and both.jobs.batch.objects == ["in/big"]
    assert both.source.read_bytes == 0 and both.destination.read_bytes


def test_a_run_out_of_time_waits_no_longer_than_it_may(one: Ends) -> None:
    one.jobs.batch.looks = 10_000
    began = one.world.clock.time
    with pytest.raises(OutOfTime):
        one.run(limits={"max_seconds": 3_600})
    assert one.world.clock.time - began == pytest.approx(3_600, abs=60)
    assert one.jobs.batch.cancelled == [*one.jobs.batch.created.values()] == ["job-0000"]


def test_a_job_that_is_late_is_cancelled_and_no_other(one: Ends, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tuning, "SHARD_ENTRIES", 1)
    monkeypatch.setattr(tuning, "CHECKSUM_JOB_OBJECTS", 2)
    describe = one.jobs.batch.describe
    one.jobs.batch.looks = 0
    at_work = JobLook(JobState.AT_WORK)
    monkeypatch.setattr(one.jobs.batch, "describe", lambda job: at_work if job == "job-0001" else describe(job))
    assert one.run(limits={"shard_seconds": 0.1})["status"] == "SUCCEEDED"
    assert (one.jobs.batch.cancelled, one.read) == (["job-0001"], (2, 4))


def test_a_job_that_s3_does_not_cancel_is_a_note(one: Ends, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(_job: str) -> None:
        raise AccessDenied("s3:UpdateJobStatus", "job-0000", "")

    one.jobs.batch.looks = 10_000
    monkeypatch.setattr(one.jobs, "cancel", refused)
    assert one.run()["status"] == "SUCCEEDED"
    assert "S3 goes on with the job job-0000" in one.note and one.read == (4, 4)


def test_a_task_that_fails_before_it_asked_for_anything_is_a_note(one: Ends, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_end: str, _path: str) -> Stored | None:
        raise LedgerBroken("a shard's file is missing")

    monkeypatch.setattr(one.jobs, "look", broken)
    one.world.list_all(one.world.plan(one.request | VERIFY))
    shards = one.world.walk("PartitionShards", one.world.state(), "ComputeChecksums")[1]
    with pytest.raises(LedgerBroken):
        one.world.walk("ComputeChecksums", shards, "AreTheyComputed?")
    one.world.walk("VerifyShards", shards, "SummariseTransfer", "ToDelete?")
    assert one.read == (4, 4) and "the computing of checksums broke off" in one.note


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


@pytest.mark.parametrize(("waited", "left", "seconds"), [(0, 1e9, 30), (400, 1e9, 100), (1e6, 1e9, 900), (400, 7, 7)])
def test_the_looks_come_more_rarely_the_longer_a_job_takes(waited: float, left: float, seconds: int) -> None:
    assert wait_seconds(waited, left) == seconds
    assert PATIENCE_SECONDS / wait_seconds(PATIENCE_SECONDS, 1e9) < 100
