"""What somebody reaches who may start executions, write a manifest or call a function: names, fields, events, rows."""

from __future__ import annotations

import gzip
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from fanout.facts import tuning
from fanout.flow import events
from fanout.flow.calls import StackSettings
from fanout.flow.steps import STEPS, run_step
from fanout.ledger.run_places import RESERVED
from fanout.listing.manifests.manifest_lines import ManifestLines
from fanout.model.document import Json
from fanout.model.errors import InvalidRequest, Transient
from fanout.model.outcome import Reason
from fanout.model.segment import ManifestPart, Rows
from fanout.planning.plan_transfer import plan_transfer
from fanout.request.manifest import ManifestLocation
from scripts import ledger_rights as rights
from tests.support.flow import REQUEST, World
from tests.support.manifests import contents, failures, json_lines, put, world_of
from tests.support.memory import MemoryTree
from tests.support.probes import SMALL, ProbeWorld

STACK = StackSettings(("data",), 10, "work")


def planned(world: World, request: Json) -> Json:
    return plan_transfer(request, world.context(), ("data",), 10, "work", execution="run-1")


# Names of executions. A ledger is another place's, or no name of a ledger at all.
TAKEN = RESERVED
NO_NAMES = (
    *("", ".", "..", "../x", "a/b", "/a", "a/", "a\\b", "%2e%2e", "%2e%2e%2fversions", "a%2fb"),
    *("-rf", "--help", "_a", ".a", ":a", "a b", "a\n", "\na", "a\0", "a*", "a?b", "ä", "\uff56ersions", "x" * 81),
)
# Odd, and each its own place.
ODD = ("seals", "locks", "staged", "runs", "x" * 80, "Versions", "VERSIONS", "BATCHES", "versions.", "batches-", "a..b")


@pytest.mark.parametrize("name", [*TAKEN, *NO_NAMES])
def test_an_execution_of_such_a_name_is_no_run_and_writes_nothing(name: str) -> None:
    world = World()
    with pytest.raises(InvalidRequest, match=r"^(run_id|prefix)|is not allowed|is the name of a place"):
        planned(World(run_id=name, store=world.store), REQUEST)
    assert list(world.store.list("")) == []


@pytest.mark.parametrize("name", TAKEN)
def test_a_probe_has_no_name_of_a_place_beside_the_runs(name: str, tmp_path: Path) -> None:
    world = ProbeWorld([tmp_path])
    with pytest.raises(InvalidRequest, match=r"^probe_id: .*is the name of another place in the work bucket"):
        world.plan(SMALL, name)
    assert list(world.ledger("probe-1").keys("")) == []


def test_each_place_beside_the_runs_is_no_name_of_a_run() -> None:
    beside = {pattern.split("/")[1] for pattern in rights.KINDS if not pattern.startswith("runs/*/")}
    assert beside == set(RESERVED)


@pytest.mark.parametrize("name", ODD)
def test_an_odd_name_is_a_run_that_writes_below_its_own_prefix_alone(name: str) -> None:
    world = World(run_id=name)
    assert isinstance(world.source, MemoryTree)
    planned(world, REQUEST)
    assert {key for key in world.store.list("") if not key.startswith((f"runs/{name}/", "locks/"))} == set()


# Fields of a request that name another place than the request's own ends.
ENDS = {"source": "s3://a-bucket/tree/", "destination": "efs:///out"}
PUBLISHED = ENDS | {"publish": {"link": "current"}}
REACHING: dict[str, tuple[str, Json]] = {
    "a ledger as the run's reference": ("run", ENDS | {"run": {"id": "other", "prefix": "runs/other/"}}),
    "a prefix": ("prefix", ENDS | {"prefix": "seals/"}),
    "functions of another": ("functions", ENDS | {"functions": [{"CopyShard": "arn:aws:lambda:::function:x"}]}),
    "an execution of another": ("execution", ENDS | {"execution": "arn:aws:states:::execution:x:y"}),
    "a name of another run": ("run_id", ENDS | {"run_id": "other"}),
    "steps": ("$.step", ENDS | {"$.step": "DeleteShard"}),
    "a destination above its mount": ("destination", ENDS | {"destination": "efs:///../out"}),
    "a destination beside a mount": ("destination", ENDS | {"destination": "efs://../out"}),
    "a mount of no stack": ("destination", ENDS | {"destination": "efs://other/out"}),
    "a source above its mount": ("source", {"source": "efs:///a/../../b", "destination": "s3://a-bucket/"}),
    "a source of NUL": ("source", {"source": "efs:///a\0b", "destination": "s3://a-bucket/"}),
    "a backup above its mount": ("backup_to", ENDS | {"backup_to": "efs:///../kept"}),
    "a backup in a bucket": ("backup_to", ENDS | {"backup_to": "s3://a-bucket/kept/"}),
    "a backup inside the tree": ("backup_to", ENDS | {"backup_to": "efs:///out/kept"}),
    "a link above the tree": ("publish.link", ENDS | {"publish": {"link": ".."}}),
    "a link in another directory": ("publish.link", ENDS | {"publish": {"link": "../../etc"}}),
    "a link named as the versions": ("publish.link", ENDS | {"publish": {"link": "versions"}}),
    "an earlier run above the runs": ("resume_from", {"resume_from": "../seals"}),
    "an earlier run inside another": ("resume_from", {"resume_from": "other/verification"}),
    "itself as the earlier run": ("resume_from", {"resume_from": "run-1"}),
    "an earlier run that is a place": ("resume_from", {"resume_from": "versions"}),
    "an earlier run as a list": ("resume_from", {"resume_from": ["other"]}),
    "a manifest of secrets": ("manifest", ENDS | {"manifest": "s3://work/seals/other.json"}),
    "a manifest of a ledger": ("manifest", ENDS | {"manifest": "s3://work/runs/other/plan.json"}),
    "a manifest by a way around": ("manifest", ENDS | {"manifest": "s3://work/runs/../seals/failures.jsonl"}),
    "a manifest on a mount": ("manifest", ENDS | {"manifest": "efs:///etc/list.jsonl"}),
    "a certificate of no key": ("certificate", ENDS | {"certificate": True, "verify": "all"}),
}


