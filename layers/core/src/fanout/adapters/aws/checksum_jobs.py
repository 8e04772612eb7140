"""Jobs of S3 Batch Operations that compute checksums, and looks at the objects that they are about."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from fanout.adapters.aws.control_plane import client, our_errors
from fanout.adapters.s3.client.client import S3Client
from fanout.adapters.s3.place import ObjectPlace
from fanout.model.checksum import CRC64NVME, FULL_OBJECT, told_by
from fanout.model.entry import bare
from fanout.model.errors import AccessDenied, NotFound, Transient
from fanout.model.location import S3Location
from fanout.ports.checksum_jobs import JobAsked, JobLook, JobState, Stored

# docs.aws.amazon.com/AmazonS3/latest/API/API_control_JobDescriptor.html
_ENDS = {
    "Complete": JobState.COMPLETE,
    **dict.fromkeys(("Failed", "Cancelled", "Suspended", "Paused"), JobState.FAILED),
}
_COLUMNS = ("Bucket", "Key", "VersionId")
_PRIORITY = 10
# docs.aws.amazon.com/AmazonS3/latest/userguide/batch-ops-job-tags-examples.html: the role may create and cancel only
# jobs that have this tag with its stack's work bucket. s3:CreateJob is enough to set it (templates/checksums.yaml).
STACK_TAG = "fanout:work-bucket"


class S3ChecksumJobs:
    """Jobs of S3 Batch Operations, as ``ports.checksum_jobs``.

    Needs s3:CreateJob, s3:DescribeJob and s3:UpdateJobStatus, iam:PassRole on the role.
    ``work`` is the work bucket with its client, ``data`` the client of the ends' buckets.
    """

    def __init__(
        self,
        region: str,
        account: str,
        role: str,
        work: ObjectPlace,
        data: S3Client,
        ends: Mapping[str, S3Location],
        url: str = "",
    ) -> None:
        self._control = client("s3control", region, url)
        self._account, self._role, self._work, self._data, self._ends = account, role, work, data, ends

    def look(self, end: str, path: str) -> Stored | None:
        place = self._ends[end]
        try:
            headers = self._data.head_object(place.bucket, place.prefix + path).headers
        except (NotFound, AccessDenied):
            return None
        return Stored(bare(headers.get("etag", "")), told_by(headers), headers.get("x-amz-version-id", ""))

    def create(self, asked: JobAsked) -> str:
        """See the port; the manifest is pinned to the ETag that it has now."""
        partition = self._role.split(":")[1]
        bucket = f"arn:{partition}:s3:::{self._work.bucket}"
        etag = self._work.client.head_object(self._work.bucket, asked.manifest).headers.get("etag", "")
        columns = _COLUMNS if asked.versioned else _COLUMNS[:2]
        with our_errors("s3:CreateJob", asked.manifest):
            found: Any = self._control.create_job(
                AccountId=self._account,
                ConfirmationRequired=False,
                Operation={"S3ComputeObjectChecksum": {"ChecksumAlgorithm": CRC64NVME, "ChecksumType": FULL_OBJECT}},
                Manifest={
                    "Spec": {"Format": "S3BatchOperations_CSV_20180820", "Fields": [*columns]},
                    "Location": {"ObjectArn": f"{bucket}/{asked.manifest}", "ETag": bare(etag)},
                },
                Report={
                    "Enabled": True,
                    "Bucket": bucket,
                    "Prefix": asked.reports,
                    "Format": "Report_CSV_20180820",
                    "ReportScope": "AllTasks",
                    "ExpectedBucketOwner": self._account,
                },
                ClientRequestToken=asked.token,
                Priority=_PRIORITY,
                RoleArn=self._role,
                Tags=[{"Key": STACK_TAG, "Value": self._work.bucket}],
                Description=f"fan-out transfer: checksums, {asked.reports}",
            )
            return str(found["JobId"])

    def job(self, job_id: str) -> JobLook:
        with our_errors("s3:DescribeJob", job_id):
            found: Any = self._control.describe_job(AccountId=self._account, JobId=job_id)["Job"]
            if found["JobId"] != job_id:
                raise Transient(f"s3:DescribeJob on {job_id}: the answer is about {found['JobId']}")
            state = _ENDS.get(found["Status"], JobState.AT_WORK)
            failed = found.get("FailureReasons", [])
            reasons = [f"{one.get('FailureCode', '')} {one.get('FailureReason', '')}" for one in failed]
            ended = found.get("TerminationDate")
            said = "; ".join(reasons) or f"it is {found['Status']}"
            return JobLook(state, said if state is JobState.FAILED else "", ended.timestamp() if ended else 0.0)

    def cancel(self, job_id: str) -> None:
        with our_errors("s3:UpdateJobStatus", job_id), suppress(self._control.exceptions.JobStatusException):
            self._control.update_job_status(AccountId=self._account, JobId=job_id, RequestedJobStatus="Cancelled")
