"""Attributes that an end lacks or holds unreadably: copy, verification and move have one rule (``kept_attributes``)."""

from __future__ import annotations

import itertools
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from fanout.adapters.posix.tree import PosixTree
from fanout.listing.deciding.kept_attributes import MOUNT_TELLS, AttributeFate, kept, loses, names_of
from fanout.model.document import Json
from fanout.model.entry import Attributes, Kind, Says
from fanout.model.outcome import Reason
from tests.support.flow import World
from tests.support.memory import MemoryEntryCopier, MemoryTree
from tests.support.memory_store import MemoryStore

TO_S3: Json = {"source": "efs:///tree", "destination": "s3://a-bucket/copy/"}
FROM_S3: Json = {"source": "s3://a-bucket/tree/", "destination": "efs:///copy"}
INSIDE_S3: Json = {"source": "s3://a-bucket/tree/", "destination": "s3://a-bucket/copy/"}
PRIVATE = Attributes(0o100600, 1000, 1000, 5, 6)
FIELDS = ("mode", "uid", "gid", "mtime_ns")


def without(names: tuple[str, ...], *, unreadable: bool = False) -> Attributes:
    """Attributes of which some are not told, or unreadable."""
    gone = replace(PRIVATE, **dict.fromkeys(names))
    return replace(gone, unreadable=dict.fromkeys(names, "?")) if unreadable else gone


TELLS = {
    "all": PRIVATE,
    "nothing": Attributes(),
    "unreadable": without(FIELDS, unreadable=True),
    **{f"no {name}": without((name,)) for name in FIELDS},
    **{f"unreadable {name}": without((name,), unreadable=True) for name in FIELDS},
}
KINDS = {"f": Kind.FILE, "d/": Kind.DIRECTORY}


def world_of(request: Json) -> tuple[World, MemoryTree, MemoryTree]:
    changes = itertools.count(1)
    source, destination = MemoryTree(changes), MemoryTree(changes)
    copier = MemoryEntryCopier(source, destination) if request is INSIDE_S3 else None
    return World(changes, source, destination, MemoryStore(), copier=copier), source, destination


def of_kind(kind: Kind, attributes: Attributes) -> Attributes:
    is_directory = kind is Kind.DIRECTORY and attributes.mode is not None
    return replace(attributes, mode=0o040700) if is_directory else attributes


def fill(request: Json, source: MemoryTree, destination: MemoryTree) -> None:
    """Each kind of entry, for each way in which its two ends may tell something; the destination's are younger."""
    rows = list(itertools.product(enumerate(TELLS.values()), enumerate(TELLS.values()), KINDS.items()))
    for (number, here), (other, _), (name, kind) in rows:
        told = PRIVATE if request is TO_S3 else here
        if kind is Kind.DIRECTORY and request is FROM_S3 and here.mtime_ns is None:
            told = replace(told, mtime_ns=5, unreadable={})  # a directory in memory always has a time
        source.put(f"{number:02}-{other:02}-{name}", kind, b"x" * (kind is Kind.FILE), of_kind(kind, told))
    for (number, _), (other, there), (name, kind) in rows:
        told = PRIVATE if request is FROM_S3 else there
        destination.put(f"{number:02}-{other:02}-{name}", kind, b"x" * (kind is Kind.FILE), of_kind(kind, told))


@pytest.mark.parametrize("compare", ["size-mtime", "checksum"])
@pytest.mark.parametrize("request_", [TO_S3, FROM_S3, INSIDE_S3], ids=["to", "from", "inside"])
def test_what_a_copy_leaves_verifies_and_is_not_copied_again(request_: Json, compare: str) -> None:
    world, source, destination = world_of(request_)
    fill(request_, source, destination)
    request = request_ | {"compare": compare}
    assert world.run(request)["status"] == "SUCCEEDED"
    verified = world.next_run("run-2").run(request_ | {"mode": "verify"})
    lost = [row["path"] for row in world.next_run("run-2").ledger.read_rows("failures.jsonl")]
    if request_ is INSIDE_S3:
        for path in lost:  # metadata that only the destination has is no loss; nothing else differs
            here, there = (tree.contents()[path].attributes for tree in (source, destination))
            assert not loses(names_of(Kind.FILE, here), here, there), path
    else:
        assert (verified["status"], lost) == ("SUCCEEDED", [])
    again = world.next_run("run-3").run(request)
    assert again["totals"]["copied"]["entries"] == 0