@pytest.mark.parametrize(("field", "request_"), REACHING.values(), ids=REACHING)
def test_no_field_of_a_request_reaches_another_place(field: str, request_: Json) -> None:
    world = World()
    before = dict(world.store.objects) if hasattr(world.store, "objects") else {}
    with pytest.raises(InvalidRequest) as refused:
        planned(world, request_)
    assert refused.value.field == field
    assert set(world.store.list("")) == set(before)


# Events: a state hands them on from answers of functions, and from lists of the ledger that a Map reads.
RUN: Json = {"id": "run-1", "prefix": "runs/run-1/", "functions": {}}
SHARD: Json = {"id": "0001", "key": "shards/0001.jsonl.gz", "entries": 1, "bytes": 1, "seconds": 1.0}
ELSEWHERE = ("runs/run-1", "runs/run-10/", "runs/other/", "seals/", "locks/", "", "/", "runs/run-1/../other/", "runs/")


@pytest.mark.parametrize("prefix", ELSEWHERE)
def test_an_event_names_no_ledger_but_the_run_s_own(prefix: str) -> None:
    with pytest.raises(InvalidRequest, match=r"run\.prefix: .* is not of the run"):
        events.run_prefix_of({"run": RUN | {"prefix": prefix}})
    if prefix:
        with pytest.raises(InvalidRequest, match=r"run\.sealed: .* is not of the run"):
            events.sealed_of({"run": RUN | {"sealed": prefix}})


@pytest.mark.parametrize("name", NO_NAMES)
def test_an_event_names_a_run(name: str) -> None:
    with pytest.raises(InvalidRequest):
        events.run_prefix_of({"run": {"id": name, "prefix": f"runs/{name}/"}})


@pytest.mark.parametrize("value", ["../other", "a/b", "/", ".", "..", "-a", "a\n", "a\0", "%2e", "x" * 300, "ä"])
@pytest.mark.parametrize("step", [name for name, one in STEPS.items() if "shard" in str(one.call.__name__)])
def test_an_event_s_shard_stays_in_its_kind_of_object(step: str, value: str) -> None:
    world = World()
    with pytest.raises(InvalidRequest, match=r"^shard\.id: .* is not one of a run"):
        run_step(
            STEPS[step], {"step": step, "run": RUN, "cursor": 0, "shard": SHARD | {"id": value}}, world.context(), STACK
        )
    assert list(world.store.list("")) == []


@pytest.mark.parametrize("value", ["../other", "a/b", "/", ".", "..", "-a", "a\n", "a\0", "%2e", "x" * 300, "ä"])
def test_an_event_s_segment_stays_in_its_kind_of_object(value: str) -> None:
    world = World()
    for step in ("ListSegment", "ListDestination"):
        with pytest.raises(InvalidRequest, match=r"^segment\.id: .* is not one of a run"):
            run_step(STEPS[step], {"step": step, "run": RUN, "segment": {"id": value}}, world.context(), STACK)
    assert list(world.store.list("")) == []


