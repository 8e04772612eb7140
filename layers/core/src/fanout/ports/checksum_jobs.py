"""The port of jobs by which S3 computes the checksums of objects that it keeps none of."""

from __future__ import annotations

from enum import StrEnum
from typing import Protocol

from msgspec import Struct

from fanout.model.checksum import Sums


class Stored(Struct, frozen=True):
    """The answer to a HEAD: the object's ETag without quotes, its checksums of the whole, and its version.

    ``version`` is empty in a bucket that never had versions.
    """

    etag: str
    sums: Sums
    version: str = ""


class JobAsked(Struct, frozen=True):
    """A job as it is asked for: two with one ``token`` are one job.

    ``manifest`` is the key in the work bucket of the objects' list. Its rows have a version where it is ``versioned``.
    Below ``reports`` S3 writes what it computed.
    """

    token: str
    manifest: str
    versioned: bool
    reports: str


class JobState(StrEnum):
    """How far a job is."""

    AT_WORK = "at work"
    COMPLETE = "complete"
    FAILED = "failed"


class JobLook(Struct, frozen=True):
    """A job as S3 describes it; ``said`` is why it failed, ``ended_at`` when it ended, in seconds since 1970."""

    state: JobState
    said: str = ""
    ended_at: float = 0.0


class ChecksumJobs(Protocol):
    """The objects of a run's ends, and the jobs about them. Raises the errors of ``fanout.model.errors``."""

    def look(self, end: str, path: str) -> Stored | None:
        """The object of a path at the source or the destination; ``None`` if it cannot be looked at."""

    def create(self, asked: JobAsked) -> str:
        """The id of the job, which may have been created before. Raises ``AccessDenied`` and ``InvalidRequest``."""

    def job(self, job_id: str) -> JobLook:
        """The job now. Raises ``NotFound``."""

    def cancel(self, job_id: str) -> None:
        """Have S3 give the job up; one that has ended stays as it is. Raises ``NotFound`` and ``AccessDenied``."""
