"""The engine's parts on this machine: its directories, an S3 that it reaches, and a ledger."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from functools import cached_property
from pathlib import Path

from msgspec import Struct

from fanout.adapters.aws.credentials import CredentialsProvider, LooksEverySecond
from fanout.adapters.aws.endpoint import Endpoint
from fanout.adapters.directory.executions import MACHINE, DirectoryExecutions
from fanout.adapters.directory.objects import DirectoryObjects
from fanout.adapters.directory.store import DirectoryWorkStore
from fanout.adapters.s3.client.bucket_headers import headers_of_buckets
from fanout.adapters.s3.client.client import S3Client
from fanout.adapters.s3.client.reach import region_of
from fanout.adapters.s3.object_archive import S3Archive
from fanout.adapters.s3.work_store import S3ObjectReader, S3WorkStore
from fanout.ledger.kind import is_read_by_s3
from fanout.model.location import S3Location
from fanout.ports.aws import Executions, ObjectReader, Signer
from fanout.ports.s3_services import ObjectArchive, S3Services
from fanout.request.plan import Plan
from fanout.runtime.bootstrap import SystemClock
from fanout.runtime.embedded.below_prefix import PrefixObjects, PrefixStore
from fanout.runtime.embedded.leases import LeasedExecutions, Leases
from fanout.runtime.embedded.parts import LEDGER, LedgerStore, Parts, RunsHere
from fanout.runtime.ends import Reach, ends_of
from fanout.runtime.late import late
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


class LedgerPlace(Struct, frozen=True):
    """The place of a ledger: a directory of this machine, or a prefix of a bucket.

    Objects of the ledger are named by ``bucket`` in documents, as those of a work bucket; ``objects`` reads them, and
    all others by a client.
    """

    store: LedgerStore
    executions: RunsHere
    bucket: str
    objects: Callable[[Callable[[str], S3Client]], ObjectReader]


def ledger_in_directory(directory: Path) -> LedgerPlace:
    """A ledger in a directory, which is made with the first write."""
    store = DirectoryWorkStore(str(directory))
    return LedgerPlace(
        store,
        DirectoryExecutions(str(directory)),
        LEDGER,
        lambda client_of: DirectoryObjects(store, LEDGER, S3ObjectReader(client_of)),
    )


def ledger_in_bucket(s3: S3Here, bucket: str, prefix: str, lost: Callable[[str], None]) -> LedgerPlace:
    """A ledger below a prefix of a bucket, empty for the whole of it; ``lost`` is called where a run lost its lease."""
    client = s3.client.by_ways(s3.far_buckets([bucket]), {})
    store = S3WorkStore(client, bucket, is_read_by_s3)
    leases = Leases(client, bucket, prefix)
    executions = LeasedExecutions(leases, late(lambda: _functions(s3.endpoint.region)), lost)
    name = LEDGER if prefix else bucket
    own = S3ObjectReader(lambda _: client)
    return LedgerPlace(
        PrefixStore(store, prefix),
        executions,
        name,
        lambda client_of: PrefixObjects(name, (bucket, prefix), own, S3ObjectReader(client_of)),
    )


def _functions(region: str) -> Executions:
    from fanout.adapters.aws.step_functions import StepFunctionsExecutions

    return StepFunctionsExecutions(region)


def parts_of_machine(ledger: LedgerPlace, s3: S3Here, signer: Signer | None = None) -> Parts:
    """The parts of the engine on this machine; ``signer`` signs certificates."""
    reach = Reach(
        mounts={MOUNT: ROOT},
        client_for=s3.client_for,
        objects=lambda plan: ledger.objects(lambda _: s3.client_for(plan)),
        far_buckets=lambda buckets: s3.far_buckets(set(buckets) - {ledger.bucket}),
        s3_services=s3,
    )
    return Parts(
        store=ledger.store,
        executions=ledger.executions,
        ends=lambda run, nonce: ends_of(reach, run, nonce),
        facts=StackFacts(mounts=(MOUNT,), region=s3.endpoint.region, way_out=WayOut.MOUNTS, state_machine=MACHINE),
        clock=SystemClock(),
        processors=len(os.sched_getaffinity(0)),
        bucket=ledger.bucket,
        signer=signer,
    )
