"""Whatever becomes of a job that computes checksums, the trees are compared whole."""

from __future__ import annotations

import base64
import itertools
from collections.abc import Callable
from urllib.parse import unquote_plus

import pytest

from fanout.model.entry import Kind
from fanout.ports.checksum_jobs import JobState
from tests.checksums.ends import NAMES, Ends
from tests.support.batch_operations import Row, contradicted, no_row, quoted, said, twice

# The checksum of other bytes.
OTHER = base64.b64encode(bytes(8)).decode()


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