@pytest.mark.parametrize("tells", [name for name in TELLS if name != "all"])
def test_what_an_object_lost_differs_is_copied_again_and_is_then_equal(tells: str) -> None:
    world, source, destination = world_of(TO_S3)
    for name, kind in KINDS.items():
        source.put(name, kind, b"x" * (kind is Kind.FILE), of_kind(kind, PRIVATE))
    assert world.run(TO_S3)["status"] == "SUCCEEDED"
    assert world.next_run("run-2").run(TO_S3)["totals"]["copied"]["entries"] == 0
    whole = {path: stored.attributes for path, stored in destination.contents().items()}
    for name, kind in KINDS.items():
        destination.put(name, kind, b"x" * (kind is Kind.FILE), of_kind(kind, TELLS[tells]))
    verified = world.next_run("run-3").run(TO_S3 | {"mode": "verify"})
    assert verified["verification"]["differences"] == 2
    assert world.next_run("run-4").run(TO_S3)["totals"]["copied"]["entries"] == 2
    assert {path: stored.attributes for path, stored in destination.contents().items()} == whole
    assert world.next_run("run-5").run(TO_S3 | {"mode": "verify"})["status"] == "SUCCEEDED"
    assert world.next_run("run-6").run(TO_S3)["totals"]["copied"]["entries"] == 0


@pytest.mark.parametrize("compare", ["size-mtime", "checksum"])
def test_a_move_leaves_nothing_whose_attributes_no_object_holds(compare: str) -> None:
    world, source, destination = world_of(TO_S3)
    source.put("one/secret/", Kind.DIRECTORY, b"", Attributes(0o040700, 1000, 1000, 5, 6))
    source.put("one/secret/f", Kind.FILE, b"x", PRIVATE)
    destination.put("one/secret/", Kind.DIRECTORY)  # younger, made in a console
    destination.put("one/secret/f", Kind.FILE, b"x")
    before = {path: stored.attributes for path, stored in source.contents().items()}
    summary = world.run(TO_S3 | {"mode": "move", "compare": compare})
    assert summary["status"] == "SUCCEEDED", summary
    assert source.contents() == {}
    assert {path: stored.attributes for path, stored in destination.contents().items()} == before


def test_a_move_leaves_an_object_whose_attribute_nobody_can_read() -> None:
    world, source, destination = world_of(FROM_S3)
    source.put("bad", Kind.FILE, b"x", without(("mode",), unreadable=True))
    source.put("bare", Kind.FILE, b"y")
    request = FROM_S3 | {"mode": "move"}
    assert world.run(request)["status"] == "FAILED_WITH_ITEMS"
    (failed,) = world.ledger.read_rows("failures.jsonl")
    assert (failed["path"], failed["reason"]) == ("bad", Reason.ATTRIBUTE_UNREADABLE.value)
    assert failed["message"] == "mode '?' at the source"
    assert (set(source.contents()), set(destination.contents())) == ({"bad"}, {"bad", "bare"})
    for remedy in ({"verify": "content"}, {"attributes": {"file_mode": "0644"}}):
        moved = world_of(FROM_S3)
        moved[1].put("bad", Kind.FILE, b"x", without(("mode",), unreadable=True))
        assert moved[0].run(request | remedy)["status"] == "SUCCEEDED"
        assert moved[1].contents() == {}


@given(st.sampled_from(Says), st.sampled_from(Says), st.sampled_from(FIELDS))
def test_a_pair_keeps_loses_or_has_nothing_to_keep(here: Says, there: Says, name: str) -> None:
    ends = {
        Says.TOLD: PRIVATE,
        Says.NOT_TOLD: without((name,)),
        Says.UNREADABLE: without((name,), unreadable=True),
    }
    source, destination = ends[here], ends[there]
    found = kept(name, source, destination)
    assert (found is AttributeFate.COMPARED) is (here is there is Says.TOLD)
    assert (found is AttributeFate.LOST) is (here is Says.TOLD is not there) is loses(FIELDS, source, destination)
    assert not loses(FIELDS, destination, MOUNT_TELLS)


def test_a_symlink_has_no_mode_to_lose() -> None:
    link = replace(PRIVATE, mode=0o120777)
    assert names_of(Kind.FILE, link) == names_of(Kind.SYMLINK, PRIVATE) == ["uid", "gid", "mtime_ns"]
    assert names_of(Kind.FILE, PRIVATE, owner=False, mtime=False) == ["mode"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give a file away")
@pytest.mark.parametrize(("name", "expected"), [("uid", (0, 1000)), ("gid", (1000, 0))])
def test_a_symlink_gets_the_one_number_of_its_owner_that_is_told(
    tmp_path: Path, name: str, expected: tuple[int, int]
) -> None:
    source = MemoryTree()
    source.put("link", Kind.SYMLINK, b"x", replace(without((name,)), mode=0o120777))
    world = World(source=source, destination=PosixTree(tmp_path, "copy", "run-1", "d"))
    assert world.run(FROM_S3)["status"] == "SUCCEEDED"
    found = (tmp_path / "copy/link").lstat()
    assert (found.st_uid, found.st_gid) == expected
    assert world.next_run("run-2").run(FROM_S3 | {"mode": "verify"})["status"] == "SUCCEEDED"
