"""RunExperiment: what one function does in one round of a probe."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from fanout.efs.probe_result import Experiment, Point
from fanout.ledger import probe_keys as keys
from fanout.ledger.documents import Moment
from fanout.model.document import Json
from fanout.model.errors import InvalidRequest, ItemError
from fanout.ports.probe import ProbeDirectories, ProbeDirectory
from fanout.probe.experiments import (
    PROBE_PLAN,
    REPEATS,
    TRIAL_BYTES,
    TRIAL_SHARE,
    ProbePlan,
    ProbeRound,
    cost_of,
    files_to_read,
    fitted,
    point_of,
    shared_point,
)
from fanout.probe.probe_files import creating, directories_of, ranging, reading, writing
from fanout.probe.probe_work import Allowance, Effort, at_once
from fanout.probe.samples import NoSamples, Samples, frequency_of, rate_of, samples_key
from fanout.work.context import Context

# Chosen: how often a function looks whether the others are there.
LOOK_SECONDS = 0.1
# Chosen: from when the last function of a round came until all begin; each has seen it by then.
BEGIN_SECONDS = 0.4
NO_TIME = "the time of the budget did not suffice"
NO_BYTES = "the bytes of the budget did not suffice"


def run_experiment(context: Context, number: int, member: int, directories: ProbeDirectories) -> Json:
    """Claim the task's directory, measure within the plan's allotment, and write the results.

    A failure on the file system is a row, and the other experiments continue. A second attempt of the same task finds
    its directory made and does nothing, because the first may have used the whole allotment.
    """
    plan = context.ledger.read(PROBE_PLAN)
    if not 0 <= number < len(plan.rounds) or not 0 <= member < plan.rounds[number].functions:
        raise InvalidRequest("round", f"{number}/{member} is not of the probe", "start it from the state machine")
    made = context.ledger.read(keys.OWN_DIRECTORY)
    one = plan.rounds[number]
    now = context.clock.now()
    ends_at = min(now + one.seconds, plan.ends_at, context.deadline().at)
    effort = Effort(context.clock, Allowance(one.bytes), ends_at)
    with directories(plan.probe_id, plan.request.path) as directory:
        samples = Samples(number, member, directory.client, 0, [[] for _ in one.points], ["" for _ in one.points])
        try:
            directory.enter(made)
            if not directory.claim(one.name(member)):
                return {"done": False, "bytes": 0}
            if one.experiment.is_shared:
                _together(plan, one, member, directory, effort, samples, context)
            else:
                _alone(one, directory, effort, samples)
        except ItemError as error:
            samples.problem = NoSamples(error.reason.value, error.message)
    samples.bytes = effort.allowance.used
    context.ledger.write(samples_key(one.name(member)), samples)
    return {"done": True, "bytes": samples.bytes}


def _alone(one: ProbeRound, directory: ProbeDirectory, effort: Effort, samples: Samples) -> None:
    """Each point in turn, then all of them again, so that what changes over time changes all of them."""
    if one.experiment not in (Experiment.CREATE_LATENCY, Experiment.CREATIONS):
        _try_out(one, 0, directory, effort)
    left = REPEATS * len(one.points)
    for repeat in range(REPEATS):
        for index, point in enumerate(one.points):
            chosen = fitted(one.experiment, point, effort.rate, effort.left_seconds, effort.left_seconds / left)
            left -= 1
            if effort.is_over or chosen is None:
                samples.why_not[index] = NO_TIME
            elif cost_of(chosen) > effort.allowance.left:
                samples.why_not[index] = NO_BYTES
            else:
                place = f"{one.name(0)}/{repeat}-{index}"
                values = _sample(one.experiment, chosen, place, directory, effort)
                samples.values[index] += values
                samples.why_not[index] = "" if values else NO_TIME


def _try_out(one: ProbeRound, member: int, directory: ProbeDirectory, effort: Effort) -> None:
    """Writes a small file, not counted as a sample, to find how much fits into the time of a sample."""
    size = min(TRIAL_BYTES, effort.allowance.left // TRIAL_SHARE)
    if size:
        place = f"{one.name(member)}/trial"
        _sample(Experiment.WRITE_BY_SYNC, point_of(file_bytes=size, io_bytes=size), place, directory, effort)


def _sample(experiment: Experiment, point: Point, place: str, directory: ProbeDirectory, effort: Effort) -> list[float]:
    """Measures a sample: a rate, or the seconds of each file."""
    for path in directories_of(place, point):
        directory.make(path)
    if experiment in (Experiment.CREATE_LATENCY, Experiment.CREATIONS):
        records = at_once(point.threads, creating(directory, place, point, effort, experiment), effort)
    else:
        records = at_once(point.threads, writing(directory, place, point, effort), effort)
    if experiment.unit == "seconds":
        return [record.ended - record.began for record in records]
    rate = rate_of(records) if experiment.unit == "bytes_per_second" else frequency_of(records)
    if experiment.unit == "bytes_per_second" and rate is not None:
        effort.rate = rate
    return [] if rate is None else [rate]


def _together(
    plan: ProbePlan,
    one: ProbeRound,
    member: int,
    directory: ProbeDirectory,
    effort: Effort,
    samples: Samples,
    context: Context,
) -> None:
    """Wait for the others, then write or read with them until the bytes are used or the time is up."""
    point = one.points[0]
    first = member * point.threads * point.files * point.file_bytes
    place = one.name(member)
    paths: Sequence[str] = ()
    if one.experiment is Experiment.READ_BY_FUNCTIONS:
        writers = [other for other in plan.rounds if other.experiment is Experiment.WRITE_BY_FUNCTIONS]
        places = [other.name(number) for other in reversed(writers) for number in range(other.functions)]
        written = [path for place in places for path in directory.files(place) if "/trial/" not in path]
        paths, samples.cold = files_to_read(written, directory.client, member, one.functions)
        if not paths:
            samples.why_not[0] = "nothing was written before that could be read"
            return
    else:
        _try_out(one, member, directory, effort)
        point = shared_point(point, effort.rate * effort.left_seconds / 4)
        for path in directories_of(place, point):
            directory.make(path)
    missing = _wait_for_all(one, member, effort, context)
    if missing:
        samples.why_not[0] = f"{missing} of {one.functions} functions did not come in time"
        return
    match one.experiment:
        case Experiment.READ_BY_FUNCTIONS:
            work = reading(directory, deque(paths), point, effort)
        case Experiment.WRITE_BY_FUNCTIONS:
            work = writing(directory, place, point, effort)
        case _:
            work = ranging(directory, f"{one.number:02d}-ranges", first, point, effort)
    samples.records = at_once(point.threads, work, effort)
    if not samples.records:
        samples.why_not[0] = NO_TIME if effort.is_over else NO_BYTES


def _wait_for_all(one: ProbeRound, member: int, effort: Effort, context: Context) -> int:
    """Wait until all functions of the round are there, half of its time at most, then begin together.

    Returns how many are missing. All begin at the same time, which each computes from the arrival of the last one.
    """
    clock, ledger = effort.clock, context.ledger
    until = clock.now() + effort.left_seconds / 2
    ledger.write(keys.ready_key(one.name(member)), Moment(clock.now()))
    while len(here := list(ledger.keys(keys.ready_prefix(one.number)))) < one.functions:
        if clock.now() >= until:
            return one.functions - len(here)
        clock.sleep(LOOK_SECONDS)
    begin = max(ledger.read(keys.ready_key.at(key)).at for key in here) + BEGIN_SECONDS
    clock.sleep(max(0.0, min(begin, until + BEGIN_SECONDS) - clock.now()))
    return 0
