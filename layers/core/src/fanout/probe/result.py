"""probe.json: what a probe found, from what its functions wrote down."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import UNSET
from msgspec.structs import asdict, replace

from fanout.efs.calibration import Calibration
from fanout.efs.capacity import published
from fanout.efs.probe_result import (
    Caps,
    Experiment,
    ExperimentResult,
    Measured,
    NotMeasured,
    ProbeBudget,
    ProbeResult,
    ProbeStatus,
    Problem,
)
from fanout.facts import aws
from fanout.facts.units import KIB, MIB
from fanout.model.errors import RunError
from fanout.model.file_system import ThroughputMode
from fanout.probe.experiments import ProbePlan, ProbeRound
from fanout.probe.samples import Samples, measured_of, rates_together

Members = Mapping[int, Samples]

LOST = "its function ended before it wrote down what it measured"
# docs.aws.amazon.com/efs/latest/ug/performance.html
CLIENT_BYTES_PER_SECOND = 500 * MIB


def probe_result(
    plan: ProbePlan,
    samples: Sequence[Samples],
    error: RunError | None,
    ended_at: float,
    notes: Sequence[str] = (),
) -> ProbeResult:
    """The result of a plan, from the samples of its functions, and the reason why it broke off, if it did."""
    by_round: dict[int, dict[int, Samples]] = {}
    for one in samples:
        by_round.setdefault(one.round, {})[one.member] = one
    experiments = [_experiment(experiment, plan, by_round, error is None) for experiment in Experiment]
    failed = any(experiment.problems for experiment in experiments)
    ended = ProbeStatus.FAILED_EXPERIMENTS if failed else ProbeStatus.SUCCEEDED
    return ProbeResult(
        probe_id=plan.probe_id,
        status=ProbeStatus.FAILED if error else ended,
        error=error,
        mount=plan.mount,
        file_system_id=plan.file_system_id or None,
        path=f"/{plan.request.path}",
        state=plan.state,
        began_at=round(plan.began_at, 3),
        ended_at=round(ended_at, 3),
        budget=ProbeBudget(
            bytes=plan.request.budget_bytes,
            bytes_used=sum(one.bytes for one in samples),
            seconds=plan.request.budget_seconds,
            seconds_used=round(ended_at - plan.began_at, 3),
            max_functions=plan.request.max_functions,
        ),
        caps=caps_of(plan),
        experiments=experiments,
        calibration=calibration_from(_measured(plan, by_round)),
        notes=list(notes),
    )


def caps_of(plan: ProbePlan) -> Caps:
    """The published limits of a function, of an NFS client, and of the file system as far as known."""
    assumed = published(ThroughputMode.ASSUMED, 0, 0, one_zone=False)
    return Caps(
        function_bytes_per_second=aws.LAMBDA_NETWORK_BYTES_PER_SECOND,
        client_bytes_per_second=CLIENT_BYTES_PER_SECOND,
        file_system_bytes_per_second=round(plan.state.permitted_bytes_per_second if plan.state else assumed),
        file_system_is_assumed=plan.state is None,
        source=f"https://docs.aws.amazon.com/{aws.EFS_PAGE}",
    )


def _measured(plan: ProbePlan, by_round: Mapping[int, Members]) -> dict[Experiment, list[Measured]]:
    found: dict[Experiment, list[Measured]] = {experiment: [] for experiment in Experiment}
    for one in plan.rounds:
        for index, point in enumerate(one.points):
            measured = measured_of(one.functions, point, _values(one, index, by_round.get(one.number, {})))
            if measured is not None:
                found[one.experiment].append(measured)
    return found


def _values(one: ProbeRound, index: int, members: Members) -> list[float]:
    """The samples of a point; of a round of several functions what they did together, if all of them did."""
    if not one.experiment.is_shared:
        return [value for samples in members.values() for value in samples.values[index]]
    if set(members) != set(range(one.functions)):
        return []
    return rates_together([samples.records for samples in members.values()])


def _experiment(
    experiment: Experiment, plan: ProbePlan, by_round: Mapping[int, Members], is_whole: bool
) -> ExperimentResult:
    points, missing, problems, colds = [], [], [], []
    for one in (one for one in plan.rounds if one.experiment is experiment):
        members = by_round.get(one.number, {})
        colds += [samples.cold for samples in members.values() if samples.cold is not None]
        problems += [
            Problem(one.functions, member, samples.problem.reason, samples.problem.message)
            for member, samples in members.items()
            if samples.problem
        ]
        lost = set(range(one.functions)) - set(members)
        if is_whole:
            problems += [Problem(one.functions, member, "lost", LOST) for member in sorted(lost)]
        for index, point in enumerate(one.points):
            measured = measured_of(one.functions, point, _values(one, index, members))
            if measured is not None:
                points.append(_rounded(measured))
            else:
                missing.append(NotMeasured(one.functions, **asdict(point), why=_why(index, members, bool(lost))))
    of_reads = experiment is Experiment.READ_BY_FUNCTIONS
    return ExperimentResult(
        name=experiment,
        unit=experiment.unit,
        points=points,
        not_measured=missing,
        read_by_other_functions=(all(colds) if colds else None) if of_reads else UNSET,
        problems=problems,
    )


def _why(index: int, members: Members, lost: bool) -> str:
    if lost or any(samples.problem for samples in members.values()):
        return "a function failed"
    reasons = [samples.why_not[index] for samples in members.values() if samples.why_not[index]]
    return reasons[0] if reasons else "the functions did not work at the same time"


def _rounded(measured: Measured) -> Measured:
    """Six digits are more than a measurement has."""
    found = asdict(measured).items()
    return replace(measured, **{name: float(f"{value:.6g}") for name, value in found if isinstance(value, float)})


def calibration_from(measured: Mapping[Experiment, Sequence[Measured]]) -> Calibration | None:
    """The calibration, ``None`` unless each part of it was measured."""
    written = {one.functions: one.median for one in measured[Experiment.WRITE_BY_FUNCTIONS]}
    threads = [one.median for one in measured[Experiment.WRITE_BY_THREADS]]
    alone = [*threads, written[1]] if 1 in written else threads
    ranges = [one.median for one in measured[Experiment.RANGED_WRITES]]
    read = [one.median for one in measured[Experiment.READ_BY_FUNCTIONS] if one.functions == 1]
    created = [one.median for one in measured[Experiment.CREATE_LATENCY]]
    small = [(one.samples, one.median) for one in measured[Experiment.WRITE_LATENCY] if one.file_bytes == 4 * KIB]
    in_one = [one.median for one in measured[Experiment.CREATIONS] if one.directories == 1]
    if not all((written, alone, ranges, read, created, small, in_one)):
        return None
    return Calibration(
        write_bytes_per_second_client=round(max(alone), 6),
        write_bytes_per_second_file=round(max(ranges), 6),
        read_bytes_per_second_client=round(read[0], 6),
        create_seconds=round(created[0], 6),
        small_write_seconds=round(max(small)[1], 6),
        creations_per_second_directory=round(in_one[0], 6),
        functions={number: round(rate) for number, rate in sorted(written.items())},
    )
