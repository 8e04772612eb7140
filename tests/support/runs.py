"""Runs whose summaries and pages are looked at: real flows over trees in memory, and a ledger of a million files."""

from __future__ import annotations

import random
from collections.abc import Iterator

from msgspec import convert, to_builtins

from fanout.copying.copy_shard import copy_shard
from fanout.copying.record_shard_failure import record_shard_failure
from fanout.finishing.finish_tree import finish_tree
from fanout.model.books import Count, no_counts
from fanout.model.document import SCHEMA_VERSION, Json
from fanout.model.entry import Entry, Kind
from fanout.model.entry_outcome import Outcome
from fanout.model.errors import OutOfTime
from fanout.model.outcome import Reason, Result
from fanout.model.shard import Shard
from fanout.partition.partition_shards import partition_shards
from fanout.shards.partitioned import BIG_FILES, LINKS, Links, ListedBigFiles
from fanout.shards.record import write_outcomes
from fanout.shards.sizes import Sizes
from fanout.shards.tasks.attempt import Attempt, AttemptEnd, attempt_key
from fanout.summary.summarise_transfer import summarise_transfer
from fanout.turns.write_turn import WriteTurns
from tests.support.flow import ManualClock, World
from tests.support.memory import MemoryTree
from tests.support.memory_store import MemoryStore

# Each would act, hide or reorder if it were not shown as what it is.
HOSTILE = (
    "<script>document.title='hostile'</script>//x",
    "<img src=x onerror=document.title='hostile'>//x",
    '"><svg onload=document.title="hostile">//x',
    "</style></main><h1>taken</h1>//x",
    "{{ 7 * 7 }}{% raw %}//x",
    "caf\udce9//x",
    "invoice\u202efdp.exe//x",
    "two\nlines\r\tand\x1b[31mred//x",
    "zero\u200bwidth\u2066//x",
    "נתונים/ملف//x",
    f"{'long' * 250}//x",
)


EXECUTIONS = "arn:aws:states:eu-west-1:123456789012:execution:prod-transfer"


def filled(files: int = 40, step: float = 0.02) -> World:
    """A world with files of many sizes, whose clock moves."""
    world = World(clock=ManualClock(step=step), executions=EXECUTIONS)
    assert isinstance(world.source, MemoryTree)
    for number in range(files):
        world.source.put(f"d{number % 5}/f{number:03d}", Kind.FILE, bytes(number * number * 17 % 70_000))
    return world


def succeeded() -> World:
    """A run that copied everything."""
    world = filled()
    world.run({"source": "s3://a-bucket/tree/", "destination": "efs:///copy", "limits": {"shard_seconds": 0.1}})
    return world


def again() -> World:
    """The run after one that copied everything: 15 files are new."""
    world = succeeded()
    assert isinstance(world.source, MemoryTree)
    for number in range(15):
        world.source.put(f"d{number % 5}/g{number:03d}", Kind.FILE, bytes(number * 1_000))
    following = world.next_run("run-2")
    following.run({"source": "s3://a-bucket/tree/", "destination": "efs:///copy"})
    return following


def empty() -> World:
    """A run over a source that holds nothing."""
    world = World(clock=ManualClock(step=0.02))
    world.run()
    return world


def hostile() -> World:
    """A run with names that are made to harm whoever looks at them; all of them are rejected."""
    world = filled(5)
    assert isinstance(world.source, MemoryTree)
    for path in HOSTILE:
        world.source.put(path, Kind.FILE, b"x")
    world.run()
    return world


def verified(verify: str = "all") -> World:
    """A run that verified what it copied."""
    world = filled()
    world.run({"source": "s3://a-bucket/tree/", "destination": "efs:///copy", "verify": verify})
    return world


def in_time() -> World:
    """A run that had to end by a time, and did."""
    world = filled()
    world.run({"source": "s3://a-bucket/tree/", "destination": "efs:///copy", "limits": {"finish_by": "4h"}})
    return world


