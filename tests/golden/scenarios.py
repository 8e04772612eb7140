"""Runs whose every document in the work bucket is pinned: trees in memory, a clock that stands, ids in turn."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from unittest.mock import patch

from msgspec import convert

from fanout.copying.record_shard_failure import record_shard_failure
from fanout.efs.capacity import most_credits
from fanout.facts import tuning
from fanout.facts.units import GIB, MIB
from fanout.model.document import Json
from fanout.model.entry import Attributes, Kind
from fanout.model.file_system import CREDITS, IO_LIMIT, METERED, PERMITTED, Described, Reading, ThroughputMode
from fanout.model.shard import Shard
from fanout.pacing.pace_copy import end_pacing, pace_copy
from fanout.partition.partition_shards import partition_shards
from fanout.ports.pacing import MapRun
from fanout.probe.probe_work import Effort
from fanout.probe.samples import Timed
from fanout.summary.summarise_transfer import summarise_transfer
from fanout.turns.write_turn import WriteTurns
from tests.support.flow import REQUEST, World
from tests.support.memory import MemoryTree
from tests.support.memory_meter import MemoryMeter
from tests.support.memory_store import MemoryStore
from tests.support.probes import SMALL, ProbeWorld, Simulated

S3_TO_EFS: Json = {**REQUEST, "limits": {"split_bytes": tuning.BLOCK_BYTES}}


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
    source.put("big", Kind.FILE, b"0" * (tuning.BLOCK_BYTES + 1))
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


def move() -> World:
    """A move of all but a name that is rejected."""
    made = world()
    made.run({**S3_TO_EFS, "mode": "move"})
    return made


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


class Maps:
    """A Map of ten items whose concurrency changes as it is told."""

    concurrency = 4

    def find(self, execution_arn: str, label: str) -> MapRun:
        """See ``ports.pacing.MapRuns``."""
        return MapRun("map", "RUNNING", self.concurrency, 10, 6, 4)

    def move(self, map_run_arn: str, max_concurrency: int) -> None:
        """See ``ports.pacing.MapRuns``."""
        self.concurrency = max_concurrency


def bursting(now: float) -> MemoryMeter:
    """A file system of 100 GiB with a third of its credits."""
    described = Described(ThroughputMode.BURSTING, "generalPurpose", False, 100 * GIB, 0, 0, 0.0)
    credits = [Reading(now, most_credits(100 * GIB) / 3)]
    readings = {CREDITS: credits, PERMITTED: [Reading(now, 100.0 * MIB)], IO_LIMIT: [Reading(now, 95.0)]}
    return MemoryMeter({"fs-1": described}, {"fs-1": readings | {METERED: [Reading(now, 60.0 * MIB)]}})


def paced() -> World:
    """A copy within a rate to a file system with burst credits, paced for minutes and then told of its end."""
    made = world()
    made.meter, made.file_system_ids = bursting(made.clock.time), {"data": "fs-1"}
    made.list_all(made.plan({**REQUEST, "limits": {"bytes_per_second": 10.0 * MIB}}))
    made.copy_all()
    made.remaining_seconds = 300.0
    pace_copy(made.execution, made.context(), Maps())
    end_pacing(made.context())
    made.finish_all()
    made.end()
    return made


def one_after_the_other(threads: int, work: Callable[[int], Iterator[Timed]], effort: Effort) -> list[Timed]:
    """Threads as they cannot overtake each other."""
    return [record for thread in range(threads) for record in work(thread)]


def probed(**fails: str) -> ProbeWorld:
    """A probe of a simulated file system, by one function."""
    files = Simulated(100.0 * MIB, 0.001, set())
    meter = bursting(files.clock.now())
    made = ProbeWorld([], clock=files.clock, make=files.directory, meter=meter, file_system_ids={"data": "fs-1"})
    with patch("fanout.probe.run_experiment.at_once", one_after_the_other):
        planned = made.plan({**SMALL, "max_functions": 1}, "probe-1")
        made.open("probe-1")
        made.rounds("probe-1", planned["rounds"][: 3 if fails else None])
        made.close("probe-1")
    made.summarise("probe-1", fails)
    return made


def probe() -> ProbeWorld:
    """A probe that measured everything."""
    return probed()


def broken_probe() -> ProbeWorld:
    """A probe that broke off after three rounds."""
    return probed(Error="States.Timeout", Cause="too late")


SCENARIOS: dict[str, Callable[[], World | ProbeWorld]] = {
    one.__name__: one
    for one in (
        *(copy, verified_copy, verification, plan_alone, sync, move, failed_shard, resumed),
        *(paced, probe, broken_probe),
    )
}
