"""How far the computing of checksums is, in the run's ledger, and the reports that S3 writes next to it.

The ledger says which job is about which shard, and S3's role alone writes the reports: what is taken for a checksum
never comes from the ledger. Every document is written once, so a task that runs twice goes on with the jobs that are
asked for already.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from hashlib import sha256

from msgspec import Struct

from fanout.checksums.rows import computed_in, report_files, report_rows
from fanout.ledger.kind import ObjectKind, PlainText
from fanout.ledger.ledger import Ledger
from fanout.model.location import S3Location
from fanout.model.shard import Shard
from fanout.ports.checksum_jobs import JobAsked, JobState

NOTE = "checksums"
_ASKED, _AREA = "checksums/jobs/asked/", "checksums/jobs/*"
# A list of objects; one that no job was asked with is read by nobody. S3 Batch Operations takes no list that is
# encrypted with a KMS key (docs.aws.amazon.com/AmazonS3/latest/userguide/batch-ops-create-job.html).
manifest_key = ObjectKind(
    "checksums/jobs/manifests/{number:06d}-{end}-{nonce}.csv",
    PlainText,
    by=("ComputeChecksums",),
    area=_AREA,
    by_s3=True,
)
_JOB_ID = re.compile(r"[a-zA-Z0-9_-]{5,36}")


class JobObjects(Struct, frozen=True):
    """The objects of one end in a job; ``manifest`` is the key of their list in the work bucket."""

    end: str
    manifest: str
    versioned: bool
    objects: int
    bytes: int


class JobBatch(Struct, frozen=True):
    """The jobs about the shards from ``first`` up to ``after``, one an end; asked for ``at``."""

    number: int
    at: float
    first: int
    after: int
    parts: list[JobObjects]


# The jobs of a number.
asked_key = ObjectKind(_ASKED + "{number:06d}.json", JobBatch, by=("ComputeChecksums",), area=_AREA)


class CreatedJob(Struct, frozen=True):
    """A job that S3 took, or why it did not."""

    job_id: str
    refused: str = ""


created_key = ObjectKind(
    "checksums/jobs/created/{number:06d}-{end}.json", CreatedJob, by=("ComputeChecksums",), area=_AREA
)


class EndedJob(Struct, frozen=True):
    """A job that is over: with how many checksums, or why with none."""

    state: JobState
    objects: int = 0
    said: str = ""


ended_key = ObjectKind("checksums/jobs/ended/{number:06d}-{end}.json", EndedJob, by=("ComputeChecksums",), area=_AREA)


class InJob(Struct, frozen=True):
    """The number of the jobs that a shard's objects are in."""

    number: int


_in_job_key = ObjectKind("checksums/jobs/of/{name}.json", InJob, by=("ComputeChecksums",), area=_AREA)


def begin_computing(ledger: Ledger) -> None:
    """Note what holds unless the computing comes to its end, which replaces it."""
    said = "the computing of checksums broke off: every object that tells none was read"
    ledger.whole_run().note(NOTE, [said])


def shard_key(shard: Shard) -> ObjectKind[InJob]:
    """In which jobs the objects of a shard are; the parts of a big file share the answer."""
    name = shard.id if shard.blocks is None else sha256(shard.key.encode()).hexdigest()[:32]
    return _in_job_key(name)


def all_asked(ledger: Ledger) -> list[JobBatch]:
    """All jobs that the run asked for, in their order."""
    return [ledger.read(asked_key.at(key)) for key in ledger.keys(_ASKED)]


def job_of(asked: JobBatch, part: JobObjects, ledger: Ledger) -> JobAsked:
    """The job as S3 is asked for it."""
    reports = ledger.reports().prefix.removesuffix("/")
    token = sha256(f"{ledger.prefix}{asked.number}/{part.end}".encode()).hexdigest()  # the same in every attempt
    return JobAsked(token, part.manifest, part.versioned, reports)


def reported(
    job_id: str, end: S3Location, wanted: Collection[str] | None, bucket: str, ledger: Ledger
) -> dict[tuple[str, str], str]:
    """The checksums in a job's report by path and ETag, of all paths or of those wanted.

    Raises ``NotFound``, and ``ValueError`` for no whole report.
    """
    if not _JOB_ID.fullmatch(job_id):
        raise ValueError(f"{job_id[:40]!r} is no job")
    reports = ledger.reports()
    folder = f"job-{job_id}/"
    files = report_files(reports.read_bytes(f"{folder}manifest.json"), bucket, reports.prefix + folder)

    def rows() -> Iterator[list[str]]:
        for name, md5 in files:
            yield from report_rows(reports.read_bytes(folder + name), md5)

    return computed_in(rows(), end.bucket, end.prefix, wanted)


def jobs_of(shard: Shard, ledger: Ledger) -> dict[str, str]:
    """The ids of the jobs by end that are complete and are about a shard."""
    found = ledger.find(shard_key(shard))
    asked = None if found is None else ledger.find(asked_key(found.number))
    if asked is None:
        return {}
    jobs = {}
    for part in asked.parts:
        created = ledger.find(created_key(asked.number, part.end))
        ended = ledger.find(ended_key(asked.number, part.end))
        if created is not None and ended is not None and ended.state is JobState.COMPLETE:
            jobs[part.end] = created.job_id
    return jobs


def computing_asked(ledger: Ledger) -> tuple[int, int]:
    """How many jobs, and how many objects in them, S3 took; of a run and of its verification."""
    jobs = objects = 0
    for one in (ledger, ledger.verification()):
        for asked in all_asked(one):
            for part in asked.parts:
                created = one.find(created_key(asked.number, part.end))
                if created is not None and not created.refused:
                    jobs, objects = jobs + 1, objects + part.objects
    return jobs, objects
