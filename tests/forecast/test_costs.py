"""Dollars of a run: the figures that AWS's price lists give, by hand, and what holds for every run."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from fanout.efs.capacity import FileSystemState, Load
from fanout.efs.load import RequestCount, Work, loads_of
from fanout.facts.prices import PRICES, prices_with
from fanout.facts.units import GIB, KIB
from fanout.forecast.costs import Dollars, dollars_of, metering_dollars
from fanout.forecast.way import walk_listing, way_of
from fanout.model.errors import InvalidRequest
from fanout.model.file_system import ThroughputMode
from fanout.request.parse import check_prices, parse_request
from fanout_cli.estimates.from_totals import idle_state

PRICE = prices_with({})
LISTING = walk_listing(1_000_000, 40)
WORK = Work(listed=1_000_000, entries=1_000_000, bytes=10**11, shards=100, longest_seconds=60)
REQUEST = parse_request({"source": "s3://my-data/in/", "destination": "efs:///copy"}, ("data",), 100)
REQUESTS = RequestCount(gets=1_000_000, puts=0, lists=1_000)


def dollars(
    work: Work = WORK, requests: RequestCount = REQUESTS, seconds: float = 6000, metering: float = 0
) -> Dollars:
    way = way_of(REQUEST, work, LISTING, 60.0, seconds)
    return dollars_of(way, requests, LISTING.function_seconds + seconds, metering, PRICE)


def test_s3_is_the_price_list_s() -> None:
    """A million GETs are $0.40, a million PUTs $5.00, a thousand LISTs $0.005."""
    assert dollars().s3 == pytest.approx(0.405)
    assert dollars(requests=RequestCount(puts=1_000_000)).s3 == pytest.approx(5.0)


def test_a_second_of_a_function_costs_what_lambda_takes_for_its_memory() -> None:
    more = dollars(seconds=7000).compute - dollars(seconds=6000).compute
    assert more == pytest.approx(1000 * 1.769 * 0.0000133334)


def test_a_shard_costs_its_states_its_requests_and_a_call() -> None:
    more = dollars(replace(WORK, shards=101))
    assert more.states - dollars().states == pytest.approx(4 * 0.000025)
    assert more.ledger - dollars().ledger == pytest.approx(6 * 0.000005 + 10 * 0.0000004)
    assert more.compute - dollars().compute == pytest.approx(0.0000002)


def test_the_total_is_all_of_them() -> None:
    assert Dollars(s3=1, ledger=2, efs=4, compute=8, states=16, metrics=32, signing=64).total == 127


@pytest.mark.parametrize(
    ("mode", "metered"),
    [
        (ThroughputMode.ELASTIC, True),
        (ThroughputMode.ASSUMED, True),
        (ThroughputMode.BURSTING, False),
        (ThroughputMode.PROVISIONED, False),
    ],
)
def test_only_elastic_throughput_is_metered_by_the_gb(mode: ThroughputMode, metered: bool) -> None:
    states = {"data": FileSystemState(mode, float(GIB))}
    loads = {"data": Load(read_bytes=10e9, written_bytes=100e9)}
    assert metering_dollars(loads, states, PRICE) == pytest.approx(10 * 0.03 + 100 * 0.06 if metered else 0)


@pytest.mark.parametrize(("size", "billed"), [(4 * KIB, 32 * KIB), (32 * KIB, 32 * KIB), (40_000, 40_000)])
@pytest.mark.parametrize(
    ("ends", "price"), [(("s3://my-data/in/", "efs://data/x"), 0.06), (("efs://data/x", "s3://b-b/o/"), 0.03)]
)
def test_the_data_of_a_small_file_is_billed_as_32_kib_and_counts_as_4_against_throughput(
    size: int, billed: int, ends: tuple[str, str], price: float
) -> None:
    asked = parse_request({"source": ends[0], "destination": ends[1]}, ("data",), 100)
    work = Work(listed=1_000, entries=1_000, bytes=1_000 * size, shards=1, longest_seconds=1)
    loads = loads_of(asked, work)
    of_data = 1_000 * max(size, 4 * KIB)
    load = loads["data"]
    metadata = load.read_bytes + load.written_bytes - of_data
    states = {"data": idle_state(ThroughputMode.ELASTIC)}
    found = metering_dollars(loads, states, PRICE)
    assert found == pytest.approx((1_000 * billed + metadata) / 1e9 * price)


def test_two_file_systems_are_metered_each_by_its_mode() -> None:
    states = {
        "data": FileSystemState(ThroughputMode.ELASTIC, float(GIB)),
        "archive": FileSystemState(ThroughputMode.BURSTING, float(GIB)),
    }
    loads = {"data": Load(read_bytes=10e9), "archive": Load(written_bytes=10e9)}
    assert metering_dollars(loads, states, PRICE) == pytest.approx(0.3)


@given(st.integers(0, 10**9), st.integers(0, 10**15), st.integers(0, 10**6), st.floats(0, 10**9), st.floats(0, 10**6))
def test_no_service_is_ever_negative_and_more_work_is_never_cheaper(
    entries: int, size: int, shards: int, seconds: float, metering: float
) -> None:
    less = dollars(Work(entries, entries, size, shards, 1), RequestCount(entries, entries, 1), seconds, metering)
    more = dollars(
        Work(entries, entries, size * 2, shards + 1, 1), RequestCount(entries + 1, entries + 1, 2), seconds + 1
    )
    parts = (less.s3, less.ledger, less.efs, less.compute, less.states)
    assert min(parts) >= 0
    assert more.total >= less.total - metering


@given(st.sampled_from(sorted(PRICES)), st.floats(0, 100))
def test_one_price_is_overridden_and_the_others_stay(name: str, value: float) -> None:
    found = prices_with({name: value})
    assert found == {**PRICE, name: value}
    check_prices("prices", {name: value})


@pytest.mark.parametrize("wrong", [float("nan"), float("inf"), -0.1, True, "1", None])
def test_what_is_no_price_is_refused_by_its_name(wrong: object) -> None:
    with pytest.raises(InvalidRequest, match=r"prices\.s3_put"):
        check_prices("prices", {"s3_put": wrong})


def test_every_price_has_its_unit_and_its_page() -> None:
    for price in PRICES.values():
        assert price.dollars > 0 and price.unit and price.page.endswith("pricing/")
