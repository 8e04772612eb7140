"""``limits.max_dollars``: refused where the forecast is over it, stopped where the ledger's count reaches it."""

from __future__ import annotations

import pytest
from msgspec import convert

from fanout.copying.copy_shard import copy_shard
from fanout.copying.record_shard_failure import record_shard_failure
from fanout.facts import tuning
from fanout.forecast.spending import COUNT_SECONDS, spent_dollars
from fanout.forecast.way import SMALL_SECONDS, short_seconds
from fanout.ledger import keys
from fanout.ledger.documents import Spending
from fanout.model.document import Json
from fanout.model.errors import BudgetRefused, InvalidRequest, OutOfBudget
from fanout.model.segment import Segment
from fanout.model.shard import Shard
from fanout.partition.partition_shards import partition_shards
from fanout.resuming.carry_over import list_or_carry_over
from fanout.shards.tasks.attempt import Attempt, AttemptEnd, attempt_key
from fanout.summary.summarise_transfer import summarise_transfer
from fanout.work.context import WayOut
from tests.runs.limited import FILES, ended, filled
from tests.support.flow import REQUEST, World
from tests.support.memory import MemoryTree

CAUGHT = {"Error": "OutOfBudget", "Cause": '{"errorMessage": "limits.max_dollars: spent"}'}
# Nothing costs but what a test gives a price.
FREE = {
    "s3_put": 0.0,
    "s3_get": 0.0,
    "efs_read_gb": 0.0,
    "efs_written_gb": 0.0,
    "lambda_gb_second": 0.0,
    "lambda_request": 0.0,
    "transition": 0.0,
    "metric": 0.0,
}


def request_with(max_dollars: float, **prices: float) -> Json:
    return {**REQUEST, "limits": {"max_dollars": max_dollars}, "prices": {**FREE, **prices}}


def shards_of(world: World) -> list[Shard]:
    return [convert(row["shard"], Shard) for row in world.ledger.read_json("shards.json")]


def test_a_run_that_is_cheap_enough_does_not_notice() -> None:
    assert filled().run(request_with(5.0, transition=0.001))["status"] == "SUCCEEDED"


def test_a_run_without_a_budget_counts_nothing() -> None:
    world = filled()
    world.run()
    assert not world.ledger.has(keys.SPENDING)


def test_a_forecast_over_the_budget_is_refused_before_anything_is_copied() -> None:
    world = filled()
    world.list_all(world.plan(request_with(2.0, s3_get=0.1)))
    with pytest.raises(BudgetRefused, match=r"limits\.max_dollars: the forecast is \$8\.[0-9]+, over the limit of"):
        partition_shards(world.context())
    forecast = world.ledger.read_json("forecast.json")
    assert forecast["dollars"]["total"] > 2  # it is written, for people to see what is so dear
    assert isinstance(world.destination, MemoryTree) and not world.destination.contents()
    cause = '{"errorMessage": "limits.max_dollars: the forecast is too high"}'
    ended = summarise_transfer({"Error": "BudgetRefused", "Cause": cause}, world.context())
    assert (ended["status"], ended["error"]) == ("FAILED", "BudgetRefused")
    assert {row["reason"] for row in world.ledger.read_rows("failures.jsonl")} == {"not attempted"}


def test_a_run_that_was_refused_goes_on_with_more_without_listing_again() -> None:
    world = filled()
    world.list_all(world.plan(request_with(2.0, s3_get=0.1)))
    with pytest.raises(BudgetRefused):
        partition_shards(world.context())
    summarise_transfer({"Error": "BudgetRefused", "Cause": ""}, world.context())
    world.run_id = "run-2"
    summary = world.run({"resume_from": "run-1", "limits": {"max_dollars": 20.0}})
    assert summary["status"] == "SUCCEEDED"
    assert summary["totals"]["copied"]["entries"] >= FILES


