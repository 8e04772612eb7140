"""PaceCopy and EndPacing under the rights of their deployed role, beside a Map that copies for minutes."""

from __future__ import annotations

from copy import copy

import pytest

from fanout.ledger import keys
from fanout.ledger.documents import Moment
from fanout.model.entry import Kind
from fanout.model.errors import AccessDenied
from fanout.pacing.pace_copy import decisions, end_pacing, pace_copy
from fanout.partition.partition_shards import partition_shards
from fanout.work.context import Context
from tests.pacing.test_pace_copy import ARN, Maps, bursting
from tests.support.deployed import Deployed
from tests.support.deployed_runs import request, stack
from tests.support.flow import ManualClock
from tests.support.memory import MemoryTree

SLOW = {"shard_seconds": 0.1}


def under_its_role(one: Deployed, state: str) -> Context:
    """An attempt that reads and writes the work bucket as the function's role may."""
    inner = copy(one)
    inner.role = "PaceCopy"
    inner.store = inner.asking.store(one.plain)
    return inner.context(state)


def copying() -> tuple[Deployed, Maps]:
    """A run that begins to copy to a file system with few credits."""
    clock = ManualClock()
    one = stack("S3 to mount", clock=clock)
    one.meter, one.file_system_ids = bursting(clock.time, 0.2), {"data": "fs-1"}
    assert isinstance(one.source, MemoryTree)
    for number in range(100):
        one.source.put(f"f{number:03d}", Kind.FILE, bytes(100_000))
    one.list_all(one.plan(request("S3 to mount", "copy, verify none", limits=SLOW)))
    return one, Maps(clock, concurrency=partition_shards(one.context())["max_concurrency"])


def test_pacing_lacks_no_right_while_a_map_copies_and_after_it() -> None:
    one, maps = copying()
    one.remaining_seconds = 900
    assert pace_copy(ARN, under_its_role(one, "PaceCopy"), maps) == {"done": True}
    assert decisions(one.ledger)
    end_pacing(under_its_role(one, "EndPacing"))
    assert one.ledger.has(keys.COPIED)
    assert one.denied == []


def test_its_role_may_write_nothing_of_another_state() -> None:
    one, _ = copying()
    with pytest.raises(AccessDenied, match="role PaceCopy"):
        under_its_role(one, "PaceCopy").ledger.write(keys.FORECAST.of(Moment), Moment(0.0))
    assert [need.action for _, need in one.denied] == ["s3:PutObject"]
