"""An S3 Batch Operations that computes checksums and writes reports as S3 does, with the faults that it is told."""

from __future__ import annotations

import csv
import hashlib
import io
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from urllib.parse import quote_plus, unquote_plus

from fanout.checksums.rows import SOURCE
from fanout.model.checksum import crc64nvme, to_base64
from fanout.model.entry import Kind, bare
from fanout.model.errors import InvalidRequest, NotFound
from fanout.model.location import S3Location
from fanout.ports.checksum_jobs import JobAsked, JobLook, JobState, Stored
from fanout.ports.store import WorkStore
from fanout.verifying.verifier import stored_sums
from tests.support.memory import MemoryTree

WORK = "work"
# The bytes and the ETag of an object by bucket, key and version.
Read = Callable[[str, str, str], tuple[bytes, str] | None]
Write = Callable[[str, bytes], None]
Row = list[str]


def as_it_is(row: Row) -> list[Row]:
    """The row that S3 writes of an object."""
    return [row]


def no_row(_row: Row) -> list[Row]:
    """None."""
    return []


def twice(row: Row) -> list[Row]:
    """The same twice."""
    return [row, row]


def said(**other: str) -> Callable[[Row], list[Row]]:
    """The row with other words in its message."""
    return lambda row: [[*row[:6], json.dumps({**json.loads(row[6]), **other})]]


def contradicted(row: Row) -> list[Row]:
    """The row, and one that says something else of the same object."""
    return [row, *said(checksum_base64=to_base64(1))(row)]


@dataclass
class BatchOperations:
    """Jobs by their tokens. ``looks`` is how often a job is at work when it is described.

    ``refuses`` is why S3 takes no job; ``status`` how each ends. ``rows`` makes the rows of a report of the one that is
    right, ``shares`` the number of its files; without ``reports`` none is written.
    """

    read: Read
    write: Write
    bucket: str = WORK
    looks: int = 2
    refuses: str = ""
    status: JobState = JobState.COMPLETE
    rows: Callable[[Row], list[Row]] = as_it_is
    shares: int = 2
    reports: bool = True
    now: Callable[[], float] = lambda: 0.0
    created: dict[str, str] = field(default_factory=dict)
    asked: dict[str, tuple[str, str, bool]] = field(default_factory=dict)
    objects: list[str] = field(default_factory=list)
    cancelled: list[str] = field(default_factory=list)
    described: dict[str, int] = field(default_factory=dict)
    ended: dict[str, float] = field(default_factory=dict)

    def create(self, token: str, manifest: str, reports: str, *, versioned: bool) -> str:
        """The id of the job of a token, which is about one manifest for ever."""
        if self.refuses:
            raise InvalidRequest(manifest, self.refuses, "")
        job_id = self.created.setdefault(token, f"job-{len(self.created):04d}")
        if self.asked.setdefault(job_id, (manifest, reports, versioned)) != (manifest, reports, versioned):
            raise InvalidRequest(manifest, "IdempotencyException", "")
        return job_id

    def describe(self, job_id: str) -> JobLook:
        """A job, which goes on with each look at it."""
        if job_id not in self.asked:
            raise NotFound(job_id)
        if job_id in self.cancelled:
            return JobLook(JobState.FAILED, "it is Cancelled", self.now())
        seen = self.described[job_id] = self.described.get(job_id, 0) + 1
        if seen <= self.looks:
            return JobLook(JobState.AT_WORK)
        if job_id not in self.ended:
            self.ended[job_id] = self.now()
            self._work(job_id)
        return JobLook(
            self.status, "" if self.status is JobState.COMPLETE else "too many tasks failed", self.ended[job_id]
        )

    def cancel(self, job_id: str) -> bool:
        """Give a job up; whether it was at work."""
        if job_id not in self.asked:
            raise NotFound(job_id)
        if job_id in self.ended or job_id in self.cancelled:
            return False
        self.cancelled.append(job_id)
        return True

    def _work(self, job_id: str) -> None:
        manifest, reports, versioned = self.asked[job_id]
        found = self.read(self.bucket, manifest, "")
        assert found is not None
        rows = [self._row(row, versioned) for row in csv.reader(io.StringIO(found[0].decode()))]
        if not self.reports:
            return
        written = [other for row in rows for other in (self.rows(row) if row[3] == "succeeded" else [row])]
        folder, results = f"{reports}/job-{job_id}/", []
        for number in range(self.shares):
            data = _csv(written[number :: self.shares])
            key = f"{folder}results/{hashlib.sha1(data, usedforsecurity=False).hexdigest()}{number}.csv"
            self.write(key, data)
            md5 = hashlib.md5(data, usedforsecurity=False).hexdigest()
            results.append({"TaskExecutionStatus": "succeeded", "Bucket": self.bucket, "MD5Checksum": md5, "Key": key})
        schema = "Bucket, Key, VersionId, TaskStatus, ErrorCode, HTTPStatusCode, ResultMessage"
        document = {"Format": "Report_CSV_20180820", "Results": results, "ReportSchema": schema}
        self.write(f"{folder}manifest.json", json.dumps(document).encode())

    def _row(self, row: Row, versioned: bool) -> Row:
        assert len(row) == (3 if versioned else 2)
        bucket, key, version = row[0], unquote_plus(row[1]), row[2] if versioned else ""
        self.objects.append(key)
        found = self.read(bucket, key, version)
        if found is None:
            return [bucket, row[1], version, "failed", "404", "NoSuchKey", "the key does not exist"]
        data, etag = found
        crc = crc64nvme(data)
        message = {
            "checksum_base64": to_base64(crc),
            "etag": bare(etag),
            "checksumAlgorithm": "CRC64NVME",
            "checksumType": "FULL_OBJECT",
            "checksum_hex": f"{crc:016X}",
        }
        return [bucket, row[1], version, "succeeded", "200", "", json.dumps(message)]


