"""The findings of an attempt at VerifyShard count with its record: lost and doubled attempts change no result."""

from __future__ import annotations

import itertools

import pytest
from msgspec.structs import replace

from fanout.certificate.document import decoded
from fanout.model.document import Json
from fanout.model.entry import Attributes, Found, Kind
from fanout.model.errors import Transient
from tests.runs.archived import Archived
from tests.support.archives import ArchivedTree
from tests.support.flow import World
from tests.support.interrupted import Interrupted, lost, no_write, the_record, write_of
from tests.support.memory import MemoryTree
from tests.support.signing import LocalSigner

ONLY: Json = {"source": "s3://a-bucket/tree/", "destination": "efs:///copy", "mode": "verify"}


def filled(*, differs: bool = True) -> World:
    """Files in two directories, one of which differs; of some metadata nothing is read, and some is not told."""
    world = World(store=Interrupted(), signer=LocalSigner())
    for tree in (world.source, world.destination):
        assert isinstance(tree, MemoryTree)
        for number in range(6):
            there = differs and tree is world.destination and number == 0
            data = b"Z" if there else b"%d" % number
            headers = {"x-amz-meta-mtime": "1"} if number % 2 and tree is world.source else {}
            tree.put(f"d{number % 2}/f{number}", Kind.FILE, data, Attributes(headers=headers))
    return world


def begun(world: World, request: Json) -> Interrupted:
    """The run until VerifyShards."""
    world.list_all(world.plan(request))
    world.walk("PartitionShards", world.state(), "FinishTree", "SummariseTransfer", "VerifyShards")
    assert isinstance(world.store, Interrupted)
    return world.store


def told(world: World) -> Json:
    """All that the summary and the certificate say of the comparison."""
    summary = world.end()
    signed = decoded(world.ledger.read_bytes("certificate.json")).document if summary["certificate"] else None
    trees = None if signed is None else (signed.source, signed.destination, signed.verification)
    return {
        **{name: summary[name] for name in ("status", "totals", "verification", "notes", "failures_by_class")},
        "certificate": trees,
    }


REQUESTS = {
    "content": (ONLY | {"verify": "content"}, True),
    "attributes": (ONLY, True),
    "certificate": (ONLY | {"verify": "content", "certificate": True}, False),
}


@pytest.mark.parametrize("request_", REQUESTS)
@pytest.mark.parametrize("how", ["lost", "two at once"])
def test_an_attempt_that_is_cut_at_any_write_leaves_the_result_as_it_is(request_: str, how: str) -> None:
    request, differs = REQUESTS[request_]
    plain = filled(differs=differs)
    store = begun(plain, request)
    store.arm(no_write, lost)
    plain.verify_all()
    writes, wanted = store.writes, told(plain)
    assert writes >= 4  # the attempt's begin and end, the rows, the record
    assert wanted["verification"]["differences"] == differs
    for at in range(writes):
        world = filled(differs=differs)
        store = begun(world, request)
        if how == "lost":
            store.arm(write_of(at), lost)
            with pytest.raises(Transient):
                world.verify_all()
        else:
            store.arm(write_of(at), world.verify_all)
        world.verify_all()
        assert store.before is None, "no write was interrupted"
        assert told(world) == wanted, at


def test_what_a_lost_attempt_found_and_another_did_not_is_no_difference() -> None:
    world = filled()
    store = begun(world, ONLY | {"verify": "content"})
    store.arm(the_record, lost)
    with pytest.raises(Transient):
        world.verify_all()
    assert isinstance(world.destination, MemoryTree)
    world.destination.put("d0/f0", Kind.FILE, b"0")
    world.verify_all()
    found = told(world)["verification"]
    assert (found["differences"], found["differing_directories"]) == (0, [])
    assert found["source_digest"] == found["destination_digest"] != "0" * 64


class Untold(ArchivedTree):
    """Its store keeps no checksums, so that all is read."""

    def find_stored(self, path: str) -> Found | None:
        """See ``ports.tree.Tree``."""
        found = super().find_stored(path)
        return None if found is None else replace(found, crc64nvme=None)


@pytest.mark.parametrize("lost_record", [None, 0, 1])
def test_what_was_held_at_a_lost_attempt_alone_was_compared(
    lost_record: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.runs.archived.ArchivedTree", Untold)
    run = Archived(old="GLACIER")
    world = run.world
    world.store = Interrupted()
    assert isinstance(world.destination, MemoryTree)
    for name, data in (("a", b"plain"), ("z", b"plain"), ("old", b"old")):
        world.destination.put(name, Kind.FILE, data)
    store = begun(world, ONLY | {"archived": "skip", "verify": "content"})
    if lost_record is not None:
        records = itertools.count()
        store.arm(lambda number, key: the_record(number, key) and next(records) == lost_record, lost)
        with pytest.raises(Transient):
            world.verify_all()
        run.archive.objects.clear()  # somebody has it restored meanwhile
    world.verify_all()
    summary = world.end()
    found, skipped = summary["verification"], summary["totals"]["skipped"]["entries"]
    held = [one["entries"] for one in found["not_compared"] if one["what"] == "archived objects"]
    assert (found["compared"]["entries"], skipped, held) == ((2, 1, [1]) if lost_record is None else (3, 0, []))
