"""Looking up a path of a source: "nothing is there" is said only below directories that are still at their place."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from fanout.adapters.posix.paths.directories import KEPT_DIRECTORIES, Directories
from fanout.adapters.posix.paths.follow import find_destination, find_source
from fanout.model.errors import ItemError
from fanout.model.outcome import Reason
from tests.support.names import short_names


@pytest.fixture
def mount(tmp_path: Path) -> Path:
    (tmp_path / "in/a/b").mkdir(parents=True)
    (tmp_path / "in/a/b/f").write_text("f")
    return tmp_path


@pytest.fixture
def directories(mount: Path) -> Iterator[Directories]:
    made = Directories(str(mount))
    yield made
    made.close()


@pytest.mark.parametrize("path", ["x", "x/y/z", "a/x", "a/x/y", "a/b/x", "a/b/x/y/z"])
def test_what_is_not_there_is_nothing(directories: Directories, path: str) -> None:
    for _ in range(2):
        assert find_source(directories, "in/", path) is None
    found = find_source(directories, "in/", "a/b/f")
    assert found is not None and found.size == 1


@pytest.mark.parametrize(
    ("path", "nearest"), [("in/", "in/"), ("in/a/b/", "in/a/b/"), ("in/a/x/y/", "in/a/"), ("no/", ""), ("", "")]
)
def test_the_nearest_directory_is_the_deepest_that_is_there(directories: Directories, path: str, nearest: str) -> None:
    for _ in range(2):
        assert directories.nearest(path) == nearest


@pytest.mark.parametrize("path", ["name", "a/name", "name/x", "a/name/x/y"])
@pytest.mark.parametrize("find", [find_source, find_destination])
def test_what_no_name_can_be_is_nothing(
    directories: Directories, monkeypatch: pytest.MonkeyPatch, path: str, find: Callable[..., object]
) -> None:
    short_names(monkeypatch, "name")
    assert find(directories, "in/", path) is None


def test_the_nearest_directory_is_no_symlink_and_no_file(directories: Directories, mount: Path) -> None:
    (mount / "in/link").symlink_to("a")
    with pytest.raises(ItemError):
        directories.nearest("in/link/b/")
    with pytest.raises(NotADirectoryError):
        directories.nearest("in/a/b/f/x/")


@pytest.mark.parametrize("moved", ["in", "in/a", "in/a/b"])
@pytest.mark.parametrize("replaced", [True, False])
@pytest.mark.parametrize("path", ["a/b/x", "a/b/x/y"])
def test_a_directory_that_is_moved_away_says_nothing_of_what_was_in_it(
    directories: Directories, mount: Path, moved: str, replaced: bool, path: str
) -> None:
    with directories.hold("in/a/b/"):
        os.rename(mount / moved, mount / "elsewhere")
    if replaced:
        (mount / moved).mkdir()
    with pytest.raises(ItemError) as caught:
        find_source(directories, "in/", path)
    assert caught.value.reason is Reason.SOURCE_CHANGED


def test_a_root_that_is_gone_holds_nothing_that_can_be_missing(directories: Directories, mount: Path) -> None:
    os.rename(mount / "in", mount / "elsewhere")
    with pytest.raises(ItemError, match="not there any more"):
        find_source(directories, "in/", "a/b/x")


def test_a_directory_that_goes_between_the_two_looks_is_a_change(
    directories: Directories, mount: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = Directories.nearest

    def nearest(self: Directories, path: str) -> str:
        found = real(self, path)
        self.forget("")
        os.rename(mount / "in/a", mount / "elsewhere")
        return found

    monkeypatch.setattr(Directories, "nearest", nearest)
    with pytest.raises(ItemError) as caught:
        find_source(directories, "in/", "a/x/y")
    assert caught.value.reason is Reason.SOURCE_CHANGED


@pytest.mark.parametrize("depth", [10, 2 * KEPT_DIRECTORIES])
def test_a_deep_path_of_which_nothing_is_there_costs_no_call_a_level(
    directories: Directories, monkeypatch: pytest.MonkeyPatch, depth: int
) -> None:
    calls: Counter[str] = Counter()
    for name in ("open", "stat"):
        real = getattr(os, name)

        def counted(*arguments: Any, real: Any = real, name: str = name, **more: Any) -> Any:
            calls[name] += 1
            return real(*arguments, **more)

        monkeypatch.setattr(os, name, counted)
    assert find_source(directories, "in/", "x/" * depth + "y") is None
    assert calls["open"] <= 4 and calls["stat"] <= 3
