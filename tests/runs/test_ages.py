"""``older_than`` and ``newer_than``: the files of an age when the run begins, in every mode and where it is resumed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fanout.adapters.posix.tree import PosixTree
from fanout.listing.index.copied_index import EARLIER, transfer_digest
from fanout.model.entry import Attributes, Kind
from fanout.model.errors import InvalidRequest
from fanout.turns.write_turn import writer_of
from tests.support.flow import World
from tests.support.memory import MemoryTree
from tests.support.resumed import contents

DAY = 86_400
NS = 1_000_000_000
ENDS = [
    {"source": "s3://a-bucket/tree/", "destination": "efs:///copy"},
    {"source": "efs:///tree", "destination": "s3://a-bucket/copy/"},
    {"source": "efs:///tree", "destination": "efs:///copy"},
    {"source": "s3://a-bucket/tree/", "destination": "s3://a-bucket/copy/"},
]
BETWEEN = {"older_than": "2d", "newer_than": "5d"}


def put(tree: Any, path: str, days: int, world: World) -> None:
    """A file that is so many days old when the run begins."""
    assert isinstance(tree, MemoryTree)
    tree.put(path, Kind.FILE, path.encode(), Attributes(mtime_ns=int((world.clock.time - days * DAY) * NS)))


def filled() -> World:
    world = World()
    for days in range(8):
        put(world.source, f"d/{days}", days, world)
    return world


def names(tree: Any) -> set[str]:
    return {path for path in contents(tree) if not path.endswith("/")}


@pytest.mark.parametrize("ends", ENDS)
@pytest.mark.parametrize(
    ("ages", "taken"),
    [
        ({"older_than": "2d"}, {3, 4, 5, 6, 7}),
        ({"newer_than": "48h"}, {0, 1, 2}),
        (BETWEEN, {3, 4, 5}),
        ({"older_than": "2d", "modified_after": "1970-01-06T13:46:40Z"}, {3, 4, 5, 6, 7} - {7}),
    ],
)
def test_ages_choose_files(ends: dict[str, str], ages: dict[str, str], taken: set[int]) -> None:
    world = filled()
    assert world.run({**ends, **ages})["status"] == "SUCCEEDED"
    assert names(world.destination) == {f"d/{days}" for days in taken}


def test_ages_choose_files_of_a_mount(tmp_path: Path) -> None:
    world = World()
    for name in ("from", "to"):
        (tmp_path / name).mkdir()
    trees = [PosixTree(tmp_path, name, "run-1", "n") for name in ("from", "to")]
    world.source, world.destination = trees
    world.clock.time = (tmp_path / "from").stat().st_mtime
    (tmp_path / "from/young").write_text("young")
    assert world.run({"source": "efs:///from", "destination": "efs:///to", "older_than": "1h"})["status"] == "SUCCEEDED"
    assert not (tmp_path / "to/young").exists()
    later = world.next_run("run-2")
    later.source, later.destination = (PosixTree(tmp_path, name, "run-2", "n") for name in ("from", "to"))
    later.clock.time += 7200
    assert later.run({"source": "efs:///from", "destination": "efs:///to", "older_than": "1h"})["status"] == "SUCCEEDED"
    assert (tmp_path / "to/young").read_text() == "young"


@pytest.mark.parametrize("ends", ENDS[:3])
def test_a_sync_deletes_only_what_has_the_age(ends: dict[str, str]) -> None:
    world = filled()
    for path, days in (("d/4", 4), ("extra/1", 1), ("extra/4", 4), ("extra/9", 9)):
        put(world.destination, path, days, world)
    request = {**ends, **BETWEEN, "mode": "sync", "delete_guard": {"max_percent": 100}}
    summary = world.run(request)
    assert summary["totals"]["deleted"]["entries"] == 1
    assert names(world.destination) == {"d/3", "d/4", "d/5", "extra/1", "extra/9"}
    put(world.destination, "d/1", 1, world)
    assert world.next_run("run-2").run({**ends, **BETWEEN, "mode": "verify"})["status"] == "SUCCEEDED"


def test_every_function_of_a_run_uses_the_moment_of_its_beginning() -> None:
    world = filled()
    state = world.plan({**ENDS[0], **BETWEEN})
    world.clock.time += 3 * DAY
    world.list_all(state)
    world.copy_all()
    assert names(world.destination) == {"d/3", "d/4", "d/5"}
    assert world.ledger.read_plan().request.filters.ages_from_ns == int((world.clock.time - 3 * DAY) * NS)


def test_a_resumed_run_keeps_the_moment_of_the_first_one() -> None:
    world = filled()
    world.plan({**ENDS[0], **BETWEEN})  # stopped before anything was listed
    moment = world.ledger.read_plan().request.filters.ages_from_ns
    for run_id in ("run-2", "run-3"):
        world.clock.time += 3 * DAY
        following = world.next_run(run_id)
        summary = following.run({"resume_from": world.run_id})
        assert following.ledger.read_plan().request.filters.ages_from_ns == moment
        assert summary["status"] == "SUCCEEDED"
        assert names(world.destination) == {"d/3", "d/4", "d/5"}
        world = following


def test_a_resumed_run_cannot_bring_an_age() -> None:
    world = filled()
    world.plan(ENDS[0])
    world.run_id = "run-2"
    with pytest.raises(InvalidRequest, match=r"filters: .* is not the .* of run-1"):
        world.plan({**ENDS[0], "older_than": "1d", "resume_from": "run-1"})


def test_two_nights_are_one_transfer_and_share_their_index() -> None:
    world = filled()
    request = {**ENDS[1], "older_than": "2d"}
    assert world.run(request)["totals"]["copied"]["entries"] == 5
    first = world.ledger.read_plan()
    following = world.next_run("run-2")
    following.clock.time += DAY
    summary = following.run(request)
    second = following.ledger.read_plan()
    assert first.request != second.request
    assert transfer_digest(first) == transfer_digest(second)
    end = first.request.destination
    assert writer_of(first, end, "", 0.0).transfer == writer_of(second, end, "", 0.0).transfer
    assert (summary["totals"]["copied"]["entries"], summary["totals"]["unchanged"]["entries"]) == (1, 5)
    assert following.ledger.read(EARLIER).run == "run-1"
