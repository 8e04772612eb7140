"""The records of attempts: tails, failures and lost tasks can all be seen in the summary."""

from __future__ import annotations

import subprocess
import sys
from typing import NoReturn

import pytest
from msgspec import convert

from fanout.copying.copy_shard import copy_shard
from fanout.finishing.finish_tree import finish_tree
from fanout.model.entry import Attributes, Entry, Kind
from fanout.model.errors import Transient
from fanout.model.shard import Shard
from fanout.partition.partition_shards import partition_shards
from fanout.shards.tasks.attempt import AttemptEnd
from fanout.shards.tasks.attempts import attempts_by_shard, noted
from fanout.summary.summarise_transfer import summarise_transfer
from tests.support import runs
from tests.support.flow import World
from tests.support.memory import MemoryTree


class Down(MemoryTree):
    """A destination that does not answer."""

    def create(self, entry: Entry, attributes: Attributes) -> NoReturn:
        raise Transient("no answer")


def only_shard(world: World) -> Shard:
    world.list_all(world.plan())
    partition_shards(world.context())
    (row,) = world.ledger.read_json("shards.json")
    return convert(row["shard"], Shard)


def test_a_shard_that_was_lost_failed_and_handed_back_shows_each_of_its_attempts() -> None:
    world = runs.filled(step=0.05)
    shard = only_shard(world)

    def killed() -> NoReturn:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        noted("copy", shard, world.context(), killed)
    destination, world.destination = world.destination, Down()
    with pytest.raises(Transient, match="no answer"):
        copy_shard(shard, world.context())
    world.destination = destination
    world.remaining_seconds = 2.0
    tasks = 1
    while not copy_shard(shard, world.context())["done"]:
        tasks += 1
    assert tasks > 1
    world.remaining_seconds = 900.0
    finish_tree(world.context())
    summarise_transfer(None, world.context())
    ((_, attempts),) = attempts_by_shard("copy", world.ledger)
    ends = [attempt.end for attempt in attempts]
    assert ends == [AttemptEnd.LOST, AttemptEnd.FAILED, *[AttemptEnd.HANDED_BACK] * (tasks - 1), AttemptEnd.DONE]
    summary = world.ledger.read_json("summary.json")
    (row,) = summary["tasks"]
    counts = {name: row[name] for name in ("shards_begun", "begun", "done", "handed_back", "failed", "lost")}
    assert counts == {
        "shards_begun": 1,
        "begun": tasks + 2,
        "done": 1,
        "handed_back": tasks - 1,
        "failed": 1,
        "lost": 1,
    }
    copied = summary["totals"]["copied"]
    assert sum(attempt.entries for attempt in attempts) == copied["entries"]
    assert sum(attempt.bytes for attempt in attempts) == copied["bytes"]
    assert attempts[-1].cursor == shard.entries
    assert row["seconds"] == pytest.approx(sum(attempt.seconds for attempt in attempts))


def test_blocks_of_big_files_count_their_bytes() -> None:
    world = World()
    assert isinstance(world.source, MemoryTree)
    world.source.put("big", Kind.FILE, bytes(range(256)) * 80_000)
    limits = {"limits": {"split_bytes": 8 * 1024 * 1024}}
    world.run({"source": "s3://a-bucket/tree/", "destination": "efs:///copy", "verify": "copied", **limits})
    for phase in ("copy", "verify"):
        attempts = [attempt for _, found in attempts_by_shard(phase, world.ledger) for attempt in found]
        assert sum(attempt.bytes for attempt in attempts) == 256 * 80_000, phase


def test_no_state_but_the_last_pays_for_the_templates_import() -> None:
    probe = "import sys, fanout.summary.summarise_transfer; print('jinja2' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "False"
