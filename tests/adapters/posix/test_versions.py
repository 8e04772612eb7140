"""Versions below a mount: what stands in their place, whose they are, and functions that wake up late."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from fanout.adapters.posix.publishing.versions import PosixVersions
from fanout.adapters.posix.tree import PosixTree
from fanout.model.deadline import NEVER
from fanout.model.errors import InvalidRequest, Superseded, Transient
from fanout.ports.turns import Fence
from tests.adapters.posix.versions import tree_of
from tests.support.mounts import noted


def versions_of(mount: Path, run_id: str) -> PosixVersions:
    return tree_of(mount, run_id).versions("current")


def published(mount: Path, run_id: str) -> PosixVersions:
    versions = versions_of(mount, run_id)
    versions.begin()
    versions.note(run_id.encode())
    versions.switch()
    return versions


def names(mount: Path) -> list[str]:
    return sorted(name for name in os.listdir(mount / "site/versions") if not name.startswith(".fanout-staging-"))


def test_a_version_is_begun_noted_and_switched_to(tmp_path: Path) -> None:
    versions = versions_of(tmp_path, "v1")
    assert (versions.published(), versions.noted(), versions.held()) == ("", {}, False)
    versions.begin()
    (tmp_path / "site/versions/v1/f").touch()
    assert (versions.unfinished(), versions.held()) == (["v1"], True)
    versions.note(b"whole")
    assert (versions.unfinished(), dict(versions.noted())) == ([], {"v1": b"whole"})
    versions.switch()
    versions.switch()
    assert (versions.published(), os.readlink(tmp_path / "site/current")) == ("v1", "versions/v1")
    assert names(tmp_path) == [".published-v1", "v1"]


def test_the_owner_is_the_first_that_claims(tmp_path: Path) -> None:
    assert versions_of(tmp_path, "v1").claim(b"mine") == b"mine"
    assert versions_of(tmp_path, "v2").claim(b"other") == b"mine"


def test_a_version_goes_with_its_notes_and_the_published_one_and_what_no_run_began_stay(tmp_path: Path) -> None:
    (tmp_path / "site/versions/of-somebody").mkdir(parents=True)
    published(tmp_path, "v1")
    (tmp_path / "site/versions/v1/deep/down").mkdir(parents=True)
    (tmp_path / "site/versions/v1/deep/down/f").write_text("f")
    versions = published(tmp_path, "v2")
    assert versions.unfinished() == []
    versions.retire("v2")
    versions.retire("v1")
    gone = [name for name in names(tmp_path) if name.startswith(".removed-v1-")]
    assert (len(gone), sorted(versions.noted())) == (1, ["v2"])
    assert versions.remove_retired(NEVER) == (True, ())
    assert names(tmp_path) == [".published-v2", "of-somebody", "v2"]


def test_a_version_that_an_earlier_removal_left_in_part_does_not_stand_in_the_way(tmp_path: Path) -> None:
    for name in ("v1", ".removed-v1", ".removed-v1-0"):
        (tmp_path / "site/versions" / name).mkdir(parents=True)
        (tmp_path / "site/versions" / name / "f").write_text("f")
    versions = published(tmp_path, "v2")
    versions.retire("v1")
    assert versions.remove_retired(NEVER) == (True, ())
    assert names(tmp_path) == [".published-v2", "v2"]


def _link_out(mount: Path) -> None:
    (mount / "site").mkdir()
    (mount / "out").mkdir()
    (mount / "site/versions").symlink_to(mount / "out")


def _file(mount: Path) -> None:
    (mount / "site").mkdir()
    (mount / "site/versions").write_text("somebody's")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            _link_out,
            r"^destination: a directory of the path is a symlink: site/versions; move that away, or name",
        ),
        (_file, r"^destination: /site/versions is no directory; move that away, or name another destination"),
    ],
)
def test_something_else_in_the_place_of_the_versions_is_refused_and_left(
    tmp_path: Path, make: object, message: str
) -> None:
    assert callable(make)
    make(tmp_path)
    tree = PosixTree(tmp_path, "site/versions/v1", "v1", "attempt", stages_at="site/versions/")
    for ask in (tree.versions("current").held, tree.versions("current").noted):
        with pytest.raises(InvalidRequest, match=message):
            ask()
    assert not (tmp_path / "out").exists() or not os.listdir(tmp_path / "out")


@pytest.mark.parametrize("target", ["../elsewhere", "/etc", "versions/../..", "versions/", "versions/.v1", "v1"])
def test_a_link_to_anything_but_a_version_is_not_taken_over(tmp_path: Path, target: str) -> None:
    versions = versions_of(tmp_path, "v2")
    (tmp_path / "site/current").symlink_to(target)
    for ask in (versions.published, versions.switch):
        with pytest.raises(InvalidRequest, match=r"publish\.link: /site/current leads to .*, which is no version of"):
            ask()
    assert os.readlink(tmp_path / "site/current") == target


@pytest.mark.parametrize("step", ["note", "switch", "begin", "retire"])
def test_a_function_that_was_frozen_before_its_step_changes_nothing_after_a_later_run_began(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    """The later run fences it at the worst moment: when it has looked, just before it renames."""
    published(tmp_path, "v0")
    published(tmp_path, "v1")
    old, later = versions_of(tmp_path, "v2"), tree_of(tmp_path, "v3")
    staging = tmp_path / "site/versions/.fanout-staging-v2"
    rename, held = os.rename, list[str]()

    def frozen(source: str, target: str, **places: int) -> None:
        if not held:
            held.append(source)
            assert later.fence([Fence("site/versions/", "v2")], tuple, made_by=noted(staging)).whole
        rename(source, target, **places)

    monkeypatch.setattr(os, "rename", frozen)
    steps: dict[str, Callable[[], object]] = {
        "note": lambda: old.note(b"late"),
        "switch": old.switch,
        "begin": old.begin,
        "retire": lambda: old.retire("v0"),
    }
    with pytest.raises(Superseded):
        steps[step]()
    assert held
    monkeypatch.undo()
    assert names(tmp_path) == [".published-v0", ".published-v1", "v0", "v1", "v2", "v3"]
    assert os.readlink(tmp_path / "site/current") == "versions/v1"


def test_a_full_disk_leaves_link_and_notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    published(tmp_path, "v1")
    versions = versions_of(tmp_path, "v2")

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    asked: list[tuple[str, Callable[[], object]]] = [
        ("write", lambda: versions.note(b"whole")),
        ("symlink", versions.switch),
    ]
    for call, ask in asked:
        with monkeypatch.context() as patch:
            patch.setattr(os, call, full)
            with pytest.raises(Transient, match="No space left on device"):
                ask()
    assert (versions.published(), sorted(versions.noted())) == ("v1", ["v1"])
    versions.switch()
    assert versions.published() == "v2"
