"""The services that S3 carries out by itself for the runs of a stack."""

from __future__ import annotations

from fanout.adapters.s3.object_archive import S3Archive
from fanout.adapters.s3.place import ObjectPlace
from fanout.model.location import S3Location
from fanout.ports.checksum_jobs import ChecksumJobs
from fanout.ports.s3_services import ObjectArchive, S3Services
from fanout.request.plan import Plan
from fanout.runtime.clients import client_for, settings, stack_client


class StackS3Services(S3Services):
    """The services that this stack may use, as one of its functions asks for them."""

    def __init__(self, function: str = "") -> None:
        self._function = function

    def archive(self, plan: Plan) -> ObjectArchive | None:
        """The archives of the source's bucket, where the request has objects restored."""
        source = plan.request.source
        if isinstance(source, S3Location) and plan.request.brings_back:
            return S3Archive(client_for(plan, self._function), source)
        return None

    def checksum_jobs(self, plan: Plan) -> ChecksumJobs | None:
        """The jobs about the objects of a request's ends; ``None`` where the stack has no role for them."""
        here = settings()
        if not here.checksum_role:
            return None
        from fanout.adapters.aws.checksum_jobs import S3ChecksumJobs

        places = {"source": plan.request.source, "destination": plan.request.destination}
        return S3ChecksumJobs(
            here.region,
            here.account_id,
            here.checksum_role,
            ObjectPlace(stack_client(), here.work_bucket, ""),
            client_for(plan, self._function),
            {end: place for end, place in places.items() if isinstance(place, S3Location)},
            here.control_url,
        )
