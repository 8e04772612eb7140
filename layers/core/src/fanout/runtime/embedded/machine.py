"""The engine's parts on this machine: its directories, an S3 that it reaches, and a ledger in a directory."""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path

from fanout.adapters.aws.credentials import CredentialsProvider, LooksEverySecond
from fanout.adapters.aws.endpoint import Endpoint
from fanout.adapters.directory.executions import MACHINE, DirectoryExecutions
from fanout.adapters.directory.objects import DirectoryObjects
from fanout.adapters.directory.store import DirectoryWorkStore
from fanout.adapters.s3.client.bucket_headers import headers_of_buckets
from fanout.adapters.s3.client.client import S3Client
from fanout.adapters.s3.client.reach import region_of
from fanout.adapters.s3.object_archive import S3Archive
from fanout.adapters.s3.work_store import S3ObjectReader
from fanout.model.location import S3Location
from fanout.ports.s3_services import ObjectArchive, S3Services
from fanout.request.plan import Plan
from fanout.runtime.bootstrap import SystemClock
from fanout.runtime.embedded.parts import LEDGER, Parts
from fanout.runtime.ends import Reach, ends_of
from fanout.work.context import StackFacts, WayOut

# The mount that holds all directories of this machine: ``efs://local/srv/in`` is ``/srv/in``.
MOUNT = "local"
ROOT = Path("/")


class S3Here(S3Services):
    """The S3 that this machine reaches; its client is made when an end needs it."""

    def __init__(self, endpoint: Endpoint, credentials: CredentialsProvider) -> None:
        self.endpoint, self._credentials = endpoint, credentials

    @cached_property
    def client(self) -> S3Client:
        """The client of all runs of this process."""
        return S3Client(self.endpoint, LooksEverySecond(self._credentials))

    def client_for(self, plan: Plan) -> S3Client:
        """The client for the buckets of a plan."""
        return self.client.for_buckets(headers_of_buckets(plan.request.bucket_options)).by_ways(plan.regions, {})

    def far_buckets(self, buckets: Iterable[str]) -> dict[str, str]:
        """The regions of the buckets that are in another one than the endpoint; all of another S3 are at its URL."""
        if self.endpoint.url:
            return {}
        found = {one: region_of(self.endpoint, one) for one in set(buckets)}
        return {bucket: region for bucket, region in found.items() if region not in ("", self.endpoint.region)}

    def archive(self, plan: Plan) -> ObjectArchive | None:
        """The archives of the source's bucket, where the request has objects restored."""
        source = plan.request.source
        return S3Archive(self.client_for(plan), source) if isinstance(source, S3Location) else None


def parts_of_machine(ledger: Path, s3: S3Here) -> Parts:
    """The parts of the engine with its ledger in a directory, which is made with the first write."""
    store = DirectoryWorkStore(str(ledger))
    reach = Reach(
        mounts={MOUNT: ROOT},
        client_for=s3.client_for,
        objects=lambda plan: DirectoryObjects(store, LEDGER, S3ObjectReader(lambda _: s3.client_for(plan))),
        far_buckets=s3.far_buckets,
        s3_services=s3,
    )
    return Parts(
        store=store,
        executions=DirectoryExecutions(str(ledger)),
        ends=lambda run, nonce: ends_of(reach, run, nonce),
        facts=StackFacts(mounts=(MOUNT,), region=s3.endpoint.region, way_out=WayOut.MOUNTS, state_machine=MACHINE),
        clock=SystemClock(),
        processors=len(os.sched_getaffinity(0)),
    )
