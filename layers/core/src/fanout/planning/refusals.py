"""The checks of PlanTransfer before anything is written: each raises, or returns the notes that it leaves."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fanout.ledger import run_places
from fanout.ledger.kind import ObjectKind
from fanout.model.errors import InvalidRequest
from fanout.planning.behind_mounts import refuse_behind
from fanout.planning.far_buckets import check_checksums
from fanout.planning.object_owners import notes_of_owners
from fanout.planning.places import refuse_same_bucket, refuse_work_bucket
from fanout.planning.plan_facts import PlanFacts
from fanout.request.parts.finish_by import finish_at
from fanout.resuming.rules import check_resumed

PlanCheck = Callable[[PlanFacts], Sequence[str] | None]


def notes_of(refusals: Sequence[PlanCheck], facts: PlanFacts) -> list[str]:
    """The notes of all of them, in their order; the first one that raises is the error of the run."""
    return [note for each in refusals for note in each(facts) or ()]


def _work_bucket(facts: PlanFacts) -> None:
    refuse_work_bucket(facts.parsed, facts.event.bucket)


def _signer(facts: PlanFacts) -> None:
    if facts.parsed.certificate and facts.context.signer is None:
        raise InvalidRequest(
            "certificate", "the stack has no signing key", "leave it out, or deploy the stack with Certificates: true"
        )


def _resumed(facts: PlanFacts) -> None:
    if facts.earlier:
        check_resumed(facts.request, facts.earlier.plan.request, facts.earlier.ledger.run_id)


def _mounts(facts: PlanFacts) -> Sequence[str]:
    _ = facts.request  # asked with them
    return facts.of_mounts


def _calibrations(facts: PlanFacts) -> Sequence[str]:
    _, uncalibrated = facts.calibrations
    return uncalibrated


def _checksums(facts: PlanFacts) -> None:
    check_checksums(facts.plan, facts.context.stack.facts)


def _finish_by(facts: PlanFacts) -> None:
    """Refuses a time that had passed when the run asked for its turn."""
    plan = facts.plan
    if plan.request.limits.finish_by:
        finish_at(plan.request.limits.finish_by, plan.asked)


def _sessions(facts: PlanFacts) -> None:
    facts.context.ends.check_sessions(facts.plan)


def _functions(facts: PlanFacts) -> None:
    """Refuses a run for which the stack has no function."""
    _ = facts.functions


def _behind(facts: PlanFacts) -> None:
    refuse_behind(facts.plan, facts.event.bucket)


def _ends(facts: PlanFacts) -> None:
    _ = facts.ends


def _same_bucket(facts: PlanFacts) -> Sequence[str]:
    return refuse_same_bucket(facts.plan, facts.context)


def _owners(facts: PlanFacts) -> Sequence[str]:
    return notes_of_owners(facts.plan, facts.context)


def _another_run(facts: PlanFacts) -> None:
    """Refuses an id that no run can have, or whose ledger is another run's.

    Files of an earlier attempt of this task are overwritten, but for its plan, which stays.
    """
    ledger = facts.context.ledger
    run_places.check_run_name(ledger.run_id)
    mine = tuple(key for kind in ObjectKind.declared for key in kind.may_be_early)
    other = next((key for key in ledger.keys("") if not key.startswith(mine)), None)
    if other is not None:
        problem = f"{ledger.prefix} holds the ledger of an earlier run ({other})"
        raise InvalidRequest("run_id", problem, "start it under another name, or remove that ledger")


def _manifest(facts: PlanFacts) -> None:
    """Refuses a list that cannot be read before the run waits for its turn."""
    _ = facts.pieces


# Of the request alone, before anything is asked about it.
AT_ONCE: tuple[PlanCheck, ...] = (_work_bucket, _signer)
# The order is a contract: the first one that refuses is the error of the run, and the notes come in it.
REFUSALS: tuple[PlanCheck, ...] = (
    _resumed,
    _mounts,
    _calibrations,
    _checksums,
    _finish_by,
    _sessions,
    _functions,
    _behind,
    _ends,
    _same_bucket,
    _owners,
    _another_run,
    _manifest,
)
