"""docs/reference/summary.schema.json: what every kind of run writes is what the schema says, and nothing else."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator, ValidationError

from fanout.model.document import SCHEMA_VERSION
from tests.support import runs
from tests.support.flow import World

SCHEMA = json.loads((Path(__file__).parents[2] / "docs/reference/summary.schema.json").read_text(encoding="utf-8"))
VALIDATOR = Draft202012Validator(SCHEMA)
KINDS: list[Callable[[], World]] = [
    runs.succeeded,
    runs.again,
    runs.empty,
    runs.hostile,
    runs.verified,
    lambda: runs.verified("copied"),
    runs.compared,
    runs.planned,
    runs.synced,
    runs.broken,
    runs.skipped,
    lambda: runs.large(shards=200, failures=500),
    runs.in_time,
]


@pytest.mark.parametrize("run", KINDS)
def test_the_summary_of_every_kind_of_run_is_valid(run: Callable[[], World]) -> None:
    summary = run().ledger.read_json("summary.json")
    VALIDATOR.validate(summary)
    assert sum(one["entries"] for one in summary["failures_by_class"]) == summary["failures"]
    for row in summary["tasks"]:
        assert row["begun"] == row["done"] + row["handed_back"] + row["failed"] + row["lost"]


def test_the_kinds_together_show_every_field_and_every_status() -> None:
    summaries = [run().ledger.read_json("summary.json") for run in KINDS]
    assert {summary["status"] for summary in summaries} == {"SUCCEEDED", "FAILED_WITH_ITEMS", "FAILED", "SKIPPED"}
    for name in (
        "error",
        "tasks",
        "sizes",
        "failures_by_class",
        "verification",
        "planned",
        "skipped",
        "origin",
        "earlier",
    ):
        assert any(summary[name] for summary in summaries), name


def test_a_field_that_the_schema_does_not_know_is_refused_wherever_it_stands() -> None:
    summary = runs.compared().ledger.read_json("summary.json")
    for place in _objects(copy.deepcopy(summary), []):
        broken = copy.deepcopy(summary)
        at: Any = broken
        for step in place:
            at = at[step]
        at["surprise"] = 1
        with pytest.raises(ValidationError):
            VALIDATOR.validate(broken)


def test_the_schema_is_one_and_describes_every_property() -> None:
    Draft202012Validator.check_schema(SCHEMA)
    assert SCHEMA["properties"]["schema_version"]["const"] == SCHEMA_VERSION
    undescribed = [name for name, rule in _properties(SCHEMA) if not rule.get("description")]
    assert undescribed == []


def test_the_sizes_are_those_of_the_files() -> None:
    world = runs.succeeded()
    summary = world.ledger.read_json("summary.json")
    sizes = [number * number * 17 % 70_000 for number in range(40)]
    for row in summary["sizes"]:
        inside = [size for size in sizes if row["from_bytes"] <= size < row["below_bytes"]]
        assert (row["entries"], row["bytes"]) == (len(inside), sum(inside))
    assert sum(row["entries"] for row in summary["sizes"]) == len(sizes)


def _objects(value: Any, path: list[Any]) -> Iterator[list[Any]]:
    if isinstance(value, dict):
        yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, inner in items:
        yield from _objects(inner, [*path, step])


def _properties(schema: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(schema, dict):
        yield from schema.get("properties", {}).items()
        for inner in schema.values():
            yield from _properties(inner)
    elif isinstance(schema, list):
        for inner in schema:
            yield from _properties(inner)
