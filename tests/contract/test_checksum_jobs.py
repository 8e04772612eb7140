"""The adapter of ``ChecksumJobs`` against an S3 Control on the loopback, over moto's S3, and against its refusals."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import boto3
import pytest

from fanout.adapters.aws.checksum_jobs import S3ChecksumJobs
from fanout.adapters.s3.client.client import S3Client
from fanout.adapters.s3.place import ObjectPlace
from fanout.model.checksum import crc64nvme, to_base64
from fanout.model.errors import AccessDenied, FanoutError, InvalidRequest, NotFound, Throttled, Transient
from fanout.model.location import S3Location
from fanout.ports.checksum_jobs import JobAsked, JobState
from tests.contract.conftest import REGION, client_of, new_bucket
from tests.contract.scripted_server import RESET, ScriptedServer, answer, error
from tests.support.batch_operations import BatchOperations
from tests.support.s3_control import ROLE, over, s3_control
from tests.support.s3_servers import KEY, S3Server

ACCOUNT = "123456789012"
DATA = b"some bytes"


class Jobs:
    """A bucket of trees, a work bucket, and the adapter that has S3 compute checksums."""

    def __init__(self, url: str, client: S3Client, batch: BatchOperations, control: str, work: str) -> None:
        self.bucket, self.work, self.client, self.batch = new_bucket(client), work, client, batch
        self.boto: Any = s3_of(url)
        end = S3Location(self.bucket, "in/")
        place = ObjectPlace(client, work, "")
        self.adapter = S3ChecksumJobs(REGION, ACCOUNT, ROLE, place, client, {"source": end}, control)

    def asked(self, token: str = "t", *, versioned: bool = False, rows: str = "") -> JobAsked:
        """A job about one object."""
        self.boto.put_object(Bucket=self.work, Key="runs/r/m.csv", Body=rows or f"{self.bucket},in/f\n")
        return JobAsked(token, "runs/r/m.csv", versioned, "computed/r")


def s3_of(url: str) -> Any:
    return boto3.client("s3", endpoint_url=url, region_name=REGION, aws_access_key_id=KEY, aws_secret_access_key=KEY)


@pytest.fixture
def jobs(moto_server: S3Server, monkeypatch: pytest.MonkeyPatch) -> Iterator[Jobs]:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, KEY)
    client = client_of(moto_server)
    work = new_bucket(client)
    batch = over(s3_of(moto_server.url), work)
    with s3_control(batch, monkeypatch) as control:
        yield Jobs(moto_server.url, client, batch, control, work)


def test_a_job_is_created_and_looked_at_until_its_report_is_there(jobs: Jobs) -> None:
    jobs.boto.put_object(Bucket=jobs.bucket, Key="in/f", Body=DATA)
    job_id = jobs.adapter.create(jobs.asked())
    assert [jobs.adapter.job(job_id).state for _ in range(3)] == [JobState.AT_WORK, JobState.AT_WORK, JobState.COMPLETE]
    assert jobs.adapter.job(job_id).ended_at > 1e9
    report = jobs.boto.get_object(Bucket=jobs.work, Key=f"computed/r/job-{job_id}/manifest.json")["Body"].read()
    assert b"Report_CSV_20180820" in report


def test_a_token_is_one_job(jobs: Jobs) -> None:
    first = jobs.adapter.create(jobs.asked())
    assert jobs.adapter.create(jobs.asked()) == first != jobs.adapter.create(jobs.asked("another"))


def test_a_job_of_versions_is_about_each_version(jobs: Jobs) -> None:
    jobs.boto.put_bucket_versioning(Bucket=jobs.bucket, VersioningConfiguration={"Status": "Enabled"})
    jobs.boto.put_object(Bucket=jobs.bucket, Key="in/f", Body=DATA)
    look = jobs.adapter.look("source", "f")
    assert look is not None and look.version and look.etag and '"' not in look.etag
    jobs.boto.put_object(Bucket=jobs.bucket, Key="in/f", Body=b"newer")
    asked = jobs.asked(versioned=True, rows=f"{jobs.bucket},in/f,{look.version}\n")
    job_id = jobs.adapter.create(asked)
    while jobs.adapter.job(job_id).state is JobState.AT_WORK:
        continue
    keys = [one["Key"] for one in jobs.boto.list_objects_v2(Bucket=jobs.work, Prefix="computed/r/")["Contents"]]
    rows = b"".join(jobs.boto.get_object(Bucket=jobs.work, Key=key)["Body"].read() for key in keys)
    assert to_base64(crc64nvme(DATA)).encode() in rows and to_base64(crc64nvme(b"newer")).encode() not in rows


def test_what_is_not_there_or_not_to_be_looked_at_is_not_asked_for(jobs: Jobs) -> None:
    assert jobs.adapter.look("source", "f") is None


def test_a_manifest_that_was_written_again_is_another(jobs: Jobs) -> None:
    asked = jobs.asked()
    head = jobs.client.head_object

    def changing(*place: str, **named: str) -> Any:
        found = head(*place, **named)
        jobs.boto.put_object(Bucket=jobs.work, Key="runs/r/m.csv", Body="forged,in/f\n")
        return found

    jobs.client.head_object = changing  # type: ignore[method-assign]
    with pytest.raises(InvalidRequest, match="ETag does not match"):
        jobs.adapter.create(asked)


def test_a_refusal_and_a_failure_are_told_apart(jobs: Jobs) -> None:
    jobs.batch.looks, jobs.batch.status = 0, JobState.FAILED
    job_id = jobs.adapter.create(jobs.asked())
    look = jobs.adapter.job(job_id)
    assert (look.state, look.said) == (JobState.FAILED, "Fault too many tasks failed")
    jobs.batch.refuses = "the role cannot be assumed"
    with pytest.raises(InvalidRequest, match="the role cannot be assumed"):
        jobs.adapter.create(jobs.asked("t2"))
    with pytest.raises(NotFound):
        jobs.adapter.job("job-9999")


def test_a_job_at_work_is_cancelled_and_one_that_has_ended_stays_as_it_is(jobs: Jobs) -> None:
    jobs.boto.put_object(Bucket=jobs.bucket, Key="in/f", Body=DATA)
    first, second = (jobs.adapter.create(jobs.asked(token)) for token in ("t1", "t2"))
    while jobs.adapter.job(second).state is JobState.AT_WORK:
        continue
    jobs.adapter.cancel(first)
    jobs.adapter.cancel(second)
    assert [jobs.adapter.job(one).state for one in (first, second)] == [JobState.FAILED, JobState.COMPLETE]
    with pytest.raises(NotFound):
        jobs.adapter.cancel("job-9999")


def job_answer(status: str, job_id: str = "job-0001") -> bytes:
    text = f"<DescribeJobResult><Job><JobId>{job_id}</JobId><Status>{status}</Status></Job></DescribeJobResult>"
    return answer(200, text.encode())


@pytest.mark.parametrize(
    ("step", "kind"),
    [
        (error(403, "AccessDenied"), AccessDenied),
        (error(429, "TooManyRequestsException"), Throttled),
        (error(500, "InternalServiceException"), Transient),
        (answer(200, b"<DescribeJobResult/>"), Transient),
        (answer(200, b"no document"), Transient),
        (job_answer("Complete", "job-0002"), Transient),
        (RESET, Transient),
    ],
    ids=str,
)
def test_answers_about_a_job(
    jobs: Jobs, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch, step: bytes, kind: type[FanoutError]
) -> None:
    monkeypatch.setattr("fanout.adapters.aws.control_plane.READ_SECONDS", 2)
    server.script = [step] * 4
    place = ObjectPlace(jobs.client, jobs.work, "")
    adapter = S3ChecksumJobs(REGION, ACCOUNT, ROLE, place, jobs.client, {}, server.url)
    with pytest.raises(kind):
        adapter.job("job-0001")


@pytest.mark.parametrize(
    ("status", "state"),
    [
        ("New", JobState.AT_WORK),
        ("Completing", JobState.AT_WORK),
        ("Failing", JobState.AT_WORK),
        ("Cancelled", JobState.FAILED),
        ("Suspended", JobState.FAILED),
    ],
)
def test_each_status_says_whether_to_wait(jobs: Jobs, server: ScriptedServer, status: str, state: JobState) -> None:
    server.script = [job_answer(status)]
    place = ObjectPlace(jobs.client, jobs.work, "")
    assert S3ChecksumJobs(REGION, ACCOUNT, ROLE, place, jobs.client, {}, server.url).job("job-0001").state is state
