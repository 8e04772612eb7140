"""Faults of the work itself."""

from __future__ import annotations

import errno
import os
from typing import Any
from unittest.mock import patch

from msgspec import convert

from fanout.copying.record_shard_failure import record_shard_failure
from fanout.facts import tuning
from fanout.facts.units import MIB
from fanout.model.document import Json
from fanout.model.outcome import Reason
from fanout.model.shard import Shard
from fanout.partition.partition_shards import partition_shards
from fanout.staging.pack_shard import pack_shard
from fanout.staging.unpack_shard import unpack_shard
from fanout.summary.summarise_transfer import summarise_transfer
from tests.remedies.lab import RETRY, Lab
from tests.remedies.table import follows
from tests.staging.test_two_mounts_faults import PACK_DAMAGES, break_packs, three_files
from tests.support.flow import World

ERROR: Json = {"Error": "Lambda.Unknown", "Cause": '{"errorMessage": "the function was killed", "errorType": "Killed"}'}


@follows(Reason.TRANSIENT)
def retry_what_passes(lab: Lab) -> None:
    for name in "abc":
        lab.write(name)
    write, left = os.pwrite, iter(range(2))

    def fail(*arguments: Any) -> int:
        if next(left, None) is None:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return write(*arguments)

    with patch.object(os, "pwrite", fail):
        lab.fails(Reason.TRANSIENT)
    lab.retry()
    assert lab.held() == lab.held("source")


@follows(Reason.UNEXPECTED, 0, "bucket mount")
def retry_what_is_unknown(lab: Lab) -> None:
    lab.write("f")
    lab.write("g")
    lab.buckets["source"].refuses["f"] = RuntimeError("a bug")
    lab.fails(Reason.UNEXPECTED)
    lab.buckets["source"].refuses.clear()
    lab.retry()
    assert lab.held() == lab.held("source")


@follows(Reason.SHARD_FAILED)
def retry_the_shard(lab: Lab) -> None:
    lab.write("f")
    lab.write("big", "x" * (2 * tuning.BLOCK_BYTES + 1))

    def killed(world: World) -> Json:
        world.list_all(world.plan({**lab.request, "limits": {"split_bytes": tuning.BLOCK_BYTES}}))
        partition_shards(world.context())
        for row in world.ledger.read_json("shards.json"):
            record_shard_failure(convert(row["shard"], Shard), ERROR, world.context())
        world.finish_all()
        return world.end()

    lab.fails(Reason.SHARD_FAILED, during=killed)
    lab.retry()
    assert lab.held() == lab.held("source")


def _slow(lab: Lab) -> None:
    lab.write("huge", "x" * (9 * MIB))

    def slowly(world: World) -> Json:
        world.list_all(world.plan(lab.request))
        partition_shards(world.context())
        world.clock.step, world.remaining_seconds = 0.8, 5.6
        world.copy_listed("shards.json")
        world.clock.step, world.remaining_seconds = 0.0, 900.0
        world.finish_all()
        return world.end()

    lab.fails(Reason.OUT_OF_TIME, during=slowly)


@follows(Reason.OUT_OF_TIME, 0, "bucket mount")
def a_faster_function(lab: Lab) -> None:
    _slow(lab)
    lab.retry()
    assert lab.held() == lab.held("source")


@follows(Reason.OUT_OF_TIME, 1, "bucket mount")
def parts_of_the_file(lab: Lab) -> None:
    _slow(lab)
    lab.buckets["source"].remove("huge")
    for part in range(9):
        lab.write(f"huge-{part}", "x" * MIB)
    lab.start()
    assert lab.held() == lab.held("source")


@follows(Reason.NOT_ATTEMPTED)
def start_it_again(lab: Lab) -> None:
    lab.write("f")

    def broken_off(world: World) -> Json:
        world.list_all(world.plan(lab.request))
        summarise_transfer(ERROR, world.context())
        summary: Json = world.ledger.read_json("summary.json")
        return summary

    lab.fails(Reason.NOT_ATTEMPTED, during=broken_off)
    lab.start()
    assert lab.held() == {"f": "content"}


@follows(Reason.STAGED_BROKEN)
def nobody_else_writes_there(lab: Lab) -> None:
    mounts, shard, contents = three_files(lab.mount)
    for _ in range(3):
        pack_shard(shard, mounts.source())
        break_packs(mounts, PACK_DAMAGES["flipped"])
        unpack_shard(shard, mounts.destination())
    mounts.end()
    assert set(mounts.failures().values()) == {Reason.STAGED_BROKEN.value}
    again = mounts.next_run("run-2")
    lab.acts.append(RETRY)
    assert again.run({"resume_from": "run-1"})["status"] == "SUCCEEDED"
    assert {name: (mounts.root / name).read_text() for name in contents} == contents
