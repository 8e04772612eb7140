"""One mount in which a directory is there a second time, as by a bind mount: the ends of a run are still told apart."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from fanout.model.document import Json
from fanout.model.errors import InvalidRequest
from tests.support.flow import World
from tests.support.mounts import REQUEST, files, fill, world_of

Bind = Callable[[str, str], None]


@pytest.fixture
def mount(tmp_path: Path) -> Path:
    fill(tmp_path, "a", "d/b")
    (tmp_path / "out").mkdir()
    # With an entry of the source, so that a sync's guard lets its extras go.
    (tmp_path / "out/a").write_text("another one")
    return tmp_path


@pytest.fixture
def bind(mount: Path) -> Iterator[Bind]:
    """Mounts a directory of the mount a second time; only root may."""
    bound: list[Path] = []

    def again(of: str, at: str) -> None:
        (mount / at).mkdir(parents=True, exist_ok=True)
        done = subprocess.run(["mount", "--bind", mount / of, mount / at], check=False, capture_output=True)
        if done.returncode:
            pytest.skip("this user mounts nothing")
        bound.append(mount / at)

    yield again
    for one in bound:
        subprocess.run(["umount", "--lazy", one], check=True)


def ran(world: World, mode: str) -> Json:
    request: Json = {**REQUEST, "mode": mode}
    if mode == "sync":
        request["delete_guard"] = {"max_percent": 100}
    summary: Json = world.run(request)
    return summary


@pytest.mark.parametrize("mode", ["copy", "sync", "move", "verify"])
@pytest.mark.parametrize(
    ("of", "at", "seen"),
    [
        ("in", "out/b", "efs://data/in is seen as efs://data/out/b/"),
        ("in", "out/deep/er/b", "efs://data/in is seen as efs://data/out/deep/er/b/"),
        ("out", "in/b", "efs://data/out is seen as efs://data/in/b/"),
        ("in", "out", "efs://data/out is seen as efs://data/in/"),
        ("in/d", "out", "efs://data/out is seen as efs://data/in/d/"),
    ],
)
def test_an_end_that_is_there_again_in_the_other_is_refused(
    mount: Path, bind: Bind, of: str, at: str, seen: str, mode: str
) -> None:
    bind(of, at)
    before = files(mount)
    with pytest.raises(InvalidRequest, match=f"^destination: .*{seen}"):
        ran(world_of(mount), mode)
    assert files(mount) == before


@pytest.mark.parametrize("field", ["source", "destination"])
@pytest.mark.parametrize("mode", ["copy", "sync", "move"])
def test_a_directory_with_the_inode_of_the_other_root_is_not_entered(mount: Path, field: str, mode: str) -> None:
    """As a bind mount looks, for those who may not make one."""
    world = world_of(mount)
    there = mount / {"source": "out", "destination": "in"}[field] / "same"
    there.mkdir()
    (there / "x").write_text("kept")
    os.utime(there)
    like = str(there.stat().st_ino)
    getattr(world, field).identity = lambda: like
    before = files(mount)
    with pytest.raises(InvalidRequest, match=f"efs://data/{'in' if field == 'source' else 'out'} is seen as"):
        ran(world, mode)
    assert files(mount) == before


@pytest.mark.parametrize("mode", ["copy", "sync", "move"])
def test_what_is_there_again_beside_both_ends_is_in_no_way(mount: Path, bind: Bind, mode: str) -> None:
    bind("in/d", "beside")
    assert ran(world_of(mount), mode)["status"] == "SUCCEEDED"
