"""Checksums that S3 computes: drawn, with what goes wrong about the jobs; the oracle judges the run as any other.

What S3 says of an object that is there by its ETag is true: nothing could find out another word. All else can be wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote_plus, unquote_plus

from msgspec.structs import replace

from fanout.adapters.s3.client.client import S3Client
from fanout.model.checksum import to_base64, told_by
from fanout.model.entry import bare
from fanout.model.errors import AccessDenied, NotFound
from fanout.model.location import S3Location
from fanout.ports.checksum_jobs import ChecksumJobs, JobAsked, JobLook, JobState, Stored
from fanout.ports.s3_services import S3Services
from fanout.request.plan import Plan
from tests.adversary.deeds import soon
from tests.adversary.script import INSIDE_S3, MOUNT_TO_S3, S3_TO_MOUNT, Act, Fault, Script
from tests.support.batch_operations import BatchOperations, Row, contradicted, no_row, said, twice

if TYPE_CHECKING:
    from tests.adversary.lab import Lab

T = TypeVar("T")
# Jobs are small here, so that a run asks for several.
JOB_OBJECTS = 5
_WITH_S3 = frozenset({S3_TO_MOUNT, MOUNT_TO_S3, INSIDE_S3})
_WRONG = to_base64(1)


def _another_s(row: Row) -> list[Row]:
    """The row under the key of an object beside it, whose checksum it is not."""
    folder, _, name = unquote_plus(row[1]).rpartition("/")
    return [row, [row[0], quote_plus(f"{folder}/f{len(name)}", safe="/"), *row[2:]]]


def _some(row: Row) -> list[Row]:
    return [] if len(row[1]) % 2 else [row]


# By their names in scripts: what is set of the jobs.
TROUBLES: dict[str, dict[str, Any]] = {
    "none": {},
    "every job fails": {"status": JobState.FAILED},
    "every job is refused": {"refuses": "AccessDenied"},
    "reports are missing": {"reports": False},
    "jobs end late": {"looks": 12},
    "jobs never end": {"looks": 10**6},
    "rows are missing": {"rows": no_row},
    "some rows are missing": {"rows": _some},
    "rows come twice": {"rows": twice},
    "rows contradict each other": {"rows": contradicted},
    "rows are another object's": {"rows": _another_s},
    "rows are of another etag": {"rows": said(etag="another", checksum_base64=_WRONG)},
    "rows are of another algorithm": {"rows": said(checksumAlgorithm="CRC32", checksum_base64=_WRONG)},
    "rows are of parts": {"rows": said(checksumType="COMPOSITE", checksum_base64=_WRONG)},
    "rows hold no checksum": {"rows": said(checksum_base64="AAAA")},
}


def compute(
    draw: Random, direction: str, options: dict[str, Any], acts: tuple[Act, ...]
) -> tuple[str, tuple[Act, ...]]:
    """Draw the field and the trouble of its jobs, where a run compares both whole trees; the acts with a fault more."""
    chance, trouble, faulty = draw.random(), draw.choice(tuple(TROUBLES)), draw.random() < 0.5
    kind, what = draw.choice(("compute/any", "compute/ledger:put", "jobs")), draw.choice(("kill", "twice", "late"))
    fault = Fault(kind, soon(draw, 12), what, draw.random() < 0.5)
    compares = options.get("verify") in ("all", "content") or options.get("mode") == "move"
    if chance > 0.5 or direction not in _WITH_S3 or not compares or "certificate" in options:
        return "", acts
    options["checksums"] = "computed"
    if faulty and acts[0].what == "run":
        acts = (replace(acts[0], faults=(*acts[0].faults, fault)), *acts[1:])
    return trouble, acts


def batch_of(lab: Lab, script: Script) -> BatchOperations:
    """S3 Batch Operations of a lab: it sees what is there, whatever anybody is told."""

    def read(bucket: str, key: str, _version: str) -> tuple[bytes, str] | None:
        if bucket == "work-bucket":
            with lab.conductor.paused():
                return lab.store.plain.get(key), ""
        found = lab.truth.buckets[bucket].get(key)
        return None if found is None else (found.data, found.etag)

    def write(key: str, data: bytes) -> None:
        with lab.conductor.paused():
            lab.store.plain.put(key, data)

    return BatchOperations(read, write, "work-bucket", now=lab.clock.now, **TROUBLES[script.jobs or "none"])


class LabJobs:
    """``ChecksumJobs`` as an attempt of a function has them; its calls pass the conductor."""

    def __init__(self, lab: Lab, plan: Plan, client: S3Client) -> None:
        self._lab, self._client = lab, client
        ends = {"source": plan.request.source, "destination": plan.request.destination}
        self._ends = {name: end for name, end in ends.items() if isinstance(end, S3Location)}

    def look(self, end: str, path: str) -> Stored | None:
        """See ``ports.checksum_jobs``."""
        place = self._ends[end]
        try:
            headers = self._client.head_object(place.bucket, place.prefix + path).headers
        except (NotFound, AccessDenied):
            return None
        return Stored(bare(headers.get("etag", "")), told_by(headers))

    def create(self, asked: JobAsked) -> str:
        """See ``ports.checksum_jobs``."""
        batch = self._lab.batch
        return self._call("create", lambda: batch.create(asked.token, asked.manifest, asked.reports, versioned=False))

    def job(self, job_id: str) -> JobLook:
        """See ``ports.checksum_jobs``."""
        return self._call("describe", lambda: self._lab.batch.describe(job_id))

    def cancel(self, job_id: str) -> None:
        """See ``ports.checksum_jobs``."""
        self._call("cancel", lambda: self._lab.batch.cancel(job_id))

    def _call(self, name: str, call: Callable[[], T]) -> T:
        passed = self._lab.conductor.before(f"jobs:{name}")
        answer = call()
        self._lab.conductor.after(passed)
        return answer


class LabServices(S3Services):
    """The services of S3 for an attempt of a function."""

    def __init__(self, lab: Lab, client: S3Client) -> None:
        self._lab, self._client = lab, client

    def checksum_jobs(self, plan: Plan) -> ChecksumJobs | None:
        return LabJobs(self._lab, plan, self._client)
