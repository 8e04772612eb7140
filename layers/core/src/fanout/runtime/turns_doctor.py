"""The checks of what PlanTransfer relies on outside of the mounts, for ``fanout doctor``.

They are what keeps runs on one tree apart, and how many functions the account lets run. The function that makes them
has the same rights, each for an object and an execution of its own.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import to_builtins

from fanout.ledger.run_places import DOCTOR, run_prefix
from fanout.model.document import Json
from fanout.model.errors import FanoutError, PreconditionFailed
from fanout.ports.aws import Executions
from fanout.ports.finding import DEPLOY_AGAIN, Finding, fail, ok, warn
from fanout.ports.pacing import Account
from fanout.ports.store import VersionedStore
from fanout.request.parts.limits import most_functions
from fanout.runtime.bootstrap import make_account, make_executions
from fanout.runtime.clients import make_work_store

# No list, which would be in locks/.
LOCK_KEY = f"{run_prefix(DOCTOR)}turns"
_LISTS, _RUNS = "runs at the same time: lists", "runs at the same time: executions"
_QUOTA = "Lambda concurrency, as a plan sees it"
_DEPLOY = f"{DEPLOY_AGAIN}; and look whether a bucket policy or PermissionsBoundaryArn denies it"


def examine(event: Json) -> Json:
    """The findings from here; ``execution`` is the ARN of a run of the state machine, which need not be there."""
    return examine_turns(event["execution"], make_work_store(), make_executions(), make_account())


def examine_turns(execution: str, store: VersionedStore, executions: Executions, account: Account) -> Json:
    """The findings; ``execution`` is asked about."""
    found = [*_lists(store), _asking(executions, execution), _quota(account)]
    return {"findings": [to_builtins(finding) for finding in found]}


def _lists(store: VersionedStore) -> Iterator[Finding]:
    """Whether the lists of who writes can be read and written, and only by who has seen the newest one."""
    remedy = f"ExamineTurns needs s3:GetObject and s3:PutObject on {LOCK_KEY} of the work bucket; {_DEPLOY}"
    try:
        for _ in range(2):  # the first one finds it missing, once in a stack's life
            store.write_version(LOCK_KEY, b"{}", store.read_version(LOCK_KEY).version)
        store.write_version(LOCK_KEY, b"{}", "")
    except PreconditionFailed:
        # The last one should be refused; an earlier one is if another doctor comes in between, which shows the same.
        yield ok(_LISTS, "an object of the work bucket was read, and written only by who had read it")
        return
    except FanoutError as error:
        yield fail(_LISTS, str(error), remedy)
        return
    what = "an object of the work bucket was overwritten by who had not read it: two runs could begin at the same time"
    yield fail(_LISTS, what, "use an S3 that honours If-Match and If-None-Match")


def _asking(executions: Executions, execution: str) -> Finding:
    """Whether another run can be asked about; without, one that was stopped would block its destination for ever."""
    try:
        executions.running(execution)
    except FanoutError as error:
        return fail(
            _RUNS,
            str(error),
            f"PlanTransfer needs states:DescribeExecution on the stack's own runs, as ExamineTurns does; {_DEPLOY}",
        )
    return ok(_RUNS, "whether another run goes on can be asked")


def _quota(account: Account) -> Finding:
    """Whether a plan can fit a run into the account; without, more functions are invoked than run, and wait."""
    try:
        unreserved = account.unreserved_concurrency()
    except FanoutError as error:
        return warn(
            _QUOTA, str(error), f"PlanTransfer needs lambda:GetAccountSettings, as ExamineTurns does; {_DEPLOY}"
        )
    most = most_functions(unreserved)
    return ok(_QUOTA, f"{unreserved:,} functions without a reservation may run, a run starts {most:,} at most")