def compared() -> World:
    """A run of mode verify that found what is missing, what is too much, and what differs."""
    world = filled()
    world.run()
    assert isinstance(world.source, MemoryTree) and isinstance(world.destination, MemoryTree)
    world.source.put("d0/new", Kind.FILE, b"new")
    world.source.put("d1/f001", Kind.FILE, b"another size")
    world.destination.put("d2/extra", Kind.FILE, b"extra")
    following = world.next_run("run-2")
    following.run({"source": "s3://a-bucket/tree/", "destination": "efs:///copy", "mode": "verify"})
    return following


def planned() -> World:
    """A plan over a destination that holds some of the source, and more."""
    world = filled()
    assert isinstance(world.destination, MemoryTree)
    world.destination.put("extra/file", Kind.FILE, b"extra")
    world.run({"source": "s3://a-bucket/tree/", "destination": "efs:///copy", "mode": "plan"})
    return world


def synced() -> World:
    """A sync that copied everything and deleted what was too much."""
    world = filled()
    assert isinstance(world.destination, MemoryTree)
    for number in range(40):
        world.destination.put(f"d{number % 5}/f{number:03d}", Kind.FILE, b"old")
    world.destination.put("d2/extra", Kind.FILE, b"extra")
    world.run({"source": "s3://a-bucket/tree/", "destination": "efs:///copy", "mode": "sync"})
    return world


def skipped() -> World:
    """A run that found another one of the same transfer at work."""
    first = filled(5)

    class GoesOn:
        def running(self, execution: str) -> bool:
            return True

    assert isinstance(first.store, MemoryStore)
    first.turns = WriteTurns(first.store, GoesOn(), first.clock)
    first.plan()
    second = first.next_run("run-2")
    second.plan()
    return second


def broken() -> World:
    """A run that broke off while it copied."""
    world = filled()
    world.list_all(world.plan())
    partition_shards(world.context())
    finish_tree(world.context())
    cause = '{"errorMessage": "the mount <b>data</b> does not answer", "errorType": "Lambda.EFSMountTimeoutException"}'
    summarise_transfer({"Error": "Lambda.EFSMountTimeoutException", "Cause": cause}, world.context())
    return world