def test_a_forecast_just_below_the_budget_is_not_refused() -> None:
    world = filled()
    world.list_all(world.plan(request_with(1000.0, s3_get=0.1)))
    partition_shards(world.context())
    total = world.ledger.read_json("forecast.json")["dollars"]["total"]
    same = filled()
    same.list_all(same.plan(request_with(total + 1e-6, s3_get=0.1)))  # the document is rounded
    assert partition_shards(same.context())["count"] == len(shards_of(world))


def test_a_plan_says_what_would_be_refused_and_succeeds() -> None:
    summary = filled().run({**request_with(2.0, s3_get=0.1), "mode": "plan"})
    assert summary["status"] == "SUCCEEDED"
    (note,) = [one for one in summary["notes"] if "max_dollars" in one]
    assert note.startswith("a copy or a sync would be refused: limits.max_dollars: the forecast is $")


def at_work_for(seconds: float, world: World) -> None:
    """A task that began, and takes far longer than was forecast."""
    world.ledger.mark(attempt_key("copy", Attempt("slow", "other", world.clock.time)))
    world.clock.time += seconds


def test_shards_that_the_budget_does_not_reach_are_left_to_the_run_that_resumes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tuning, "SHARD_ENTRIES", 10)
    world = filled()
    world.list_all(world.plan(request_with(1.0, lambda_gb_second=0.001)))
    partition_shards(world.context())
    first, *others = shards_of(world)
    assert others
    assert copy_shard(first, world.context())["done"]
    at_work_for(800, world)
    for shard in others:
        with pytest.raises(OutOfBudget, match=r"has spent \$1\.[0-9]+ of \$1\.00, .* and stops$"):
            copy_shard(shard, world.context())
        assert record_shard_failure(shard, CAUGHT, world.context()) == {"failed": 0}
    world.finish_all()
    ended = summarise_transfer(None, world.context())
    assert (ended["status"], ended["error"]) == ("FAILED", "OutOfBudget")
    assert "start the request again with resume_from run-1, which has a budget of its own" in ended["cause"]

    world.run_id = "run-2"
    state = world.plan({"resume_from": "run-1"})
    assert world.ledger.read_plan().request.limits.max_dollars == 1.0
    world.list_all(state)
    world.copy_all()
    world.finish_all()
    assert summarise_transfer(None, world.context())["status"] == "SUCCEEDED"
    assert isinstance(world.destination, MemoryTree) and isinstance(world.source, MemoryTree)
    copied = {path: found.data for path, found in world.destination.contents().items()}
    assert copied == {path: found.data for path, found in world.source.contents().items()}


def test_a_count_is_kept_for_a_while_and_then_made_anew() -> None:
    world = filled()
    world.list_all(world.plan(request_with(1.0, lambda_gb_second=0.001)))
    plan = world.ledger.read_plan()
    partition_shards(world.context())
    counted = world.ledger.read(keys.SPENDING)
    at_work_for(COUNT_SECONDS - 1, world)
    world.context().within(plan)
    assert world.ledger.read(keys.SPENDING) == counted
    world.clock.time += 1
    world.context().within(plan)
    anew = world.ledger.read(keys.SPENDING)
    assert anew.counted_at == world.clock.time
    short = sum(short_seconds().values())
    assert anew.dollars == pytest.approx(counted.dollars + (short + COUNT_SECONDS) * 1.769 * 0.001, abs=0.001)


def test_a_run_that_has_spent_it_once_stops_for_good() -> None:
    world = filled()
    world.list_all(world.plan(request_with(1.0)))
    world.ledger.write(keys.SPENDING, Spending(1.0, world.clock.time))
    plan = world.ledger.read_plan()
    world.clock.time += 10 * COUNT_SECONDS
    with pytest.raises(OutOfBudget, match=r"\$1\.00 of \$1\.00"):
        world.context().within(plan)


def test_a_listing_that_the_budget_ends_says_so() -> None:
    world = filled()
    state = world.plan(request_with(0.01))
    world.ledger.write(keys.SPENDING, Spending(0.02, world.clock.time))
    (row,) = world.ledger.read_json(state["list"]["key"].removeprefix(world.ledger.prefix))
    with pytest.raises(OutOfBudget):
        list_or_carry_over(convert(row, Segment), world.context())


