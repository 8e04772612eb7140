"""The table of steps, one a state: its use case, the function that is deployed for it, and how an event becomes a call.

The table is ``STEPS``. A plan chooses the function of a step with a ``mount``: one that sees the source or the
destination; where that end is a bucket, one that sees the other end. A transfer inside S3 uses the first mount's
functions, or those outside the network where it leaves the region. A move runs DeleteShard and RemoveDirectories on the
source's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

from fanout.flow import calls, events
from fanout.flow.calls import HandsBack, StackSettings, UseCase
from fanout.flow.events import field
from fanout.flow.evidence import Evidence, shown
from fanout.ledger.sealing import Seals
from fanout.model.document import Json
from fanout.request.plan import Plan
from fanout.work.context import Context, nothing


class Mount(StrEnum):
    """The mount that a function must see; none for functions that every stack has once."""

    NONE = ""
    SOURCE = "source"
    DESTINATION = "destination"


class Step(Struct, frozen=True):
    """``use_case`` is ``module:function`` below ``fanout``; ``call`` gives it what it needs of the event.

    - ``hands_back`` answers outside of the run's window; without it the step does not touch an end and heeds none.
    - ``answers`` makes of its answer what the state hands on.
    - ``run_id`` finds the run where the event has no reference to its ledger.
    - ``whole_run``: it works on the run's own ledger, wherever it is entered from. Other steps work on the ledger that
      the event names: after BeginVerification that is the one inside, in which few functions may write.
    - ``keeps``: it reads its ledger once; what decides between attempts it asks by ``Ledger.now``.
    - ``acts_as`` is the state whose function, metrics and limits are this one's too.
    - ``walks`` names the steps that its function carries out itself.
    - ``shares_out``: it divides its work among processes of its function.
    - ``evidence`` shows that its event is of an execution at work: see ``flow.evidence``.
    - ``seals``: what it does with the seal of a run that is to be certified. All steps of a function do the same.
    """

    use_case: str
    function: str
    mount: Mount = Mount.NONE
    call: Callable[[UseCase, Json, Context, StackSettings], Json] = calls.alone
    hands_back: HandsBack | None = None
    answers: Callable[[Json, Json], Json] = calls.as_it_is
    run_id: Callable[[Json], str] | None = None
    whole_run: bool = False
    keeps: bool = False
    acts_as: str = ""
    walks: tuple[str, ...] = ()
    shares_out: bool = False
    evidence: Evidence = Evidence.PLAN
    seals: Seals = Seals.NOTHING

    def load(self) -> UseCase:
        """The use case; imports its module at the first call."""
        found: UseCase = calls.load(self.use_case)
        return found

    def place_of(self, event: Json) -> tuple[str, str, str]:
        """The run, the prefix of its ledger, and the prefix below which it is sealed."""
        if self.run_id is not None:
            return self.run_id(event), "", ""
        prefix = "" if self.whole_run else events.run_prefix_of(event)
        return events.run_id_of(event), prefix, events.sealed_of(event)

    def inside(self, context: Context) -> Context:
        """The context that the step works in."""
        ledger = context.ledger.whole_run() if self.whole_run else context.ledger
        return replace(context, ledger=ledger.kept() if self.keeps else ledger)


def run_step(
    step: Step,
    event: Json,
    context: Context,
    stack: StackSettings,
    *,
    waits: bool = False,
    first: Callable[[], None] = nothing,
) -> Json:
    """The answer of a step's use case, before ``answers``.

    A step that works on an end does so only in the window of the run; ``until`` says how long to wait for that.
    With ``waits`` what a kept ledger has not sent yet may wait for the caller's next step, or its ``settle``.
    ``first`` is called before the use case, and after evidence that S3 does not hold.
    """

    def work(inside: Context) -> Json:
        return step.call(step.load(), event, inside, stack)

    context = step.inside(context)
    with context.ledger.settled(waits=waits):
        if step.evidence.is_in_ledger:
            first()
        with shown(step.evidence, event, context) as own:
            if not step.evidence.is_in_ledger:
                first()
            hands_back = step.hands_back
            if hands_back is None:
                return work(own)
            window = events.window_of(event)
            if not window:
                return {"until": "", **work(own)}
            from fanout.work.windows import held_to_window

            return held_to_window(window, own, work, lambda inside: hands_back(event, inside))


def _shard(use_case: str, function: str, mount: Mount, hands_back: HandsBack = calls.same_cursor) -> Step:
    return Step(use_case, function, mount, calls.of_shard, hands_back, calls.with_shard)


def _plan(use_case: UseCase, event: Json, context: Context, stack: StackSettings) -> Json:
    request, execution, offered = (field(event, name) for name in ("request", "execution", "functions"))

    def chosen(plan: Plan) -> Json:
        return functions_of(plan, stack.mounts, offered)

    return use_case(request, context, stack.mounts, stack.max_concurrency, stack.work_bucket, chosen, execution)


S, D, P = Mount.SOURCE, Mount.DESTINATION, Seals.PROVES
# What the short way does itself. Who deletes, proves, switches or signs is another function.
WALKED = ("CheckMount", "ListOneSegment", "GatherSegments", "PartitionShards", "CopyShard", "FinishTree")
STEPS = {
    "PlanTransfer": Step(
        "planning.plan_transfer:plan_transfer",
        "PlanTransfer",
        call=_plan,
        run_id=calls.asked_for,
        keeps=True,
        evidence=Evidence.REQUEST,
        seals=P,
    ),
    "CheckMount": Step("planning.check_mount:check_mount", "CheckMount", D, seals=P),
    "CheckOtherMount": Step("planning.check_mount:check_mount", "CheckMount", S, seals=P),
    "ShortWay": Step(
        "flow.short_way:take_short_way",
        "ShortWay",
        D,
        calls.short_way,
        walks=WALKED,
        shares_out=True,
        evidence=Evidence.EACH_STEP,
    ),
    "TakeOver": Step("flow.short_way:take_over", "GatherSegments", acts_as="GatherSegments", seals=P),
    "ListSegment": Step(
        "resuming.carry_over:list_or_carry_over",
        "ListSegment",
        S,
        calls.list_both_ends,
        calls.segment_by("listing.rounds:hand_segment_back"),
        shares_out=True,
        seals=P,
    ),
    "ListDestination": Step(
        "resuming.look_there:list_or_look",
        "ListSegment",
        D,
        calls.list_segment,
        calls.segment_by("listing.rounds:leave_segment"),
        seals=P,
    ),
    "GatherSegments": Step("listing.gather_segments:gather_segments", "GatherSegments", call=calls.gather, seals=P),
    "PartitionShards": Step("partition.partition_shards:partition_shards", "PartitionShards", keeps=True, seals=P),
    "RestoreObjects": Step(
        "restoring.restore_objects:restore_objects", "FinishTree", D, calls.go_on("restores"), answers=calls.with_shards
    ),
    "ComputeChecksums": Step(
        "checksums.compute_checksums:compute_checksums", "ComputeChecksums", answers=calls.with_shards
    ),
    "CopyShard": replace(_shard("copying.copy_shard:copy_shard", "CopyShard", D), shares_out=True),
    "PackShard": _shard("staging.pack_shard:pack_shard", "CopyShard", S),
    "UnpackShard": _shard("staging.unpack_shard:unpack_shard", "CopyShard", D),
    "DigestDestination": replace(_shard("staging.digest_destination:digest_destination", "VerifyShard", D), seals=P),
    "RecordShardFailure": Step(
        "copying.record_shard_failure:record_shard_failure", "RecordShardFailure", call=calls.fail, seals=P
    ),
    "PaceCopy": Step(
        "pacing.pace_copy:pace_copy",
        "PaceCopy",
        call=calls.pace,
        hands_back=calls.not_done,
        answers=calls.with_copying,
    ),
    "EndPacing": Step("pacing.pace_copy:end_pacing", "PaceCopy"),
    "FinishTree": Step(
        "finishing.finish_tree:finish_tree",
        "FinishTree",
        D,
        calls.finish_tree,
        calls.unfinished,
        whole_run=True,
        keeps=True,
    ),
    "FinishShard": Step(
        "finishing.finish_shard:finish_shard", "FinishShard", D, calls.finish_shard, calls.not_done, calls.with_shard
    ),
    "BeginDeletion": Step("deleting.begin_deletion:begin_deletion", "BeginDeletion", keeps=True),
    "LookAtSource": _shard(
        "deleting.source_looks:look_at_shard", "DeleteShard", S, calls.shard_by("deleting.source_looks:none_looked_at")
    ),
    "DeleteShard": _shard("deleting.delete_shard:delete_shard", "DeleteShard", D),
    "LookAtDirectories": Step(
        "deleting.source_looks:look_at_directories", "RemoveDirectories", S, hands_back=calls.not_done
    ),
    "RemoveDirectories": Step(
        "deleting.remove_directories:remove_directories", "RemoveDirectories", D, calls.unless_broken, calls.not_done
    ),
    "BeginVerification": Step(
        "verifying.begin_verification:begin_verification",
        "BeginVerification",
        call=calls.begin_verification,
        seals=P,
    ),
    "DigestShard": replace(_shard("verifying.digest_shard:digest_shard", "VerifyShard", S), seals=P),
    "VerifyShard": replace(_shard("verifying.verify_shard:verify_shard", "VerifyShard", D), seals=P),
    "PublishVersion": Step(
        "publishing.publish_version:publish_version",
        "FinishTree",
        D,
        calls.unless_broken,
        calls.not_done,
        whole_run=True,
    ),
    "SummariseTransfer": Step(
        "summary.summarise_transfer:summarise_transfer",
        "SummariseTransfer",
        call=calls.summarise,
        whole_run=True,
        keeps=True,
        evidence=Evidence.EXECUTION,
        seals=Seals.SIGNS,
    ),
    "StartBatch": Step(
        "planning.start_batch:start_batch",
        "StartBatch",
        call=calls.start_batch,
        answers=calls.refused_messages,
        run_id=events.batch_run_id,
        evidence=Evidence.OWN_REQUEST,
    ),
    "PlanProbe": Step(
        "probe.plan_probe:plan_probe",
        "PlanProbe",
        call=calls.plan_probe,
        run_id=calls.asked_for,
        evidence=Evidence.REQUEST,
    ),
    "OpenProbe": Step("probe.open_probe:open_probe", "OpenProbe", call=calls.in_probe, evidence=Evidence.PROBE),
    "RunExperiment": Step(
        "probe.run_experiment:run_experiment", "RunExperiment", call=calls.experiment, evidence=Evidence.PROBE
    ),
    "CloseProbe": Step("probe.open_probe:close_probe", "CloseProbe", call=calls.in_probe, evidence=Evidence.PROBE),
    "SummariseProbe": Step(
        "probe.summarise_probe:summarise_probe",
        "SummariseProbe",
        call=calls.summarise_probe,
        whole_run=True,
        evidence=Evidence.EXECUTION,
    ),
}
# A round of one segment is listed as any segment is.
STEPS["ListOneSegment"] = replace(STEPS["ListSegment"], acts_as="ListSegment")
# The index of the functions outside the network among those that the state machine offers.
OUTSIDE = 2
# Each state whose function a plan chooses, and that function.
MOUNTING = {state: step.function for state, step in STEPS.items() if step.mount and not step.acts_as}


def functions_of(plan: Plan, mounts: tuple[str, ...], offered: Sequence[Mapping[str, str]]) -> dict[str, str]:
    """The function of each state that mounts.

    ``offered`` holds the functions, by their names, of two mounts and those outside the network, which see none.
    Raises ``InvalidRequest`` for a mount that the stack has no functions for.
    """
    if plan.leaves_network:
        return {state: offered[OUTSIDE][name] for state, name in MOUNTING.items()}
    request = plan.request
    names = [end.mount for end in (request.source, request.destination) if not end.is_keyed]
    names = names or list(mounts[:1])
    source, destination = (calls.functions_on(name, mounts, offered) for name in (names[0], names[-1]))
    at_source = {"DeleteShard", "RemoveDirectories"} if request.course.deletes_proven else set()
    at_source |= {state for state in MOUNTING if STEPS[state].mount is Mount.SOURCE}
    return {state: (source if state in at_source else destination)[name] for state, name in MOUNTING.items()}
