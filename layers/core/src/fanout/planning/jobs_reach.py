"""Refuses ``checksums: computed`` where no job of S3 Batch Operations could read the objects of a run.

| the run                                  | why no job can                                  |
|------------------------------------------|-------------------------------------------------|
| of a stack without ``ComputedChecksums`` | there is no role that a job could have          |
| of a bucket of another region            | a job is about buckets of its own region        |
| by a role of another account             | a job has the stack's role, which is not let in |
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from fanout.model.errors import InvalidRequest
from fanout.request.plan import Plan
from fanout.work.context import Deployed


class _Refusal(NamedTuple):
    problem: str
    remedy: str


def check_checksums(plan: Plan, deployed: Deployed) -> None:
    """Raise ``InvalidRequest`` for checksums that nothing here can have S3 compute."""
    for refusal in _refusals(plan, deployed) if plan.request.computes_checksums else ():
        raise InvalidRequest("checksums", *refusal)


def _refusals(plan: Plan, deployed: Deployed) -> Iterator[_Refusal]:
    if not deployed.computes_checksums:
        yield _Refusal(
            "the stack has no role for jobs of S3 Batch Operations",
            "leave it out, or deploy the stack with ComputedChecksums: true",
        )
    if plan.regions:
        far = ", ".join(f"{bucket} is in {region}" for bucket, region in sorted(plan.regions.items()))
        yield _Refusal(f"a job computes those of its own region's buckets, and {far}", "leave it out")
    role, _ = plan.request.assumed
    if role:
        yield _Refusal(
            f"a job reads with the stack's own role, and {plan.request.role_field} names {role}", "leave it out"
        )
