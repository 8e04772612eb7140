"""How a probe's budget is split, and what its samples come to."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from fanout.efs.capacity import FileSystemState, most_credits
from fanout.efs.probe_result import Experiment
from fanout.facts.units import GIB, MIB
from fanout.ledger.documents import document_of, document_row
from fanout.model.errors import InvalidRequest
from fanout.model.file_system import ThroughputMode
from fanout.probe.experiments import (
    ENDS_PART,
    IO_SIZES,
    SHARES,
    THREADS,
    ProbePlan,
    check_credits,
    check_space,
    cost_of,
    files_to_read,
    fitted,
    point_of,
    rounds_of,
    shared_point,
)
from fanout.probe.request import ProbeRequest
from fanout.probe.samples import Timed, frequency_of, measured_of, rate_of, rates_together

REQUEST = ProbeRequest(
    path="", budget_bytes=4 * GIB, budget_seconds=600.0, max_functions=8, credit_reserve_percent=20.0
)
REQUESTS = st.builds(
    ProbeRequest,
    path=st.just(""),
    budget_bytes=st.integers(64 * MIB, 1024 * GIB),
    budget_seconds=st.floats(20, 3600),
    max_functions=st.integers(1, 32),
    credit_reserve_percent=st.just(20.0),
)


def test_the_shares_are_a_whole() -> None:
    assert set(SHARES) == set(Experiment)
    assert sum(share.bytes for share in SHARES.values()) == sum(share.seconds for share in SHARES.values()) == 100


@given(REQUESTS)
def test_what_the_functions_may_use_is_never_more_than_the_budget(request: ProbeRequest) -> None:
    rounds = rounds_of(request)
    assert sum(one.bytes * one.functions for one in rounds) <= request.budget_bytes
    assert sum(one.seconds for one in rounds) <= request.budget_seconds * ENDS_PART
    assert max(one.functions for one in rounds) == request.max_functions
    assert {one.experiment for one in rounds} == set(Experiment)
    assert [one.number for one in rounds] == list(range(len(rounds)))


@given(REQUESTS)
def test_what_is_read_was_written_before(request: ProbeRequest) -> None:
    rounds = rounds_of(request)
    written = [one for one in rounds if one.experiment is Experiment.WRITE_BY_FUNCTIONS][-1]
    read = [one for one in rounds if one.experiment is Experiment.READ_BY_FUNCTIONS]
    assert all(one.number > written.number for one in read)
    assert all(one.functions * one.bytes <= written.functions * written.bytes for one in read)


@given(REQUESTS)
def test_a_plan_survives_its_document(request: ProbeRequest) -> None:
    plan = ProbePlan("probe-1", "data", "", request, 0.0, 60.0, None, rounds_of(request))
    assert document_of(json.loads(json.dumps(document_row(plan))), ProbePlan) == plan


def test_the_sweeps_are_those_that_the_probe_promises() -> None:
    points = {one.experiment: one.points for one in rounds_of(REQUEST)}
    assert [point.io_bytes for point in points[Experiment.WRITE_BY_IO_SIZE]] == list(IO_SIZES)
    assert (IO_SIZES[0], IO_SIZES[-1]) == (65_536, 16 * MIB)
    assert [point.threads for point in points[Experiment.WRITE_BY_THREADS]] == list(THREADS) == [1, 2, 4, 8, 16, 32, 64]
    assert [point.sync.value for point in points[Experiment.WRITE_BY_SYNC]] == ["end", "block"]
    assert {point.file_bytes for point in points[Experiment.WRITE_LATENCY]} == {4096, MIB, 100 * MIB}
    assert [point.io_bytes for point in points[Experiment.STREAM]] == [1024]
    assert [point.directories for point in points[Experiment.CREATIONS]] == [1, 32]
    for shared in (experiment for experiment in Experiment if experiment.is_shared):
        assert [one.functions for one in rounds_of(REQUEST) if one.experiment is shared] == [1, 2, 4, 8]


@given(
    st.sampled_from([Experiment.WRITE_BY_IO_SIZE, Experiment.WRITE_BY_THREADS, Experiment.STREAM]),
    st.floats(1, 1e10),
    st.floats(0, 600),
    st.integers(1, 21),
)
def test_a_sample_is_no_larger_than_planned_and_than_its_time_suffices_for(
    experiment: Experiment, rate: float, left: float, samples: int
) -> None:
    for one in rounds_of(REQUEST):
        for point in one.points if one.experiment is experiment else ():
            found = fitted(experiment, point, rate, left, left / samples)
            if found is not None:
                assert cost_of(found) <= cost_of(point)
                assert cost_of(found) <= rate * left or found == point
                assert (found.threads, found.files) == (point.threads, point.files)


def test_files_whose_size_is_measured_keep_it_or_are_left_out() -> None:
    point = point_of(file_bytes=100 * MIB, io_bytes=MIB)
    assert fitted(Experiment.WRITE_LATENCY, point, 50.0 * MIB, 2.0, 0.1) == point
    assert fitted(Experiment.WRITE_LATENCY, point, 49.0 * MIB, 2.0, 2.0) is None


@given(REQUESTS, st.floats(0, 1e12))
def test_functions_side_by_side_never_write_into_each_other_s_ranges(request: ProbeRequest, able: float) -> None:
    for one in rounds_of(request):
        if one.experiment is Experiment.RANGED_WRITES:
            found = shared_point(one.points[0], able)
            assert found.files * found.file_bytes == one.points[0].files * one.points[0].file_bytes
            assert found.io_bytes == found.file_bytes <= one.points[0].file_bytes


def test_a_function_reads_what_others_wrote_and_only_without_that_its_own() -> None:
    paths = [f"07-0{member}/0/client{member}-00-0000{number}" for member in range(2) for number in range(4)]
    chosen, cold = files_to_read(paths, "client0", 0, 2)
    assert (chosen, cold) == ([paths[4], paths[6]], True)
    assert files_to_read(paths[:4], "client0", 1, 2) == ([paths[1], paths[3]], False)
    assert files_to_read([], "client0", 0, 1) == ([], False)


def test_median_and_quartiles() -> None:
    assert measured_of(1, point_of(), []) is None
    one = measured_of(1, point_of(), [3.0])
    assert one is not None and (one.median, one.lower_quartile, one.upper_quartile, one.samples) == (3.0, 3.0, 3.0, 1)
    found = measured_of(1, point_of(), [1.0, 2.0, 3.0, 4.0, 100.0])
    assert found is not None
    assert (found.least, found.lower_quartile, found.median, found.upper_quartile, found.most) == (1, 2, 3, 4, 100)


def test_a_rate_is_over_the_whole_time_of_all_threads() -> None:
    records = [Timed(10.0, 12.0, 100), Timed(11.0, 14.0, 300)]
    assert (rate_of(records), frequency_of(records)) == (100.0, 0.5)
    assert rate_of([]) is None and rate_of([Timed(1.0, 1.0, 5)]) is None and frequency_of([]) is None


def test_functions_count_only_while_all_of_them_work() -> None:
    early = [Timed(0.0, 10.0, 1000)]
    late = [Timed(5.0, 15.0, 2000)]
    assert rates_together([early, late], slices=5) == pytest.approx([300.0] * 5)
    assert rates_together([early, [Timed(10.0, 20.0, 1)]]) == []
    assert rates_together([early, []]) == [] and rates_together([]) == []


@given(st.lists(st.tuples(st.floats(0, 9), st.floats(0.1, 9), st.integers(1, 10**9)), min_size=1, max_size=9))
def test_no_byte_counts_twice(rows: list[tuple[float, float, int]]) -> None:
    records = [Timed(began, began + seconds, size) for began, seconds, size in rows]
    span = max(record.ended for record in records) - min(record.began for record in records)
    rates = rates_together([records])
    assert sum(rates) * span / len(rates) == pytest.approx(sum(record.bytes for record in records))


@pytest.mark.parametrize(
    ("credits", "percent", "budget", "refused"),
    [
        (None, 20.0, 1024 * GIB, False),  # no credits play a part
        (most_credits(0), 20.0, 4 * GIB, False),
        (0.2 * most_credits(0) + 4 * GIB, 20.0, 4 * GIB, False),
        (0.2 * most_credits(0) + 4 * GIB - MIB, 20.0, 4 * GIB, True),
        (4.0 * GIB, 0.0, 4 * GIB, False),
        (0.0, 0.0, 64 * MIB, True),
    ],
)
def test_the_reserve_of_credits_stays(credits: float | None, percent: float, budget: int, refused: bool) -> None:
    state = FileSystemState(ThroughputMode.BURSTING, 100.0 * MIB, credits_bytes=credits)
    request = replace(REQUEST, budget_bytes=budget, credit_reserve_percent=percent)
    if not refused:
        check_credits(state, request)
        return
    with pytest.raises(InvalidRequest) as caught:
        check_credits(state, request)
    assert caught.value.field == "budget_bytes"


def test_the_budget_must_fit_into_what_is_free() -> None:
    check_space(4 * GIB, REQUEST)
    with pytest.raises(InvalidRequest, match=r"budget_bytes: 4,096 MiB are more than what is free, 4,095 MiB"):
        check_space(4 * GIB - 1, REQUEST)
