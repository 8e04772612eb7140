"""probe.json: what a probe found, from what its functions wrote down."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec.structs import asdict

from fanout.efs.calibration import SCHEMA_VERSION, Calibration, calibration_row
from fanout.efs.model import published
from fanout.efs.state_document import state_row
from fanout.facts import limits, quotas
from fanout.facts.limits import KIB, MIB
from fanout.model.file_system import ThroughputMode
from fanout.probe.experiments import Experiment, Point, Round
from fanout.probe.plan import ProbePlan
from fanout.probe.samples import Record, Spread, rates_together, spread_of

Json = dict[str, Any]
Measured = list[tuple[Round, Point, Spread]]

SUCCEEDED = "SUCCEEDED"
FAILED_EXPERIMENTS = "FAILED_EXPERIMENTS"
FAILED = "FAILED"
LOST = {"reason": "lost", "message": "its function ended before it wrote down what it measured"}
# docs.aws.amazon.com/efs/latest/ug/performance.html
CLIENT_BYTES_PER_SECOND = 500 * MIB


def probe_document(plan: ProbePlan, rows: Sequence[Json], error: Json | None, ended_at: float) -> Json:
    """probe.json of a plan, the rows of its functions, and what broke it off, if anything did."""
    by_round: dict[int, dict[int, Json]] = {}
    for row in rows:
        by_round.setdefault(row["round"], {})[row["member"]] = row
    experiments = [_experiment_row(experiment, plan, by_round, error is None) for experiment in Experiment]
    measured = list(_measured(plan, by_round))
    found = calibration_from(measured, plan.probe_id, ended_at)
    failed = any(experiment["problems"] for experiment in experiments)
    return {
        "schema_version": SCHEMA_VERSION,
        "probe_id": plan.probe_id,
        "status": FAILED if error else FAILED_EXPERIMENTS if failed else SUCCEEDED,
        "error": error,
        "mount": plan.mount,
        "file_system_id": plan.file_system_id or None,
        "path": f"/{plan.request.path}",
        "state": plan.state and state_row(plan.state),
        "began_at": round(plan.began_at, 3),
        "ended_at": round(ended_at, 3),
        "budget": {
            "bytes": plan.request.budget_bytes,
            "bytes_used": sum(row["bytes"] for row in rows),
            "seconds": plan.request.budget_seconds,
            "seconds_used": round(ended_at - plan.began_at, 3),
            "max_functions": plan.request.max_functions,
        },
        "caps": caps_of(plan),
        "experiments": experiments,
        "calibration": found and calibration_row(found),
    }


def caps_of(plan: ProbePlan) -> Json:
    """What AWS publishes, bytes a second: of a function, of an NFS client, and of the file system as far as known."""
    assumed = published(ThroughputMode.ASSUMED, 0, 0, one_zone=False)
    return {
        "function_bytes_per_second": limits.LAMBDA_NETWORK_BYTES_PER_SECOND,
        "client_bytes_per_second": CLIENT_BYTES_PER_SECOND,
        "file_system_bytes_per_second": round(plan.state.permitted_bytes_per_second if plan.state else assumed),
        "file_system_is_assumed": plan.state is None,
        "source": f"https://docs.aws.amazon.com/{quotas.EFS_PAGE}",
    }


def _measured(plan: ProbePlan, rows: Mapping[int, Mapping[int, Json]]) -> Iterator[tuple[Round, Point, Spread]]:
    for one in plan.rounds:
        for index, point in enumerate(one.points):
            spread = spread_of(_values(one, index, rows.get(one.number, {})))
            if spread is not None:
                yield one, point, spread


def _values(one: Round, index: int, members: Mapping[int, Json]) -> list[float]:
    """The samples of a point; of a round of several functions what they did together, if all of them did."""
    if not one.experiment.is_shared:
        return [float(value) for row in members.values() for value in row["values"][index]]
    if set(members) != set(range(one.functions)):
        return []
    return rates_together([[Record(*record) for record in row["records"]] for row in members.values()])


def _experiment_row(
    experiment: Experiment, plan: ProbePlan, rows: Mapping[int, Mapping[int, Json]], is_whole: bool
) -> Json:
    points, missing, problems, colds = [], [], [], []
    for one in plan.rounds:
        if one.experiment is not experiment:
            continue
        members = rows.get(one.number, {})
        colds += [row["cold"] for row in members.values() if row["cold"] is not None]
        problems += [
            {"functions": one.functions, "member": member, **row["problem"]}
            for member, row in members.items()
            if row["problem"]
        ]
        lost = set(range(one.functions)) - set(members)
        if is_whole:
            problems += [{"functions": one.functions, "member": member, **LOST} for member in sorted(lost)]
        for index, point in enumerate(one.points):
            spread = spread_of(_values(one, index, members))
            about = point_row(one, point)
            if spread is not None:
                points.append(about | {name: _rounded(value) for name, value in asdict(spread).items()})
            else:
                missing.append(about | {"why": _why(index, members, bool(lost))})
    row: Json = {"name": experiment.value, "unit": experiment.unit, "points": points, "not_measured": missing}
    if experiment is Experiment.READ_BY_FUNCTIONS:
        row["read_by_other_functions"] = all(colds) if colds else None
    return row | {"problems": problems}


def _why(index: int, members: Mapping[int, Json], lost: bool) -> str:
    if lost or any(row["problem"] for row in members.values()):
        return "a function failed"
    reasons = [row["why_not"][index] for row in members.values() if row["why_not"][index]]
    return str(reasons[0]) if reasons else "the functions did not work at the same time"


def point_row(one: Round, point: Point) -> Json:
    """What tells a point from the others of its experiment."""
    return {
        "functions": one.functions,
        "threads": point.threads,
        "directories": point.directories,
        "files": point.files,
        "file_bytes": point.file_bytes,
        "io_bytes": point.io_bytes,
        "sync": point.sync.value,
    }


def _rounded(value: float) -> float:
    """Six digits are more than a measurement has."""
    return float(f"{value:.6g}") if isinstance(value, float) else value


def calibration_from(measured: Measured, probe: str, at: float) -> Calibration | None:
    """The calibration, ``None`` unless each part of it was measured."""

    def medians(experiment: Experiment) -> list[tuple[Round, Point, Spread]]:
        return [row for row in measured if row[0].experiment is experiment]

    written = {one.functions: spread.median for one, _, spread in medians(Experiment.WRITE_BY_FUNCTIONS)}
    threads = [spread.median for _, _, spread in medians(Experiment.WRITE_BY_THREADS)]
    alone = [*threads, written[1]] if 1 in written else threads
    ranges = [spread.median for _, _, spread in medians(Experiment.RANGED_WRITES)]
    read = [spread.median for one, _, spread in medians(Experiment.READ_BY_FUNCTIONS) if one.functions == 1]
    created = [spread.median for _, _, spread in medians(Experiment.CREATE_LATENCY)]
    small = [
        (spread.samples, spread.median) for _, p, spread in medians(Experiment.WRITE_LATENCY) if p.file_bytes == 4 * KIB
    ]
    in_one = [spread.median for _, point, spread in medians(Experiment.CREATIONS) if point.directories == 1]
    if not all((written, alone, ranges, read, created, small, in_one)):
        return None
    return Calibration(
        write_bytes_per_second_client=max(alone),
        write_bytes_per_second_file=max(ranges),
        read_bytes_per_second_client=read[0],
        create_seconds=created[0],
        small_write_seconds=max(small)[1],
        creations_per_second_directory=in_one[0],
        functions=written,
        probe=probe,
        at=at,
    )
