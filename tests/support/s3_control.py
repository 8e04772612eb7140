"""S3 Control on the loopback: it creates and describes jobs of S3 Batch Operations, over a real S3's objects."""

from __future__ import annotations

import re
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from xml.etree import ElementTree
from xml.sax.saxutils import escape

import pytest
from botocore.exceptions import ClientError

from fanout.model.errors import InvalidRequest, NotFound
from fanout.ports.checksum_jobs import JobState
from tests.support.batch_operations import BatchOperations

NAMESPACE = "{http://awss3control.amazonaws.com/doc/2018-08-20/}"
ROLE = "arn:aws:iam::123456789012:role/fanout-jobs"
_THREAD = "s3-control"
_STATUS = {JobState.AT_WORK: "Active", JobState.COMPLETE: "Complete", JobState.FAILED: "Failed"}


def over(s3: Any, bucket: str) -> BatchOperations:
    """Jobs about the objects of an S3, whose manifests and reports lie in a bucket of it."""

    def read(where: str, key: str, version: str) -> tuple[bytes, str] | None:
        named = {"VersionId": version} if version else {}
        try:
            found = s3.get_object(Bucket=where, Key=key, **named)
        except ClientError:
            return None
        return found["Body"].read(), found["ETag"]

    def write(key: str, data: bytes) -> None:
        s3.put_object(Bucket=bucket, Key=key, Body=data)

    return BatchOperations(read, write, bucket, now=time.time)


def is_s3_itself() -> bool:
    """Whether this thread is at work for S3, and not for a function of the stack."""
    return threading.current_thread().name == _THREAD


@contextmanager
def s3_control(batch: BatchOperations, patch: pytest.MonkeyPatch) -> Iterator[str]:
    """Its URL. A client puts the account before the host, which no resolver knows here."""
    found = socket.getaddrinfo

    def resolve(host: Any, *others: Any, **named: Any) -> Any:
        is_ours = isinstance(host, str) and re.fullmatch(r"[0-9]{12}\.127\.0\.0\.1", host)
        return found("127.0.0.1" if is_ours else host, *others, **named)

    patch.setattr(socket, "getaddrinfo", resolve)
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(batch))
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _handler(batch: BatchOperations) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def setup(self) -> None:
            threading.current_thread().name = _THREAD
            super().setup()

        def do_POST(self) -> None:
            if self.path.partition("?")[0].endswith("/status"):
                self.answer(*_update(self.path, batch))
                return
            asked = ElementTree.fromstring(self.rfile.read(int(self.headers["Content-Length"])))
            try:
                job_id = create(asked, batch)
            except InvalidRequest as error:
                self.answer(
                    400, f"<Error><Code>BadRequestException</Code><Message>{escape(str(error))}</Message></Error>"
                )
            else:
                self.answer(200, f"<CreateJobResult><JobId>{job_id}</JobId></CreateJobResult>")

        def do_GET(self) -> None:
            job_id = self.path.rpartition("/")[2]
            try:
                look = batch.describe(job_id)
            except NotFound:
                self.answer(404, "<Error><Code>NotFoundException</Code><Message>no such job</Message></Error>")
                return
            why = f"<member><FailureCode>Fault</FailureCode><FailureReason>{escape(look.said)}</FailureReason></member>"
            reasons = f"<FailureReasons>{why}</FailureReasons>" if look.said else ""
            ended = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(look.ended_at))
            at = f"<TerminationDate>{ended}</TerminationDate>" if look.ended_at else ""
            job = f"<JobId>{job_id}</JobId><Status>{_STATUS[look.state]}</Status>{reasons}{at}"
            self.answer(200, f"<DescribeJobResult><Job>{job}</Job></DescribeJobResult>")

        def answer(self, status: int, text: str) -> None:
            body = f"<?xml version='1.0'?>\n{text}".encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            """Nothing is printed."""

    return Handler


def _update(path: str, batch: BatchOperations) -> tuple[int, str]:
    """The answer to an UpdateJobStatus, which cancels."""
    assert path.endswith("?requestedJobStatus=Cancelled")
    job_id = path.split("/")[-2]
    try:
        if not batch.cancel(job_id):
            return 400, "<Error><Code>JobStatusException</Code><Message>it has ended</Message></Error>"
    except NotFound:
        return 404, "<Error><Code>NotFoundException</Code><Message>no such job</Message></Error>"
    status = f"<JobId>{job_id}</JobId><Status>Cancelling</Status>"
    return 200, f"<UpdateJobStatusResult>{status}</UpdateJobStatusResult>"


def create(asked: ElementTree.Element, batch: BatchOperations) -> str:
    """The job of a CreateJob, all of which must be as S3 takes it."""

    def text(*path: str) -> str:
        found = asked.find("/".join(f"{NAMESPACE}{name}" for name in path))
        assert found is not None and found.text, path
        return found.text

    operation = ("Operation", "S3ComputeObjectChecksum")
    assert text(*operation, "ChecksumAlgorithm") == "CRC64NVME" and text(*operation, "ChecksumType") == "FULL_OBJECT"
    assert (text("RoleArn"), text("ConfirmationRequired")) == (ROLE, "false")
    assert 1 <= len(text("ClientRequestToken")) <= 64
    assert (text("Report", "Format"), text("Report", "ReportScope")) == ("Report_CSV_20180820", "AllTasks")
    arn = text("Manifest", "Location", "ObjectArn")
    bucket, _, key = arn.removeprefix("arn:aws:s3:::").partition("/")
    assert bucket == batch.bucket == text("Report", "Bucket").removeprefix("arn:aws:s3:::")
    there = batch.read(bucket, key, "")
    if there is None or there[1].strip('"') != text("Manifest", "Location", "ETag"):
        raise InvalidRequest("Manifest", "ETag does not match", "")
    tags = {one[0].text: one[1].text for one in asked.iterfind(f"{NAMESPACE}Tags/{NAMESPACE}member")}
    assert tags == {"fanout:work-bucket": batch.bucket}
    spec = asked.find(f"{NAMESPACE}Manifest/{NAMESPACE}Spec/{NAMESPACE}Fields")
    columns = [one.text for one in spec] if spec is not None else []
    assert columns in (["Bucket", "Key"], ["Bucket", "Key", "VersionId"])
    return batch.create(text("ClientRequestToken"), key, text("Report", "Prefix"), versioned=len(columns) == 3)
