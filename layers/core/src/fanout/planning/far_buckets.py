"""Finds which buckets of a request lie in other regions than the stack, and refuses what no function reaches.

The same holds for a role that a request has assumed: the service that gives its credentials is outside of the network.

| the run is between   | WayOut none | buckets                       | mounts                                      |
|----------------------|-------------|-------------------------------|---------------------------------------------|
| two buckets          | refused     | functions outside the network | functions outside the network               |
| a bucket and a mount | refused     | refused                       | functions on the mount, by their network    |

S3 refuses a copy from one region to another that comes by an endpoint of a network; so a run between two buckets never
takes the functions on a mount, whatever way out they have.
"""

from __future__ import annotations

from collections.abc import Iterator

from fanout.model.errors import InvalidRequest
from fanout.request.plan import Plan
from fanout.request.request import Request
from fanout.work.context import Context, StackFacts, WayOut

_BETWEEN_BUCKETS = "deploy the stack with WayOut=buckets, or name buckets of {region}"
_WITH_MOUNT = (
    "copy between the bucket and one of {region} first (WayOut=buckets), or give the mount's network a NAT gateway and"
    " deploy the stack with WayOut=mounts"
)


def find_far(request: Request, context: Context) -> dict[str, str]:
    """The regions of the buckets that are not in the stack's. Raises ``InvalidRequest`` for one that is not reached."""
    check_role(request, context.stack.facts)
    named = list(_buckets_of(request))
    far = context.ends.far_buckets([bucket for _, bucket in named])
    for field, bucket in named:
        if bucket in far:
            refuse_unreached(field, f"{bucket} is in {far[bucket]}", request, context.stack.facts)
    return far


def check_role(request: Request, deployed: StackFacts) -> None:
    """Raise ``InvalidRequest`` for a role that the stack does not name, or that cannot be assumed."""
    role, _ = request.assumed
    if not role:
        return
    if role not in deployed.roles:
        known = ", ".join(deployed.roles) or "none"
        raise InvalidRequest(
            request.role_field,
            f"{role} is not of the stack's AssumableRoleArns",
            f"it names {known}; deploy it with this",
        )
    refuse_unreached(request.role_field, f"{role} is assumed outside the network", request, deployed)


def refuse_unreached(field: str, what: str, request: Request, deployed: StackFacts) -> None:
    """Raise ``InvalidRequest`` for what lies out of the functions' reach."""
    if deployed.way_out.reaches(inside_s3=request.inside_s3):
        return
    remedy = _BETWEEN_BUCKETS if request.inside_s3 else _WITH_MOUNT
    reach = f"the stack in {deployed.region} reaches {_REACHED[deployed.way_out]}"
    raise InvalidRequest(field, f"{what}, and {reach}", remedy.format(region=deployed.region))


_REACHED = {
    WayOut.NONE: "no other region and assumes no role (WayOut=none)",
    WayOut.BUCKETS: "other regions and roles from buckets alone (WayOut=buckets)",
}


def _buckets_of(request: Request) -> Iterator[tuple[str, str]]:
    for field, end in (("source", request.source), ("destination", request.destination)):
        if end.is_keyed:
            yield field, end.bucket
    if request.manifest is not None:
        yield "manifest", request.manifest.bucket


def check_checksums(plan: Plan, deployed: StackFacts) -> None:
    """Raise ``InvalidRequest`` for ``checksums: computed`` where no job of S3 Batch Operations could read the objects.

    | the run                                  | why no job can                                  |
    |------------------------------------------|-------------------------------------------------|
    | of a stack without ``ComputedChecksums`` | there is no role that a job could have          |
    | of a bucket of another region            | a job is about buckets of its own region        |
    | by a role of another account             | a job has the stack's role, which is not let in |
    """
    for problem, remedy in _refusals(plan, deployed) if plan.request.computes_checksums else ():
        raise InvalidRequest("checksums", problem, remedy)


def _refusals(plan: Plan, deployed: StackFacts) -> Iterator[tuple[str, str]]:
    if not deployed.computes_checksums:
        yield (
            "the stack has no role for jobs of S3 Batch Operations",
            "leave it out, or deploy the stack with ComputedChecksums: true",
        )
    if plan.regions:
        far = ", ".join(f"{bucket} is in {region}" for bucket, region in sorted(plan.regions.items()))
        yield (f"a job computes those of its own region's buckets, and {far}", "leave it out")
    role, _ = plan.request.assumed
    if role:
        yield (f"a job reads with the stack's own role, and {plan.request.role_field} names {role}", "leave it out")
