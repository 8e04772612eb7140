"""A run that finds nothing ends green, and its warning stands beside the verdict."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from fanout.model.document import Json
from fanout.model.entry import Kind
from fanout.model.errors import InvalidRequest
from tests.support.flow import REQUEST, World
from tests.support.manifests import FROM_MOUNT, put
from tests.support.memory import MemoryTree

SCHEMA = json.loads((Path(__file__).parents[2] / "docs/reference/summary.schema.json").read_bytes())
PREFIX = "0 objects below this prefix: s3://a-bucket/tree/; check the bucket and the prefix"
MOUNT = "0 entries below this path: efs://data/from; check the path"
MANIFEST = "nothing was listed: the manifest s3://lists/lists/a.jsonl names nothing of the source"


@pytest.mark.parametrize(
    ("request_", "warning"),
    [
        (REQUEST, PREFIX),
        (FROM_MOUNT, MOUNT),
        ({**REQUEST, "manifest": "s3://lists/lists/a.jsonl"}, MANIFEST),
        ({**REQUEST, "mode": "plan"}, PREFIX),
        ({**REQUEST, "mode": "verify"}, PREFIX),
        ({**REQUEST, "include": ["*.txt"]}, PREFIX),
    ],
)
@pytest.mark.parametrize("rows", [b"", b"\n\n"])
def test_nothing_listed_is_a_warning_beside_the_verdict(request_: Json, warning: str, rows: bytes) -> None:
    world = World()
    put(world, rows)
    summary = world.run(request_)
    assert (summary["status"], summary["warnings"]) == ("SUCCEEDED", [warning])
    jsonschema.validate(summary, SCHEMA)
    page = world.ledger.read_bytes("report.html").decode()
    head = page[page.index("<header") : page.index("</header>")]
    assert warning in head
    assert f"{warning.partition(':')[0]}</h1>" in head


def test_a_run_that_listed_something_has_no_warning() -> None:
    world = World()
    assert isinstance(world.source, MemoryTree)
    world.source.put("a", Kind.FILE, b"x")
    assert world.run({**REQUEST, "exclude": ["a"]})["warnings"] == []
    assert "Warning:" not in world.ledger.read_bytes("report.html").decode()


def test_patterns_that_match_nothing_are_a_warning_that_the_verdict_shows() -> None:
    world = World()
    assert isinstance(world.source, MemoryTree)
    world.source.put("docs/a.txt", Kind.FILE, b"content")
    summary = world.run({**REQUEST, "include": ["docs/*.xyz", "*.zip"]})
    warning = "The filters took nothing: none of 1 entries; check the patterns of include: docs/*.xyz, *.zip"
    assert (summary["status"], summary["warnings"]) == ("SUCCEEDED", [warning])
    assert "The filters took nothing</h1>" in world.ledger.read_bytes("report.html").decode()


@pytest.mark.parametrize("request_", [REQUEST, FROM_MOUNT])
@pytest.mark.parametrize("mode", ["copy", "sync", "verify", "plan"])
def test_a_source_that_may_not_be_empty_is_refused_before_anything_is_listed(request_: Json, mode: str) -> None:
    world = World()
    put(world, b"")
    with pytest.raises(InvalidRequest, match=r"source: (s3|efs)://\S+ holds nothing; .* allow_empty_source"):
        world.run({**request_, "mode": mode, "allow_empty_source": False})
    assert not world.ledger.has("summary.json")


def test_a_source_that_may_not_be_empty_and_is_not_is_copied() -> None:
    world = World()
    assert isinstance(world.source, MemoryTree)
    world.source.put("a", Kind.FILE, b"x")
    assert world.run({**REQUEST, "allow_empty_source": False})["totals"]["copied"]["entries"] == 1
