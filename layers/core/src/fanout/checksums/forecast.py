"""The dollars of jobs that compute checksums, as far as their prices are known, and their time, which is unknown.

S3 also charges for the bytes that it reads for a checksum. That price is in no table here: it is not counted.
"""

from __future__ import annotations

from collections.abc import Mapping

from fanout.efs.load import RequestCount, Work
from fanout.efs.phase_cost import Basis, PhaseCost, WorkDone
from fanout.facts.tuning import CHECKSUM_JOB_OBJECTS
from fanout.request.request import Request

# Assumed: S3 names no time. A job is prepared, waits for its turn, works and writes its report.
JOB_SECONDS = 900.0


def computing(request: Request, work: Work, basis: Basis) -> PhaseCost:
    """The cost if no object has a checksum; the HEADs that show which do come later."""
    ends = sum(end.is_keyed for end in (request.source, request.destination))
    objects = max(work.entries, work.listed if request.course.copies else 0)
    if not objects:
        return PhaseCost()
    jobs = -(-objects // CHECKSUM_JOB_OBJECTS) * ends
    looks = RequestCount(gets=objects * ends)
    return PhaseCost(seconds=JOB_SECONDS, requests=looks, services=_dollars(jobs, objects * ends, basis.price))


def computed(_request: Request, done: WorkDone, price: Mapping[str, float]) -> PhaseCost:
    """The jobs that S3 took, and their objects."""
    jobs, objects = done.computed
    return PhaseCost(services=_dollars(jobs, objects, price) if jobs else {})


def _dollars(jobs: int, objects: int, price: Mapping[str, float]) -> dict[str, float]:
    return {"checksums": jobs * price["batch_job"] + objects * price["batch_object"]}
