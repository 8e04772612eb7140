"""The schema version changes with a redeploy: documents that outlive runs are read, and the next runs go on."""

from __future__ import annotations

import importlib
import pkgutil
import re
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct, to_builtins
from msgspec.json import decode, encode

import fanout
from fanout.ledger import documents, run_places
from fanout.ledger.documents import AnotherVersion, document_of, document_row
from fanout.model.document import SCHEMA_VERSION, Json, Lasting
from fanout.model.entry import Kind
from fanout.model.errors import LedgerBroken
from fanout.resuming import earlier_run
from fanout.turns.write_turn import WriteTurns
from tests.planning.test_skipped import Known
from tests.support.flow import REQUEST, World
from tests.support.memory import MemoryTree
from tests.support.mounts import world_of

SYNC: Json = {"source": "efs:///in", "destination": "efs:///out", "mode": "sync"}
# Where documents lie that outlive runs, and those among them that only people read, or that are manifests.
LASTING_PLACES = re.compile(rf"locks/|runs/({'|'.join(run_places.RESERVED)})/")
FROM_BUCKET: Json = {**REQUEST, "mode": "sync"}
NOT_READ = ("runs/versions/", "runs/doctor/", "runs/batches/")


def redeployed(monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on the product has the next schema version."""
    for module in (documents, earlier_run):
        monkeypatch.setattr(module, "SCHEMA_VERSION", SCHEMA_VERSION + 1)


class Kept(Lasting, frozen=True):
    """As a later version may have it: ``name`` was ``title`` before, and ``more`` is new."""

    name: str
    more: int = 0

    @classmethod
    def upgraded(cls, row: Json) -> Json:
        return {"name": row["title"]}


class Other(Struct, frozen=True):
    name: str


def test_a_lasting_document_is_read_in_the_version_before(monkeypatch: pytest.MonkeyPatch) -> None:
    redeployed(monkeypatch)
    assert document_of({"schema_version": SCHEMA_VERSION, "title": "a"}, Kept) == Kept("a")
    assert document_of(document_row(Kept("b", 2)), Kept) == Kept("b", 2)
    for version in (SCHEMA_VERSION - 1, SCHEMA_VERSION + 2):
        with pytest.raises(AnotherVersion):
            document_of({"schema_version": version, "title": "a"}, Kept)
    with pytest.raises(AnotherVersion):
        document_of({"schema_version": SCHEMA_VERSION, "name": "a"}, Other)


def run_of(mount: Path, run_id: str, before: World | None = None) -> World:
    world = world_of(mount, run_id)
    if before is not None:
        world.store, world.clock, world.nonces = before.store, before.clock, before.nonces
    world.turns = WriteTurns(world.store, Known(set()), world.clock)  # type: ignore[arg-type]
    return world


def filled(mount: Path) -> None:
    for name in ("a", "d/b"):
        (mount / "in" / name).parent.mkdir(parents=True, exist_ok=True)
        (mount / "in" / name).write_bytes(name.encode())


def in_memory() -> World:
    """From a bucket to a mount, which leaves an index too."""
    world = World()
    assert isinstance(world.source, MemoryTree)
    for name in ("a", "d/b"):
        world.source.put(name, Kind.FILE, name.encode())
    world.clock.time += 1000  # the next run need not doubt what is as old as the first one
    world.turns = WriteTurns(world.store, Known(set()), world.clock)  # type: ignore[arg-type]
    return world


def test_the_next_run_after_a_redeploy_goes_on_with_all_that_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    first = in_memory()
    assert first.run(FROM_BUCKET)["status"] == "SUCCEEDED"
    redeployed(monkeypatch)
    second = first.next_run("run-2")
    summary = second.run(FROM_BUCKET)
    assert (summary["status"], summary["totals"]["copied"]["entries"]) == ("SUCCEEDED", 0)
    assert summary["earlier"]["run_id"] == "run-1"
    assert [one for one in summary["notes"] if "version" in one or "cannot be read" in one] == []
    assert second.next_run("run-3").run({**FROM_BUCKET, "mode": "verify"})["status"] == "SUCCEEDED"


def test_each_document_that_a_run_leaves_outside_its_ledger_is_lasting() -> None:
    world = in_memory()
    assert world.run(FROM_BUCKET)["status"] == "SUCCEEDED"
    store: Any = world.store
    left = [key for key in store.list("") if LASTING_PLACES.match(key) and not key.startswith(NOT_READ)]
    assert {key.rpartition("/")[0] for key in left} >= {"locks/mounts", "runs/indexes", "runs/latest", "runs/mounts"}
    for module in pkgutil.walk_packages(fanout.__path__, "fanout."):
        importlib.import_module(module.name)
    for key in left:
        row = decode(store.get(key))
        assert [kind for kind in Lasting.__subclasses__() if kind is not Kept and _is(row, kind)], key


def _is(row: Json, kind: type[Lasting]) -> bool:
    try:
        found = document_of(row, kind)
    except ValueError:
        return False
    return bool(decode(encode({**to_builtins(found), "schema_version": SCHEMA_VERSION})) == row)


def test_a_redeploy_in_the_middle_of_a_run_says_what_to_do_and_that_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(tmp_path)
    first = run_of(tmp_path, "run-1")
    state = first.plan(SYNC)
    redeployed(monkeypatch)
    said = "plan.json was written by another version of the product .*start the request again without resume_from"
    with pytest.raises(LedgerBroken, match=said):
        first.list_all(state)
    second = run_of(tmp_path, "run-2", first)
    assert second.run(SYNC)["status"] == "SUCCEEDED"
    assert (tmp_path / "out/d/b").read_bytes() == b"d/b"
