"""The one place where adapters are chosen; S3's clients come from ``clients``."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING

from fanout.flow.calls import StackSettings, only_mount
from fanout.ledger.ledger import Ledger
from fanout.ledger.sealing import Seals, sealed_for
from fanout.model.checksum import NO_BYTES, crc64nvme
from fanout.ports.aws import Executions, Meter, Signer
from fanout.ports.pacing import Account, MapRuns
from fanout.ports.store import WorkStore
from fanout.request.plan import Plan
from fanout.runtime.clients import (
    check_sessions,
    client_for,
    far_buckets,
    make_work_store,
    objects_for,
    settings,
    stack_client,
)
from fanout.runtime.ends import Reach, ends_of
from fanout.runtime.late import late
from fanout.runtime.s3_services import StackS3Services
from fanout.turns.write_turn import WriteTurns
from fanout.work.context import Context, EndPorts, StackPorts
from fanout.work.processes.crew import find_crew
from fanout.work.processes.one_at_a_time import share_between_processes
from fanout.work.rates.throttle import Throttle

if TYPE_CHECKING:
    from fanout.adapters.aws.step_functions import StepFunctionsExecutions
    from fanout.adapters.posix.probe.probe_directory import PosixProbeDirectory


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


def make_writers() -> Executions:
    """Whether a run that may write is at work: an execution, or a process of a machine that shares the work bucket."""
    from fanout.runtime.embedded.leases import EitherExecutions, Leases

    return EitherExecutions(Leases(stack_client(), settings().work_bucket), make_executions())


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
    nonce = _random_id()
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
        turns=WriteTurns(store, late(make_writers), clock, tuple(here.mounts), here.file_systems),
        signer=late(make_signer) if here.certificate_key else None,
    )


def make_ends(ledger: Ledger, nonce: str, function: str) -> EndPorts:
    """The adapters of the source and the destination, as a function of that name has rights on them."""
    here = settings()
    reach = Reach(
        mounts=here.mounts,
        client_for=lambda plan: client_for(plan, function),
        objects=lambda plan: objects_for(plan, function),
        far_buckets=far_buckets,
        s3_services=StackS3Services(function),
        check_sessions=check_sessions,
        allows=here.allows,
    )
    return ends_of(reach, ledger, nonce)


def hold_to_budget(plan: Plan, context: Context) -> None:
    """Raise ``OutOfBudget`` if the run has spent its ``limits.max_dollars``; without it nothing is loaded."""
    if plan.request.limits.max_dollars is not None:
        from fanout.forecast import spending

        spending.hold_to_budget(plan, context)


def prepare_processes() -> None:
    """Load and open what all processes of a function share, in their first child."""
    share_between_processes()
    crc64nvme(b"", NO_BYTES)


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


def _random_id() -> str:
    return os.urandom(4).hex()


@cache
def _client_id() -> str:
    """The id of this process. In Lambda it is that of the environment: one NFS client with its own cache."""
    return _random_id()


@contextmanager
def probe_directories(probe_id: str, path: str) -> Iterator[PosixProbeDirectory]:
    """The directory of a probe on the mount that this function sees."""
    from fanout.adapters.posix.probe.probe_directory import PosixProbeDirectory

    mounts = settings().mounts
    directory = PosixProbeDirectory(mounts[only_mount(mounts)], path, probe_id, _client_id())
    try:
        yield directory
    finally:
        directory.close()
