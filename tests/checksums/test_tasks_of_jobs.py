"""Tasks that ask S3 to compute checksums: what each asks for, when it ends, and what it leaves undone."""

from __future__ import annotations

import pytest

from fanout.checksums.compute_checksums import PATIENCE_SECONDS, wait_seconds
from fanout.facts import tuning
from fanout.model.errors import AccessDenied, LedgerBroken, OutOfTime, Transient
from fanout.ports.checksum_jobs import JobLook, JobState, Stored
from tests.checksums.ends import VERIFY, Ends


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


@pytest.mark.parametrize(("waited", "left", "seconds"), [(0, 1e9, 30), (400, 1e9, 100), (1e6, 1e9, 900), (400, 7, 7)])
def test_the_looks_come_more_rarely_the_longer_a_job_takes(waited: float, left: float, seconds: int) -> None:
    assert wait_seconds(waited, left) == seconds
    assert PATIENCE_SECONDS / wait_seconds(PATIENCE_SECONDS, 1e9) < 100
