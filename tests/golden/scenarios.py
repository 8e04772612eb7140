"""Runs whose every document in the work bucket is pinned: trees in memory, a clock that stands, ids in turn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from msgspec import convert

from fanout.copying.record_shard_failure import record_shard_failure
from fanout.facts import limits
from fanout.model.document import Json
from fanout.model.entry import Attributes, Kind
from fanout.model.shard import Shard
from fanout.partition.partition_shards import partition_shards
from fanout.planning.write_turn import WriteTurns
from fanout.summary.summarise_transfer import summarise_transfer
from tests.support.flow import REQUEST, World
from tests.support.memory import MemoryTree
from tests.support.memory_store import MemoryStore

S3_TO_EFS: Json = {**REQUEST, "limits": {"split_bytes": limits.BLOCK_BYTES}}


class Ended:
    """Executions that have all ended."""

    def running(self, execution: str) -> bool:
        """See ``ports.tree.Executions``."""
        return False


def world() -> World:
    """Five kinds of entries, one of two blocks, and one whose name no file system takes."""
    store = MemoryStore()
    made = World(store=store)
    made.turns = WriteTurns(store, Ended(), made.clock)
    source = tree(made)
    source.put("docs/", Kind.DIRECTORY, attributes=Attributes(mode=0o750))
    source.put("docs/a.txt", Kind.FILE, b"a" * 10)
    source.put("docs/b.txt", Kind.FILE, b"b" * 20)
    source.put("docs/link", Kind.SYMLINK, b"a.txt")
    source.put("big", Kind.FILE, b"0" * (limits.BLOCK_BYTES + 1))
    source.put("wrong//name", Kind.FILE, b"x")
    return made


def tree(made: World) -> MemoryTree:
    """The source."""
    assert isinstance(made.source, MemoryTree)
    return made.source


def copy() -> World:
    """A copy that rejects one name."""
    made = world()
    made.run(S3_TO_EFS)
    return made


def verified_copy() -> World:
    """A copy that compares both trees afterwards."""
    made = world()
    tree(made).remove("wrong//name")
    made.run({**S3_TO_EFS, "verify": "all"})
    return made


def verification() -> World:
    """Both ends compared, of which one entry is missing."""
    made = world()
    made.run({**S3_TO_EFS, "mode": "verify"})
    return made


def plan_alone() -> World:
    """What a copy and a sync would do."""
    made = world()
    made.run({**S3_TO_EFS, "mode": "plan"})
    return made


def sync() -> World:
    """A sync after a copy, with something to delete."""
    made = copy()
    source, again = tree(made), made.next_run("run-2")
    source.remove("docs/b.txt")
    source.remove("wrong//name")
    source.put("docs/new.txt", Kind.FILE, b"new")
    again.run({**S3_TO_EFS, "mode": "sync", "delete_guard": {"max_percent": 100}})
    return again


def failed_shard() -> World:
    """A run whose only shard failed for good."""
    made = world()
    made.list_all(made.plan(REQUEST))
    partition_shards(made.context())
    for row in made.ledger.read_json("shards.json"):
        caught = {"Error": "Lambda.Unknown", "Cause": '{"errorMessage": "the worker died"}'}
        record_shard_failure(convert(row["shard"], Shard), caught, made.context())
    made.finish_all()
    summarise_transfer(None, made.context())
    return made


def resumed() -> World:
    """The run that goes on with the failed one."""
    made = replace(failed_shard(), run_id="run-2")
    made.run({**REQUEST, "resume_from": "run-1"})
    return made


SCENARIOS: dict[str, Callable[[], World]] = {
    one.__name__: one for one in (copy, verified_copy, verification, plan_alone, sync, failed_shard, resumed)
}
