"""A run that is refused for its ends, or its backup, leaves nothing there."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from fanout.adapters.posix.tree import PosixTree
from fanout.model.errors import InvalidRequest
from fanout.planning.check_mount import check_mount
from fanout.ports.tree import Tree
from fanout.request.plan import Plan
from fanout.work.roots import keep_out
from tests.support.deployed import Break, DeployedSides
from tests.support.mounts import REQUEST, world_of


def alias(base: Path, destination: str, backup_to: str = "") -> DeployedSides:
    """Two mounts that show one directory."""
    (base / "data/src/d").mkdir(parents=True)
    (base / "data/src/d/f").write_text("content")
    (base / "archive").symlink_to("data")
    one = DeployedSides(
        source=PosixTree(base / "data", "src", "run-1", "s", "source"),
        destination=PosixTree(base / "archive", destination, "run-1", "d", backup_to=backup_to),
        mounts=("data", "archive"),
        base=base,
    )

    def another_function() -> None:
        one.destination = PosixTree(base / "archive", destination, "run-1", "f", backup_to=backup_to)

    one.breaks = [Break("FinishTree", act=another_function)]
    return one


def names(base: Path) -> list[str]:
    return sorted(str(path.relative_to(base)) for path in (base / "data").rglob("*"))


ALL = ["data/src", "data/src/d", "data/src/d/f"]
ENDS = {"source": "efs://data/src"}


@pytest.mark.parametrize("backup_to", ["src/bk/", "src/d/", "src/d/deep/er/"])
def test_a_backup_inside_the_source_is_refused_by_its_own_name(tmp_path: Path, backup_to: str) -> None:
    one = alias(tmp_path, "mir", backup_to)
    request = {**ENDS, "destination": "efs://archive/mir", "mode": "sync", "backup_to": f"efs://archive/{backup_to}"}
    summary = one.run({**request, "delete_guard": {"max_percent": 100}})
    assert summary["error"]["name"] == "InvalidRequest"
    assert summary["error"]["message"].startswith("backup_to: ")
    assert names(tmp_path) == ALL
    assert one.denied == []


@pytest.mark.parametrize("destination", ["src/new", "src/d/new", "src/d"])
def test_a_destination_inside_the_source_is_not_made(tmp_path: Path, destination: str) -> None:
    one = alias(tmp_path, destination)
    summary = one.run({**ENDS, "destination": f"efs://archive/{destination}"})
    assert summary["error"]["message"].startswith("destination: ")
    assert names(tmp_path) == ALL


@pytest.mark.parametrize("there", ["", "out"], ids=["for its source", "for its destination"])
def test_a_move_that_is_refused_leaves_nothing_at_its_source(tmp_path: Path, there: str) -> None:
    (tmp_path / "in").mkdir()
    if there:
        (tmp_path / "in/f").write_text("content")
        (tmp_path / there).write_text("a file and no directory")
    world = world_of(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    world.walk("PlanTransfer", {**REQUEST, "mode": "move", "allow_empty_source": False}, "CheckMount")

    def opened(end: str, path: str) -> Callable[[Plan], Tree]:
        """The trees of a function, which opens each anew and reads what its run noted of it."""
        return lambda plan: keep_out(end, PosixTree(tmp_path, path, plan.run_id, "n", end), plan, world.ledger)

    context = world.context().with_trees(opened("source", "in"), opened("destination", "out"))
    with pytest.raises(InvalidRequest, match="^destination: " if there else "^source: "):
        check_mount(context)
    assert sorted(tmp_path.rglob("*")) == before
