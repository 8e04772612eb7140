"""What a look at a pair costs, what becomes of one that fails, and where it tells nothing."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest
from msgspec.structs import replace

from fanout.model.document import Json
from fanout.model.entry import Attributes, Found, Kind
from fanout.model.errors import AccessDenied, FanoutError, NotFound, Throttled, Transient
from fanout.request.proven_ends import ends_to_prove, heads_of_look
from fanout.shards.round_records import rounds_done
from tests.support.flow import ManualClock, World
from tests.support.memory import MemoryEntryCopier
from tests.support.memory_files import Stored
from tests.support.memory_store import MemoryStore
from tests.support.versions import Versions

FROM_S3: Json = {"source": "s3://a-bucket/tree/", "destination": "efs:///copy"}
TO_S3: Json = {"source": "efs:///tree", "destination": "s3://a-bucket/copy/"}
INSIDE_S3: Json = {"source": "s3://a-bucket/tree/", "destination": "s3://a-bucket/copy/"}
GUARD: Json = {"mode": "sync", "delete_guard": {"max_percent": 90}}


class Counting(Versions):
    """A tree that counts looks, and refuses them with an error."""

    looks = 0
    refusal: FanoutError | None = None

    def find_stored(self, path: str) -> Found | None:
        """See ``ports.tree.Tree``."""
        self.looks += 1
        if self.refusal is not None:
            raise self.refusal
        return super().find_stored(path)


def world_of(changes: Iterator[int], *, checksums: bool = True) -> tuple[World, Counting, Counting]:
    """Two trees, of which the source holds two files, one with an mtime in its metadata, and a symlink."""
    source = Counting(changes, keeps_checksums=checksums)
    destination = Counting(changes, keeps_checksums=checksums)
    source.put("plain", Kind.FILE, b"1")
    source.put("with", Kind.FILE, b"2", Attributes(mtime_ns=5))
    return World(changes, source, destination, MemoryStore()), source, destination


def ran(world: World, run_id: str, request: Json) -> tuple[World, int]:
    """A further run; how many entries it copied."""
    following = world.next_run(run_id)
    summary = following.run(request)
    assert summary["status"] == "SUCCEEDED", summary
    return following, summary["totals"]["copied"]["entries"]


@pytest.mark.parametrize(
    ("request_", "here", "there"), [(FROM_S3, 1, 0), (TO_S3, 0, 2), (INSIDE_S3, 2, 2)], ids=["from", "to", "inside"]
)
def test_what_was_copied_is_looked_at_once(request_: Json, here: int, there: int) -> None:
    """A file with the Last-Modified of its object needs no look; a run that has looked leaves that in the index."""
    world, source, destination = world_of(itertools.count(1))
    world, copied = ran(world, "run-1", request_)
    assert (copied, source.looks, destination.looks) == (2, 0, 0)
    world, copied = ran(world, "run-2", request_)
    assert (copied, source.looks, destination.looks) == (0, here, there)
    world, copied = ran(world, "run-3", request_)
    assert (copied, source.looks, destination.looks) == (0, here, there)


@pytest.mark.parametrize("request_", [TO_S3, INSIDE_S3], ids=["to", "inside"])
def test_a_run_without_an_index_asks_what_the_estimate_reckons_with(request_: Json) -> None:
    world, source, destination = world_of(itertools.count(1))
    world, _ = ran(world, "run-1", request_)
    for key in [*world.store.list("runs/indexes/")]:
        world.store.remove(key)
    world, copied = ran(world, "run-2", request_)
    assert copied == 0
    heads = 2 * heads_of_look(ends_to_prove(world.ledger.read_plan().request))
    assert source.looks + destination.looks == heads
    records = rounds_done(world.ledger)
    assert sum(one.heads for one in records) == heads


def lost_there(world: World, path: str, attributes: Attributes) -> None:
    """The copy gets other metadata, as by a copy in the console: bytes and ETag are those of the source."""
    source, destination = world.source, world.destination
    assert isinstance(source, Counting) and isinstance(destination, Counting)
    stored = source.contents()[path]
    there = destination.put(path, Kind.FILE, stored.data, attributes)
    destination.bring_back(path, Stored(replace(there, etag=stored.entry.etag), stored.data, attributes))


@pytest.mark.parametrize("with_index", [True, False])
@pytest.mark.parametrize("mode", ["copy", "sync", "move"])
def test_inside_s3_a_copy_of_the_same_etag_that_lost_its_metadata_is_copied_again(mode: str, with_index: bool) -> None:
    world, source, destination = world_of(itertools.count(1))
    source.put("with", Kind.FILE, b"2", Attributes(0o100600, 1000, 1000, 5, headers={"x-amz-meta-mtime": "5"}))
    kept = source.contents()["with"].attributes
    world.copier = MemoryEntryCopier(source, destination)
    world, _ = ran(world, "run-1", INSIDE_S3)
    lost_there(world, "with", Attributes(headers={"x-amz-meta-mtime": "5"}))
    if not with_index:
        world.store.remove(list(world.store.list("runs/indexes/")))
    assert ran(world, "run-2", {**INSIDE_S3, "mode": mode})[1] == 1
    assert destination.contents()["with"].attributes == kept


def test_the_forecast_holds_the_looks() -> None:
    """Two files inside S3, a HEAD at each end; the next run, for which the index vouches, has none."""
    world, _, _ = world_of(itertools.count(1))
    world, _ = ran(world, "run-1", INSIDE_S3)
    dollars = []
    for run_id in ("run-2", "run-3"):
        world, _ = ran(world, run_id, {**INSIDE_S3, "prices": {"s3_get": 1000.0}})
        forecast = world.ledger.read_json("forecast.json")
        dollars.append((forecast["dollars"]["s3"], world.ledger.read_json("summary.json")["forecast"]))
    assert dollars[0][0] - dollars[1][0] == 4 * 1000.0
    assert dollars[0][1]["actual_dollars"]["s3"] - dollars[1][1]["actual_dollars"]["s3"] == 4 * 1000.0


@pytest.mark.parametrize("request_", [FROM_S3, TO_S3, INSIDE_S3], ids=["from", "to", "inside"])
@pytest.mark.parametrize("error", [AccessDenied("HeadObject", "it", "ask"), NotFound("it")])
def test_a_look_that_is_refused_leaves_it_to_the_copy(request_: Json, error: FanoutError) -> None:
    world, source, destination = world_of(itertools.count(1))
    world, _ = ran(world, "run-1", request_)
    source.refusal = destination.refusal = error
    assert ran(world, "run-2", request_)[1] == (1 if request_ is FROM_S3 else 2)


@pytest.mark.parametrize("error", [Transient("no answer"), Throttled("slow down")])
def test_a_look_that_is_not_answered_fails_the_listing(error: FanoutError) -> None:
    world, _, destination = world_of(itertools.count(1))
    world, _ = ran(world, "run-1", TO_S3)
    destination.refusal = error
    with pytest.raises(type(error)):
        world.next_run("run-2").run(TO_S3)


def test_where_a_look_tells_nothing_the_time_of_the_run_that_copied_does() -> None:
    """Objects without checksum and mtime: one written while the last run went on is what it wrote."""
    changes = itertools.count(500_020)  # two seconds each: about the time of the run's clock
    world, source, destination = world_of(changes, checksums=False)
    world.clock, world.copier = ManualClock(step=5.0), MemoryEntryCopier(source, destination)
    source.remove("with")
    world, copied = ran(world, "run-1", INSIDE_S3)
    assert (copied, source.looks) == (1, 0)
    for run_id in ("run-2", "run-3"):
        world, copied = ran(world, run_id, INSIDE_S3)
        assert (copied, source.looks) == (0, 1)
    world.store.remove(list(world.store.list("runs/indexes/")))
    assert ran(world, "run-4", INSIDE_S3)[1] == 1


@pytest.mark.parametrize("request_", [FROM_S3, TO_S3, INSIDE_S3], ids=["from", "to", "inside"])
def test_a_sync_settles_extras_between_looks_in_their_order(request_: Json) -> None:
    changes = itertools.count(1)
    world, source, destination = world_of(changes)
    for number in range(40):
        source.put(f"d{number % 4}/f{number:02d}", Kind.FILE, b"x", Attributes(mtime_ns=number))
    world, _ = ran(world, "run-1", request_)
    for number in range(0, 40, 3):
        destination.put(f"d{number % 4}/f{number:02d}-extra", Kind.FILE, b"x")
    kept = set(source.contents())
    following = world.next_run("run-2")
    summary = following.run(request_ | GUARD)
    assert summary["status"] == "SUCCEEDED", summary
    assert summary["totals"]["copied"]["entries"] == 0
    assert summary["totals"]["deleted"]["entries"] == 14
    assert {path for path in destination.contents() if not path.endswith("/")} == kept


@pytest.mark.parametrize(("there", "again"), [({}, True), ({"x-amz-meta-mtime": "6"}, False)], ids=["lost", "other"])
def test_inside_s3_equal_bytes_that_lost_metadata_are_copied_under_checksum_too(
    there: dict[str, str], again: bool
) -> None:
    """Another value is no matter there, as for mode and times."""
    world, source, destination = world_of(itertools.count(1))
    world.copier = MemoryEntryCopier(source, destination)
    source.put("with", Kind.FILE, b"2", Attributes(headers={"x-amz-meta-mtime": "5"}))
    request = {**INSIDE_S3, "compare": "checksum"}
    world, _ = ran(world, "run-1", request)
    lost_there(world, "with", Attributes(headers=there))
    assert ran(world, "run-2", request)[1] == again