def stopped() -> World:
    """A run that ``limits.max_seconds`` stopped when half of its shards were copied."""
    world = filled(600)
    options = {"shard_seconds": 0.1, "max_seconds": 600}
    world.list_all(world.plan({"source": "s3://a-bucket/tree/", "destination": "efs:///copy", "limits": options}))
    partition_shards(world.context())
    shards = [convert(row["shard"], Shard) for row in world.ledger.read_json("shards.json")]
    for shard in shards[: len(shards) // 2]:
        copy_shard(shard, world.context())
    world.clock.time += options["max_seconds"]
    error = OutOfTime(options["max_seconds"])
    for shard in shards[len(shards) // 2 :]:
        record_shard_failure(shard, {"Error": "OutOfTime", "Cause": str(error)}, world.context())
    finish_tree(world.context())
    summarise_transfer(None, world.context())
    return world


def large(shards: int = 2000, files_of_a_shard: int = 500, failures: int = 6000) -> World:
    """A ledger of ``shards * files_of_a_shard`` files, with retries, tails, stragglers and many failures.

    It is written as the steps would, but for the rows of what was copied, which the summary does not read.
    """
    chance = random.Random(20261121)
    world = World(clock=ManualClock(), run_id="nightly-2026-11-21", executions=EXECUTIONS)
    world.list_all(world.plan())
    ledger = world.ledger
    sizes, listed, rows = Sizes(), Count(), []
    clock = [world.clock.time + 40 + chance.random() for _ in range(100)]  # when each of 100 workers is free
    failing = set(chance.sample(range(shards), shards // 40)) if failures else set()
    left = failures
    pool = [max(0, round(chance.lognormvariate(11, 2.2))) for _ in range(20_000)]
    for number in range(shards):
        files = chance.choices(pool, k=files_of_a_shard)
        for size in files:
            sizes.add(Entry("f", Kind.FILE, size))
        total = sum(files)
        shard = Shard(f"0001-000000-abcd1234-{number:04d}", f"shards/{number}", len(files), total, total / 2.5e6 + 3)
        failed = min(left, files_of_a_shard, -(-failures // max(1, len(failing)))) if number in failing else 0
        left -= failed
        _write_outcomes(world, shard, files, failed, chance)
        worker = min(range(100), key=clock.__getitem__)
        ended = clock[worker]
        for attempt in _attempts(shard, clock[worker], chance):
            ledger.mark(attempt_key("copy", attempt))
            ended = attempt.ended or ended
        clock[worker] = ended + 0.3
        listed += Count(len(files), total)
        rows.append(to_builtins(shard))
    done: Json = ledger.read_json("segments/round-0001-done.json")
    done |= {"listed": to_builtins(listed), "sizes": sizes.row(), "shards": rows, "outcomes": to_builtins(no_counts())}
    ledger.write_json("segments/round-0001-done.json", done)
    ledger.write_json("shards.json", [{"shard": row} for row in rows])
    ledger.write(LINKS, Links([]))
    ledger.write(BIG_FILES, ListedBigFiles([]))
    for phase, at in (("list", 3), ("partition", 31), ("copy", 39)):
        ledger.begin(phase, world.clock.time + at)
    world.clock.time = max(clock) + 1
    finish_tree(world.context())
    world.clock.time += 7
    summarise_transfer(None, world.context())
    return world


def _write_outcomes(world: World, shard: Shard, files: list[int], failed: int, chance: random.Random) -> None:
    """The totals of a shard, and the rows of the entries that failed."""
    reasons = (Reason.TRANSIENT, Reason.SOURCE_CHANGED, Reason.DESTINATION_DENIED, Reason.SHARD_FAILED)
    outcomes = {}
    for index in range(failed):
        path = f"projects/{shard.id}/{'deep/' * chance.randrange(30)}file-{index:04d}.bin"
        reason = chance.choice(reasons)
        message = f"PutObject: {reason.value}; " + "the server said so. " * chance.randrange(20)
        outcomes[index] = Outcome.because(Entry(path, Kind.FILE, files[index]), reason, message)
    if outcomes:
        write_outcomes(shard.id, "n-0000", outcomes, world.ledger)
    copied = to_builtins({Result.COPIED: Count(len(files) - failed, sum(files[failed:]))})
    document: Json = {"schema_version": SCHEMA_VERSION, "ranges": [(failed, len(files))], "outcomes": copied}
    world.ledger.write_json(f"outcomes/shards/{shard.id}/n-0001.json", document)


def _attempts(shard: Shard, began: float, chance: random.Random) -> Iterator[Attempt]:
    """Mostly one; some are lost or fail first, some hand back a tail, some take much longer."""
    seconds = shard.seconds * chance.lognormvariate(0.15, 0.18) * (3.5 if chance.random() < 0.004 else 1)
    kind = chance.random()
    if kind < 0.006:
        yield Attempt(shard.id, "aa", began)
        began += seconds * 0.7
    elif kind < 0.012:
        yield Attempt(shard.id, "aa", began, began + 4, end=AttemptEnd.FAILED)
        began += 9
    elif kind < 0.03:
        half = shard.entries // 2
        yield Attempt(shard.id, "aa", began, began + seconds / 2, half, shard.bytes // 2, half, AttemptEnd.HANDED_BACK)
        began, rest = began + seconds / 2 + 0.2, shard.entries - half
        yield Attempt(
            shard.id,
            "bb",
            began,
            began + seconds / 2,
            rest,
            shard.bytes - shard.bytes // 2,
            shard.entries,
            AttemptEnd.DONE,
        )
        return
    yield Attempt(shard.id, "cc", began, began + seconds, shard.entries, shard.bytes, shard.entries, AttemptEnd.DONE)
