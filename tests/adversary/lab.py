"""The laboratory of one script: both ends, the ledger, the time, and functions that see them as those of a stack do."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

from msgspec.structs import replace

from fanout.adapters.aws.credentials import Credentials
from fanout.adapters.aws.endpoint import Endpoint
from fanout.adapters.given_tree import with_given_attributes
from fanout.adapters.posix.tree import PosixTree
from fanout.adapters.s3.client.client import S3Client
from fanout.adapters.s3.copier import S3EntryCopier
from fanout.adapters.s3.metadata import write_headers
from fanout.adapters.s3.place import is_one_bucket
from fanout.adapters.s3.tree import S3Tree
from fanout.adapters.s3.work_store import S3ObjectReader, S3WorkStore
from fanout.facts import tuning
from fanout.flow.steps import STEPS
from fanout.ledger import kept_store
from fanout.ledger.ledger import Ledger
from fanout.ledger.sealing import find_seal, sealed_for
from fanout.model.location import MountLocation, S3Location
from fanout.ports.aws import Entered, Execution
from fanout.ports.store import WorkStore
from fanout.ports.tree import Tree
from fanout.report import page
from fanout.request import parse as requests
from fanout.request.parts.allowed_attributes import allowed_for
from fanout.request.parts.symlinks import Symlinks
from fanout.request.plan import Plan
from fanout.turns.write_turn import WriteTurns
from fanout.work.context import Context, EndPorts, StackFacts, StackPorts
from fanout.work.mount_owners import own_user
from fanout.work.roots import keep_out
from tests.adversary.buckets import BucketPlace
from tests.adversary.clock import LabClock
from tests.adversary.computing import JOB_OBJECTS, LabServices, batch_of
from tests.adversary.conductor import Attempt, Conductor
from tests.adversary.failing_files import failing_files
from tests.adversary.hooks import AnyOrder, HookedStore, Inline
from tests.adversary.lying_s3 import LyingS3
from tests.adversary.rights import as_role
from tests.adversary.s3_files import ShowingMeter, access_points, refusing
from tests.adversary.script import INSIDE_S3, MOUNT_TO_S3, S3_TO_MOUNT, TWO_MOUNTS, Fault, Script
from tests.adversary.services import History, Pauses
from tests.adversary.strict_s3 import StrictS3
from tests.adversary.trees import MountPlace, Place
from tests.adversary.upgrades import Product
from tests.adversary.wire import URL, wires
from tests.support.attempts import attempt_of
from tests.support.flow import AnyRequest
from tests.support.memory_store import MemoryStore
from tests.support.signing import LocalSigner

# A larger tree is listed in the product's own rounds, which are fewer.
MANY_ENTRIES = 100
WORK, LISTS = "work-bucket", "lists-bucket"
SPLIT_BYTES = 48 * 1024
# So that little data takes every way: blocks, parts, packs, rounds of a listing, segments.
LIMITS = {
    "MIB": 4096,
    "BLOCK_BYTES": 16_384,
    "BLOCK_BYTES_ON_MOUNTS": 8192,
    "BLOCK_BYTES_FREE": 8192,
    "PACK_BYTES": 32_768,
    "PACKED_BYTES": 12_288,
    "FIRST_SEGMENT_ENTRIES": 9,
    "SEGMENT_ENTRIES": 40,
    "SHARD_ENTRIES": 12,
    "CHECKSUM_JOB_OBJECTS": JOB_OBJECTS,
}


class Lab:
    """See the module. ``going`` are the executions that go on, ``stopped`` the machines of those that were stopped;
    ``watching`` surrounds each attempt of a function.
    """

    def __init__(self, script: Script, base: Path, perform: Callable[[Fault, Attempt], None], product: Product) -> None:
        self.script, self.base, self.product = script, base, product
        self.clock = LabClock()
        self.conductor = Conductor(perform)
        self.going: set[str] = set()
        self.stopped: list[Any] = []
        self.at, self.pauses = History(script.services.behind), Pauses(script.services.pauses)
        self.watching: Callable[[Any, str], AbstractContextManager[None]] = lambda machine, state: nullcontext()
        self.truth = StrictS3(lambda: self.clock.now() + script.skew_seconds, script.page_keys, tells=not script.jobs)
        self.s3 = LyingS3(self.truth, self.conductor, WORK)
        for bucket in (WORK, LISTS, "source-bucket", "target-bucket"):
            self.truth.buckets[bucket] = {}
        self.between_mounts = script.direction == TWO_MOUNTS
        # Directories of mounts by the names that requests give them; the last two lead to where ``data`` does.
        self.mounts = {"data": base / "data", "archive": base / "archive"}
        self.mounts |= {"alias": base / "data", "nested": base / "data/in"}
        for alias, bucket in (("source-alias", "source-bucket"), ("work-alias", WORK)):
            self.truth.alias(alias, bucket)
        self.source, self.destination = self._source(), self._destination()
        stored = S3WorkStore(self.client(), WORK) if script.ledger_in_s3 else MemoryStore()
        self.signer = LocalSigner()
        self.store = HookedStore(stored, self.conductor)
        self.batch = batch_of(self, script)
        self._nonces = 0

    def _source(self) -> Place:
        if self.script.direction in (S3_TO_MOUNT, INSIDE_S3):
            tool = self.script.options.get("attributes", {}).get("from", "")
            return BucketPlace(self.s3, "source-bucket", "tree/in/", tool)
        keeps = self.script.direction == MOUNT_TO_S3
        return MountPlace(self.base / "data", "in", self.clock, keeps_mtimes=keeps)

    def _destination(self) -> Place:
        if self.script.direction in (MOUNT_TO_S3, INSIDE_S3):
            return BucketPlace(self.s3, "target-bucket", "tree/out/")
        mount = self.base / ("archive" if self.between_mounts else "data")
        return MountPlace(mount, "out", self.clock, keeps_mtimes=True)

    @property
    def ends(self) -> dict[str, str]:
        """The ends of the request."""
        from_s3 = isinstance(self.source, BucketPlace)
        to_s3 = isinstance(self.destination, BucketPlace)
        to_mount = "efs://archive/out" if self.between_mounts else "efs://data/out"
        return {
            "source": "s3://source-bucket/tree/in/" if from_s3 else "efs://data/in",
            "destination": "s3://target-bucket/tree/out/" if to_s3 else to_mount,
        }

    def client(self) -> S3Client:
        """A client as a new function makes one, that waits for nothing."""
        credentials = Credentials("testing", "testing")
        endpoint = Endpoint("us-east-1", URL)
        wait: Callable[[float], None] = lambda seconds: None  # noqa: E731
        return S3Client(endpoint, lambda: credentials, sleep=wait, draw=lambda: 0.0, now=self.clock.now)

    def running(self, execution: str) -> bool:
        """See ``ports.tree.Executions``."""
        return execution in self.going

    def find(self, execution: str) -> Execution:
        """See ``ports.aws.ExecutionReader``: it was started with what its function is given."""
        name = execution.rpartition(":")[2]
        return Execution("", name, name in self.going, AnyRequest())

    def entered(self, execution: str) -> Entered:
        """See ``ports.aws.ExecutionReader``."""
        return self.at.shown(execution.rpartition(":")[2])

    def _ledger(self, run_id: str, prefix: str, state: str, kept: WorkStore | None) -> Ledger:
        ledger = Ledger(as_role(self.store, state) if kept is None else kept, run_id, prefix)
        if not self.script.options.get("certificate"):
            return ledger
        with self.conductor.paused():
            seal = find_seal(Ledger(self.store.plain, run_id))
        return sealed_for(STEPS[state].seals, seal.prefix, ledger) if seal and state else ledger

    def context(
        self, run_id: str, prefix: str, client: S3Client, sees: str, state: str = "", kept: WorkStore | None = None
    ) -> Context:
        """A new attempt of a function that sees the mounts of ``sees``: source, destination, both or none.

        ``kept`` is the ledger's place as a function knows it that walks through several states.
        """
        self._nonces += 1
        nonce = f"n{self._nonces}"
        ledger = self._ledger(run_id, prefix, state, kept)
        opened: list[Tree] = []

        def tree(end: str, plan: Plan) -> Tree | None:
            location, overwrite = getattr(plan.request, end), plan.request.overwrite
            if self.between_mounts and sees not in (end, "both"):
                return None
            if isinstance(location, S3Location):
                headers = write_headers(plan.request.objects)
                opened.append(
                    S3Tree(
                        client,
                        location.bucket,
                        location.prefix,
                        write_headers=headers,
                        overwrite=overwrite,
                        is_source=end == "source",
                    )
                )
            else:
                assert isinstance(location, MountLocation)
                follow = end == "source" and plan.request.symlinks is Symlinks.FOLLOW
                mount = self.mounts[location.mount]
                kept = plan.request.backup_to if end == "destination" else None
                place = kept.place if kept else ""
                opened.append(
                    PosixTree(
                        mount,
                        location.path,
                        plan.run_id,
                        nonce,
                        end,
                        follow=follow,
                        overwrite=overwrite,
                        backup_to=place,
                        allowed=allowed_for(plan.request, self.script.services.allows),
                        replaces_kinds=end == "destination" and plan.request.replaces_kinds,
                    )
                )
            with self.conductor.paused():
                return keep_out(end, opened[-1], plan, Ledger(self.store.plain, run_id, prefix))

        def copier(plan: Plan) -> S3EntryCopier | None:
            source, destination = plan.request.source, plan.request.destination
            if not isinstance(source, S3Location) or not isinstance(destination, S3Location):
                return None
            return S3EntryCopier(
                client, source, destination, whole_bytes=16_384, part_bytes=8192, overwrite=plan.request.overwrite
            )

        def source(plan: Plan) -> Tree | None:
            found, allowed = tree("source", plan), allowed_for(plan.request, self.script.services.allows)
            if found is None:
                return None
            with self.conductor.paused():
                own = own_user(Ledger(self.store.plain, run_id, prefix)) if allowed.owners else None
            return with_given_attributes(found, plan.request.attributes, allowed, own)

        def release() -> None:
            for one in opened:
                one.close()

        ends = EndPorts(
            source=source,
            destination=lambda plan: tree("destination", plan),
            copier=copier,
            release=release,
            is_one_bucket=lambda plan, key: is_one_bucket(
                client, plan.request.destination.bucket, plan.request.source.bucket, key
            ),
            objects=lambda _request: S3ObjectReader(lambda _bucket: client),
            s3_services=LabServices(self, client),
        )
        facts = StackFacts(
            mounts=tuple(self.mounts),
            access_points=access_points(self.script.direction) if self.script.s3_files else {},
            computes_checksums=bool(self.script.jobs),
        )
        return attempt_of(
            ledger,
            self.clock,
            900,
            nonce,
            ends,
            StackPorts(facts=facts, meter=ShowingMeter(), executions=self),
            turns=WriteTurns(as_role(self.store, state if kept is None else "ShortWay"), self, self.clock),
            signer=self.signer,
        )


@contextmanager
def laboratory(script: Script, base: Path, perform: Callable[[Fault, Attempt], None]) -> Iterator[Lab]:
    """A lab at work: limits are small, nothing runs in threads, and files and S3 answer to the conductor."""
    parse = requests.parse_request

    def with_small_files_split(*arguments: Any) -> Any:
        request = parse(*arguments)
        return replace(request, limits=replace(request.limits, split_bytes=SPLIT_BYTES))

    for step in STEPS.values():
        step.load()  # what is imported later would work in threads
    with ExitStack() as stack:
        for name, value in LIMITS.items():
            if len(script.source) < MANY_ENTRIES and not any(
                spec.path.count("/") > MANY_ENTRIES for spec in script.source
            ):
                stack.enter_context(patch.object(tuning, name, value))
        stack.enter_context(patch.object(requests, "parse_request", with_small_files_split))
        # Its templates take longer than all the rest of a run, and other tests look at it.
        stack.enter_context(patch.object(page, "render_report", lambda findings: "a page"))
        for name, module in list(sys.modules.items()):
            if name.startswith("fanout.") and hasattr(module, "ThreadPoolExecutor"):
                stack.enter_context(patch.object(module, "ThreadPoolExecutor", Inline))
        # What a ledger sends side by side comes in any order, and a kill may find any of it there.
        stack.enter_context(patch.object(AnyOrder, "draw", Random(script.seed)))
        stack.enter_context(patch.object(kept_store, "ThreadPoolExecutor", AnyOrder))
        stack.enter_context(script.services.pages())
        if script.s3_files:
            stack.enter_context(refusing(script.direction, base))
        lab = Lab(script, base, perform, Product(stack))
        stack.enter_context(wires(lab.s3))
        stack.enter_context(failing_files(lab.conductor, lab.clock, str(base)))
        lab.source.build(script.source)
        lab.destination.build(script.destination)
        yield lab
    shutil.rmtree(base, ignore_errors=True)