def _csv(rows: list[Row]) -> bytes:
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue().encode()


@dataclass
class MemoryJobs:
    """``ChecksumJobs`` over trees in memory, by end, and the store of a run's ledger."""

    trees: dict[str, MemoryTree]
    places: dict[str, S3Location]
    store: WorkStore
    versions: bool = False
    batch: BatchOperations = field(init=False)

    def __post_init__(self) -> None:
        self.batch = BatchOperations(self._read, self.store.put)

    def look(self, end: str, path: str) -> Stored | None:
        """See ``ports.checksum_jobs``."""
        found = self.trees[end].find_stored(path)
        if found is None or found.entry.kind is Kind.DIRECTORY:
            return None
        return Stored(bare(found.entry.etag), stored_sums(found), "v1" if self.versions else "")

    def create(self, asked: JobAsked) -> str:
        """See ``ports.checksum_jobs``."""
        return self.batch.create(asked.token, asked.manifest, asked.reports, versioned=asked.versioned)

    def job(self, job_id: str) -> JobLook:
        """See ``ports.checksum_jobs``."""
        return self.batch.describe(job_id)

    def cancel(self, job_id: str) -> None:
        """See ``ports.checksum_jobs``."""
        self.batch.cancel(job_id)

    def _read(self, bucket: str, key: str, _version: str) -> tuple[bytes, str] | None:
        if bucket == WORK:
            return self.store.get(key), ""
        for end, place in sorted(self.places.items(), key=lambda one: one[0] != SOURCE):
            if (place.bucket, key[: len(place.prefix)]) == (bucket, place.prefix):
                stored = self.trees[end].contents().get(key[len(place.prefix) :])
                return None if stored is None else (stored.data, stored.entry.etag)
        return None


def quoted(key: str) -> str:
    """A key as a report has it."""
    return quote_plus(key, safe="/")
