"""``fanout estimate RUN``: what it prints of a run's ledger in a directory, and what it refuses."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from fanout.facts.units import MIB
from fanout.ledger import keys
from fanout.model.file_system import ThroughputMode
from fanout.model.shard import Rates
from fanout_cli.main import app
from tests.support.memory_store import MemoryStore
from tests.support.simulated_shards import GB, ShardedCopy, ledger_of, sizes_of

RATES = Rates(0.001, 60 * MIB)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a run whose twelve functions copied 500 GB."""
    copy = ShardedCopy(
        mode=ThroughputMode.ELASTIC, stored=1_000 * GB, sizes=sizes_of(500 * GB, 100), most=12, planned=12
    )
    copy.run()
    directory = tmp_path_factory.mktemp("runs") / "run-1"
    store = MemoryStore()
    ledger_of(copy, RATES, store)
    for key in store.list("runs/run-1/"):
        path = directory / key.removeprefix("runs/run-1/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(store.get(key))
    return directory


def estimate(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["estimate", *arguments], env={"COLUMNS": "140"})


def told(run: Path, *arguments: str) -> Any:
    found = estimate(str(run), *arguments, "--json")
    assert found.exit_code == 0, found.output
    return json.loads(found.stdout)


def test_a_run_is_shown_beside_itself_with_other_functions(run: Path) -> None:
    found = estimate(str(run), "--functions", "4", "--memory", "2048")
    assert found.exit_code == 0, found.output
    assert "run-1, replayed" in found.stdout and "happened" in found.stdout and "would" in found.stdout
    assert "at its own settings the replay's copy takes" in found.stdout
    assert "memory is taken to change dollars alone" in found.stdout


def test_fewer_functions_take_longer_and_more_memory_costs_more(run: Path) -> None:
    same, fewer, larger = told(run), told(run, "--functions", "4"), told(run, "--memory", "3538")
    assert same["happened"]["functions"] == same["would"]["functions"] == 12
    assert fewer["would"]["copy_seconds"] == pytest.approx(3 * same["would"]["copy_seconds"], rel=0.1)
    assert larger["would"]["copy_seconds"] == same["would"]["copy_seconds"]
    assert larger["would"]["dollars"]["lambda"] == pytest.approx(2 * same["would"]["dollars"]["lambda"], rel=0.1)


def test_a_rate_and_a_mode_bind_and_cost_as_they_do(run: Path) -> None:
    same, slow = told(run), told(run, "--rate", "100 MiB/s")
    assert slow["would"]["copy_seconds"] == pytest.approx(500 * GB / (100 * MIB), rel=0.1)
    assert slow["would"]["bound"] == "bytes of the request"
    bursting = told(run, "--throughput-mode", "bursting", "--credits", "2 TiB")
    assert same["would"]["dollars"]["efs"] > 1 and bursting["would"]["dollars"]["efs"] == 0
    assert 0 <= bursting["would"]["credits_bytes"]["efs://data/"] < 2 * 1024**4
    provisioned = told(run, "--throughput-mode", "provisioned", "--provisioned-mibps", "200")
    assert provisioned["would"]["copy_seconds"] == pytest.approx(500 * GB / (200 * MIB), rel=0.1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--entries", "5"], "--entries: has no meaning here"),
        (["--by", "4h"], "--by: has no meaning here"),
        (["--rate", "fast"], "--rate: 'fast' is not a size"),
        (["--throughput-mode", "provisioned"], "--provisioned-mibps: is missing"),
    ],
)
def test_what_a_run_does_not_take_is_named(run: Path, arguments: list[str], message: str) -> None:
    found = estimate(str(run), *arguments)
    assert found.exit_code == 2 and message in found.stderr


def test_two_trees_take_no_settings_of_a_run() -> None:
    found = estimate("s3://my-data/in/", "efs:///copy", "--entries", "10", "--functions", "5")
    assert found.exit_code == 2 and "--functions: has no meaning here; it is for a RUN that has ended" in found.stderr


def without_summary(run: Path) -> None:
    (run / keys.SUMMARY).unlink()


def of_a_window(run: Path) -> None:
    plan = json.loads((run / keys.PLAN).read_bytes())
    plan["request"]["limits"]["window"] = "22:00-06:00 UTC"
    (run / keys.PLAN).write_text(json.dumps(plan))


def without_attempts(run: Path) -> None:
    for path in (run / "attempts").rglob("*"):
        if path.is_file():
            path.unlink()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (without_summary, "run-1: the run has not ended, or has no summary"),
        (of_a_window, "run-1: the run worked in a window of hours"),
        (without_attempts, "run-1: the run copied nothing"),
    ],
)
def test_a_run_that_cannot_be_replayed_is_refused(
    run: Path, tmp_path: Path, change: Callable[[Path], None], message: str
) -> None:
    copied = tmp_path / "run-1"
    shutil.copytree(run, copied)
    change(copied)
    found = estimate(str(copied), "--functions", "4")
    assert found.exit_code == 2 and message in found.stderr