# Manifests: who writes one names paths of a source that the stack may read.
LONG = "x" * 300
ROWS: dict[str, tuple[Any, Reason | None]] = {
    "up": ({"path": "../secret"}, Reason.NAME_DOT),
    "up in the middle": ({"path": "a/../../secret"}, Reason.NAME_DOT),
    "here": ({"path": "./a"}, Reason.NAME_DOT),
    "absolute": ({"path": "/etc/passwd"}, Reason.NAME_ABSOLUTE),
    "empty component": ({"path": "a//b"}, Reason.NAME_EMPTY),
    "NUL": ({"path": "a\0b"}, Reason.NAME_NUL),
    "long name": ({"path": LONG}, Reason.NAME_TOO_LONG),
    "another bucket": ({"bucket": "b-bucket", "key": "tree/a"}, Reason.OTHER_BUCKET),
    "another bucket with the path": ({"Bucket": "b-bucket", "path": "a"}, None),
    "above the prefix": ({"bucket": "a-bucket", "key": "secret/a"}, Reason.OUTSIDE_SOURCE),
    "beside the prefix": ({"key": "tree-2/a"}, Reason.OUTSIDE_SOURCE),
    "encoded up": ({"path": "%2e%2e/secret"}, None),
    "the run's own files": ({"path": ".fanout-staging-run-1/x"}, Reason.NAME_RESERVED),
    "a number": ({"path": 7}, Reason.MANIFEST_ROW),
    "a list": ([1, 2], Reason.MANIFEST_ROW),
    "a size without an end": ({"path": "a", "size": 10**50}, Reason.MANIFEST_ROW),
}


@pytest.mark.parametrize(("row", "reason"), ROWS.values(), ids=ROWS)
def test_a_row_of_a_manifest_leads_nowhere_else(row: Any, reason: Reason | None) -> None:
    world = world_of({"a.txt": b"1"})
    summary = world.run(put(world, json_lines([row, {"path": "a.txt"}])))
    found = {why for _, why in failures(world).values()}
    assert summary["totals"]["listed"]["entries"] == 2
    assert contents(world.destination) == {"a.txt": b"1"}
    if reason is not None:
        assert found == {reason.value}


# Parts of a manifest of 20 bytes, as a list of segments may name them.
PARTS: dict[str, tuple[int, int, int]] = {
    "before the file": (-100, -1, 20),
    "after the file": (1_000, 2_000, 20),
    "from its end to its beginning": (15, 5, 20),
    "beyond its end": (0, 10**30, 20),
}


@pytest.mark.parametrize(("first", "end", "size"), PARTS.values(), ids=PARTS)
def test_a_part_outside_of_a_manifest_gives_rows_of_it_alone(first: int, end: int, size: int) -> None:
    world = world_of({})
    data = json_lines(["aaaa", "bb"])
    lines = lines_of(world, data, ManifestPart("lists/a.jsonl", "", size, Rows.JSONL, first, end, line=1))
    assert {line for line in lines if line} <= set(data.split(b"\n"))


def test_a_part_of_a_manifest_that_is_said_to_be_longer_ends() -> None:
    part = ManifestPart("lists/a.jsonl", "", 10**30, Rows.JSONL, 0, 10**30, line=1)
    with pytest.raises(Transient, match="gave no bytes from 12 on"):
        list(lines_of(world_of({}), json_lines(["aaaa", "bb"]), part))


@pytest.mark.timeout(60)
@pytest.mark.parametrize("done", [10**15, -(10**15)])
def test_a_packed_manifest_has_no_more_rows_than_it_has(done: int) -> None:
    part = ManifestPart("lists/a.jsonl.gz", "", 100, Rows.JSONL, 0, 100, done=done, line=1)
    rows = list(lines_of(world_of({}), gzip.compress(json_lines(["a", "b"])), part))
    assert len([row for row in rows if row]) == (0 if done > 0 else 2)


def lines_of(world: World, data: bytes, part: ManifestPart) -> ManifestLines:
    world.objects.put("lists", part.key, data)
    found = world.objects.find("lists", part.key)
    sized = min(part.size, found.size) if part.size < 10**29 else part.size
    return ManifestLines(world.objects, ManifestLocation("lists", part.key), replace(part, etag=found.etag, size=sized))


@pytest.mark.parametrize("form", ["jsonl", "jsonl.gz"])
def test_a_gigantic_row_is_a_failure_and_is_not_held(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tuning, "MANIFEST_ROW_BYTES", 100_000)
    world = world_of({"a.txt": b"1"})
    data = b'{"path": "' + b"x" * 50_000_000 + b'"}\n' + json_lines([{"path": "a.txt"}])
    request = put(world, data, form)
    tracemalloc.start()
    summary = world.run(request)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert {why for _, why in failures(world).values()} == {Reason.MANIFEST_ROW.value}
    assert contents(world.destination) == {"a.txt": b"1"} and summary["totals"]["listed"]["entries"] == 2
    assert most < 40_000_000
