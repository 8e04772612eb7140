"""Finding files of the version before: one by one, until that waits."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fanout.adapters.posix.publishing.linking import VersionNames
from fanout.facts import tuning

FILES = 40
AT_ONCE = -1.0  # any look-up counts as one that waited


@pytest.fixture
def directory(tmp_path: Path) -> Iterator[int]:
    for number in range(FILES):
        (tmp_path / f"f{number:02d}").write_text("x" * number)
    descriptor = os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)
    yield descriptor
    os.close(descriptor)


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names that were read of directories."""
    names: list[str] = []
    scandir = os.scandir

    class Noting:
        def __init__(self, directory: int) -> None:
            self._entries = scandir(directory)

        def __enter__(self) -> Iterator[os.DirEntry[str]]:
            return self._noted()

        def __exit__(self, *_: object) -> None:
            self._entries.close()

        def _noted(self) -> Iterator[os.DirEntry[str]]:
            for entry in self._entries:
                names.append(entry.name)
                yield entry

    monkeypatch.setattr(os, "scandir", Noting)
    return names


def found(names: VersionNames, directory: int, numbers: range, path: str = "versions/v1/") -> list[Any]:
    """The size of each of these files."""
    looked_at = [names.find(path, directory, f"f{number:02d}") for number in numbers]
    return [one and one.st_size for one in looked_at]


def test_nothing_is_read_where_look_ups_do_not_wait(directory: int, read: list[str]) -> None:
    names = VersionNames()
    assert found(names, directory, range(FILES)) == list(range(FILES))
    assert names.find("versions/v1/", directory, "missing") is None
    assert read == []


def test_the_second_look_up_that_waits_has_the_directory_read_once(
    directory: int, read: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tuning, "DIRECTORY_SLOW_SECONDS", AT_ONCE)
    names = VersionNames()
    assert found(names, directory, range(1)) == [0]
    assert found(names, directory, range(1), "versions/v1/elsewhere/") == [0]
    assert read == []
    assert found(names, directory, range(1, FILES)) == list(range(1, FILES))
    assert sorted(read) == [f"f{number:02d}" for number in range(FILES)]
    assert len(os.listdir(directory)) == FILES  # from its beginning


def test_of_a_large_directory_a_part_is_read(directory: int, read: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tuning, "DIRECTORY_SLOW_SECONDS", AT_ONCE)
    monkeypatch.setattr(tuning, "NAMES_AT_ONCE", 10)
    names = VersionNames()
    assert found(names, directory, range(FILES)) == list(range(FILES))
    assert len(read) == 10
    assert len(os.listdir(directory)) == FILES
