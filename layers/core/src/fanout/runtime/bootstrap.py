"""The one place where adapters are chosen; S3's clients come from ``clients``."""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING

from fanout.adapters.given_tree import with_given_attributes
from fanout.adapters.posix.probe.probe_directory import PosixProbeDirectory
from fanout.adapters.posix.tree import PosixTree
from fanout.adapters.s3.copier import S3EntryCopier
from fanout.adapters.s3.metadata import write_headers
from fanout.adapters.s3.place import is_one_bucket
from fanout.adapters.s3.tree import S3Tree
from fanout.flow.calls import StackSettings, only_mount
from fanout.ledger.ledger import Ledger
from fanout.ledger.sealing import Seals, sealed_for
from fanout.model.checksum import NO_BYTES, crc64nvme
from fanout.model.errors import InvalidRequest
from fanout.model.location import Location, MountLocation, S3Location
from fanout.ports.aws import Meter, Signer
from fanout.ports.pacing import Account, MapRuns
from fanout.ports.store import WorkStore
from fanout.ports.tree import EntryCopier, Tree
from fanout.request.object_options import ContentType
from fanout.request.parts.allowed_attributes import Allowed, allowed_for
from fanout.request.plan import Plan
from fanout.runtime.clients import check_sessions, client_for, far_buckets, make_work_store, objects_for, settings
from fanout.runtime.late import late
from fanout.runtime.s3_services import StackS3Services
from fanout.turns.write_turn import WriteTurns
from fanout.work.context import Context, EndPorts, StackPorts
from fanout.work.processes.crew import find_crew
from fanout.work.processes.one_at_a_time import share_between_processes
from fanout.work.rates.throttle import Throttle
from fanout.work.roots import keep_out

if TYPE_CHECKING:
    from fanout.adapters.aws.step_functions import StepFunctionsExecutions


class SystemClock:
    """The machine's ``Clock``."""

    def now(self) -> float:
        return time.time()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)


@cache
def _meter() -> Meter:
    from fanout.adapters.aws.meter import AwsMeter

    here = settings()
    return AwsMeter(here.region, here.efs_url, here.metrics_url)


@cache
def make_executions() -> StepFunctionsExecutions:
    """The adapter that starts executions and reads their state."""
    from fanout.adapters.aws.step_functions import StepFunctionsExecutions

    return StepFunctionsExecutions(settings().region, settings().states_url)


def make_account() -> Account:
    """The adapter that reads the account's limits from Lambda."""
    from fanout.adapters.aws.meter import LambdaAccount

    return LambdaAccount(settings().region, settings().lambda_url)


def make_signer() -> Signer:
    """The adapter that signs with the stack's key."""
    from fanout.adapters.aws.signer import KmsSigner

    here = settings()
    return KmsSigner(here.region, here.certificate_key, here.kms_url)


def make_context(
    run_id: str,
    prefix: str,
    remaining_seconds: float,
    state: str = "",
    sealed: str = "",
    kept: WorkStore | None = None,
    function: str = "",
    seals: Seals = Seals.NOTHING,
) -> Context:
    """The context of one attempt, of the task of a state, that may take so many seconds.

    ``sealed`` is the prefix below which the run seals its ledger, empty for none; ``seals`` is what the step does with
    the seal. ``kept`` is the ledger's place as a
    function knows it that walks through several states; what changes during a run is read past it. ``function`` is
    the one at work: a role of another account gives it that function's rights.
    """
    clock, store = SystemClock(), make_work_store()
    nonce = secrets.token_hex(4)
    ledger = sealed_for(seals, sealed, Ledger(store if kept is None else kept, run_id, prefix))
    here, executions = settings(), late(make_executions)
    return Context(
        ledger=ledger,
        clock=clock,
        ends_at=clock.now() + remaining_seconds,
        nonce=nonce,
        ends=make_ends(ledger, nonce, function),
        stack=StackPorts(
            facts=here,
            meter=late(_meter),
            account=late(make_account),
            executions=executions,
            processors=len(os.sched_getaffinity(0)),
            crew=find_crew(),
            hold_to_budget=hold_to_budget,
        ),
        limiter=Throttle(state, Ledger(store, run_id, prefix), nonce, clock.now, clock.sleep, remaining_seconds),
        turns=WriteTurns(store, executions, clock, tuple(here.mounts), here.file_systems),
        signer=late(make_signer) if here.certificate_key else None,
    )