def test_a_map_that_broke_off_for_the_budget_says_so_and_any_other_keeps_its_error() -> None:
    world = filled()
    world.list_all(world.plan(request_with(1.0, lambda_gb_second=0.001)))
    world.copy_all()
    world.finish_all()
    caught = {"Error": "States.ExceedToleratedFailureThreshold", "Cause": ""}
    assert ended(caught, world) == "Infrastructure"
    at_work_for(800, world)
    assert ended(caught, world) == "OutOfBudget"
    assert ended({"Error": "AccessDenied", "Cause": ""}, world) == "AccessDenied"


def test_what_is_counted_while_it_runs_is_what_the_summary_counts() -> None:
    world = filled()
    prices = dict.fromkeys(FREE, 0.001)
    summary = world.run({**request_with(1000.0, **prices), "verify": "copied"})
    assert summary["status"] == "SUCCEEDED"
    spent = spent_dollars(world.ledger.read_plan(), world.ledger, world.clock.time)
    assert spent.total == pytest.approx(summary["forecast"]["actual_dollars"]["total"], abs=1e-6)
    assert spent.s3 > FILES * 0.001  # the objects that were read, and their HEADs of the verification


@pytest.mark.parametrize("verify", ["none", "copied", "all"])
def test_a_small_run_spends_what_was_forecast_whatever_it_verifies(verify: str) -> None:
    found = filled().run({**REQUEST, "verify": verify})["forecast"]
    for service, dollars in found["dollars"].items():
        assert found["actual_dollars"][service] == pytest.approx(dollars, rel=0.05), service


def test_a_budget_over_the_forecast_lasts_for_a_verification_of_whole_trees(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fanout.forecast.spending.COUNT_SECONDS", 0.0)
    summary = filled().run({**request_with(0.2, lambda_gb_second=0.01), "verify": "all"})
    assert summary["status"] == "SUCCEEDED", summary["error"]


def test_a_task_at_work_counts_its_seconds_at_most_those_of_a_function() -> None:
    world = filled()
    world.list_all(world.plan(request_with(1000.0, lambda_gb_second=1.0)))
    plan = world.ledger.read_plan()
    before = spent_dollars(plan, world.ledger, world.clock.time).total
    at_work_for(5000, world)
    after = spent_dollars(plan, world.ledger, world.clock.time)
    assert after.compute == pytest.approx((SMALL_SECONDS + 900) * 1.769, rel=0.001)  # it is small no more
    ended = Attempt("slow", "other", world.clock.time - 5000, world.clock.time - 4990, 5, 500, 5, AttemptEnd.DONE)
    world.ledger.mark(attempt_key("copy", ended))
    assert spent_dollars(plan, world.ledger, world.clock.time).compute == pytest.approx(before + 10 * 1.769, rel=0.1)


@pytest.mark.parametrize("wrong", [0, 0.001, -1, "much", True])
def test_a_budget_that_is_none_is_refused_by_its_name(wrong: object) -> None:
    with pytest.raises(InvalidRequest, match=r"limits\.max_dollars"):
        filled().plan({**REQUEST, "limits": {"max_dollars": wrong}})


def test_transfer_between_regions_counts_against_the_budget_before_and_after() -> None:
    """Forty files of fifty bytes, at a million dollars a GB."""
    dear = request_with(1.5, transfer_gb=1e6)
    world = filled()
    world.way_out, world.regions = WayOut.MOUNTS, {"a-bucket": "eu-west-1"}
    world.list_all(world.plan(dear))
    with pytest.raises(BudgetRefused, match=r"the forecast is \$2\.00, over the limit of \$1\.50"):
        partition_shards(world.context())
    again = filled()
    again.way_out, again.regions = world.way_out, world.regions
    forecast = again.run({**dear, "limits": {"max_dollars": 2.5}})["forecast"]
    assert forecast["dollars"]["transfer_between_regions"] == 2.0
    assert forecast["actual_dollars"]["transfer_between_regions"] == 2.0
    assert "transfer_between_regions" not in filled().run(dear)["forecast"]["actual_dollars"]