def make_ends(ledger: Ledger, nonce: str, function: str) -> EndPorts:
    """The adapters of the source and the destination, as a function of that name has rights on them."""
    opened: list[Tree] = []

    def tree(field: str, location: Location, plan: Plan) -> Tree | None:
        is_seen = isinstance(location, S3Location) or location.mount in settings().mounts
        if plan.request.between_mounts and not is_seen:
            return None
        opened.append(keep_out(field, make_tree(field, location, plan, nonce, function), plan, ledger))
        return opened[-1]

    def source(plan: Plan) -> Tree | None:
        found = tree("source", plan.request.source, plan)
        return None if found is None else with_given_attributes(found, plan.request.attributes, _allowed(plan))

    def release() -> None:
        for one in opened:
            one.close()

    return EndPorts(
        source=source,
        destination=lambda plan: tree("destination", plan.destination, plan),
        copier=lambda plan: make_entry_copier(plan, function),
        release=release,
        forks=both_are_mounts,
        is_one_bucket=lambda plan, key: ends_are_one_bucket(plan, key, function),
        far_buckets=far_buckets,
        ownership=lambda plan: client_for(plan, function).get_bucket_ownership_controls(
            plan.request.destination.bucket
        ),
        check_sessions=check_sessions,
        objects=lambda plan: objects_for(plan, function),
        s3_services=StackS3Services(function),
    )


def hold_to_budget(plan: Plan, context: Context) -> None:
    """Raise ``OutOfBudget`` if the run has spent its ``limits.max_dollars``; without it nothing is loaded."""
    if plan.request.limits.max_dollars is not None:
        from fanout.forecast import spending

        spending.hold_to_budget(plan, context)


def prepare_processes() -> None:
    """Load and open what all processes of a function share, in their first child."""
    share_between_processes()
    crc64nvme(b"", NO_BYTES)


def both_are_mounts(plan: Plan) -> bool:
    """Whether both ends are mounts of this function."""
    ends = (plan.request.source, plan.request.destination)
    return all(isinstance(end, MountLocation) and end.mount in settings().mounts for end in ends)


def make_map_runs() -> MapRuns:
    """The adapter that reads and changes the Map runs of an execution."""
    from fanout.adapters.aws.step_functions import StepFunctionsMaps

    return StepFunctionsMaps(settings().region, settings().states_url)


def stack() -> StackSettings:
    """The settings of this function's stack, as steps take them."""
    here = settings()
    return StackSettings(
        tuple(here.mounts),
        here.max_concurrency,
        here.work_bucket,
        here.state_machine,
        here.event_request,
        make_map_runs,
        make_executions,
        probe_directories,
    )


def make_tree(field: str, location: Location, plan: Plan, nonce: str, function: str = "") -> Tree:
    """The adapter of a location; only a source's symlinks are ever followed."""
    if isinstance(location, S3Location):
        objects = plan.request.objects
        return S3Tree(
            client_for(plan, function),
            location.bucket,
            location.prefix,
            write_headers=write_headers(objects),
            guess_content_type=objects.content_type is ContentType.GUESS,
            overwrite=plan.request.overwrite,
            tells_held=field == "source" and plan.request.brings_back,
            is_source=field == "source",
        )
    mount = settings().mounts.get(location.mount)
    if mount is None:
        known = ", ".join(settings().mounts) or "none"
        raise InvalidRequest(field, f"this function does not see the mount {location.mount!r}", f"it sees {known}")
    follow = field == "source" and plan.request.symlinks.follows
    overwrite = plan.request.overwrite
    backup = plan.request.backup_to
    kept = backup.place if backup is not None and backup.mount == location.mount else ""
    return PosixTree(
        mount,
        location.path,
        plan.run_id,
        nonce,
        field,
        follow=follow,
        overwrite=overwrite,
        backup_to=kept if field == "destination" else "",
        spares=kept,
        stages_at=plan.staging_place if field == "destination" and plan.version else None,
        allowed=_allowed(plan),
        replaces_kinds=field == "destination" and plan.request.replaces_kinds,
    )


def _allowed(plan: Plan) -> Allowed:
    """The attributes that this stack allows copies of the run."""
    return allowed_for(plan.request, settings().allows)


@cache
def _client_id() -> str:
    """The id of this process. In Lambda it is that of the environment: one NFS client with its own cache."""
    return secrets.token_hex(4)


@contextmanager
def probe_directories(probe_id: str, path: str) -> Iterator[PosixProbeDirectory]:
    """The directory of a probe on the mount that this function sees."""
    mounts = settings().mounts
    directory = PosixProbeDirectory(mounts[only_mount(mounts)], path, probe_id, _client_id())
    try:
        yield directory
    finally:
        directory.close()


def make_entry_copier(plan: Plan, function: str = "") -> EntryCopier | None:
    """The server-side copier, where one store holds both ends; else ``None``."""
    source, destination = plan.request.source, plan.request.destination
    if isinstance(source, S3Location) and isinstance(destination, S3Location):
        objects = plan.request.objects
        client = client_for(plan, function)
        headers, overwrite = write_headers(objects), plan.request.overwrite
        return S3EntryCopier(client, source, destination, headers, tags=objects.tags, overwrite=overwrite)
    return None


def ends_are_one_bucket(plan: Plan, key: str, function: str = "") -> bool:
    """Whether the buckets of both ends are one; ``key`` is of the upload that tells."""
    request = plan.request
    return is_one_bucket(client_for(plan, function), request.destination.bucket, request.source.bucket, key)
