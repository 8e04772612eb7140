"""Entries of a version that are linked to what another one holds: how their files are looked up."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from fanout.adapters.posix.paths.directories import Directories
from fanout.adapters.posix.publishing import linking
from fanout.adapters.posix.publishing.linking import Linking
from fanout.model.entry import Entry, Kind

MANY = 20


@pytest.fixture
def mount(tmp_path: Path) -> Path:
    for number in range(MANY):
        path = tmp_path / f"v1/d/{number}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("text")
    (tmp_path / "v2").mkdir()
    return tmp_path


def entry(mount: Path, path: str) -> Entry:
    found = (mount / "v1" / path).stat()
    return Entry(path, Kind.FILE, found.st_size, found.st_mtime_ns)


@pytest.mark.parametrize(("together", "reads"), [(MANY, 1), (2, 0)])
def test_the_names_of_a_directory_are_read_once_and_only_for_many(
    mount: Path, together: int, reads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[int] = []
    scandir = os.scandir

    def counted(directory: int) -> Any:
        read.append(directory)
        return scandir(directory)

    monkeypatch.setattr(os, "scandir", counted)
    links = Linking(Directories(str(mount)), "v2/")
    for number in range(MANY):
        assert links.link_from(entry(mount, f"d/{number}"), "v1/", together)
    assert len(read) == reads
    assert all((mount / f"v1/d/{number}").samefile(mount / f"v2/d/{number}") for number in range(MANY))


def test_an_entry_beyond_the_names_that_are_read_is_linked_too(mount: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linking, "_NAMES_READ", 1)
    links = Linking(Directories(str(mount)), "v2/")
    assert all(links.link_from(entry(mount, f"d/{number}"), "v1/", MANY) for number in range(MANY))
    assert len(os.listdir(mount / "v2/d")) == MANY


def test_what_is_not_there_or_differs_is_not_linked_however_many_are(mount: Path) -> None:
    links = Linking(Directories(str(mount)), "v2/")
    assert not links.link_from(Entry("d/none", Kind.FILE, 4, 1), "v1/", MANY)
    (mount / "v1/d/0").write_text("longer text")
    assert not links.link_from(Entry("d/0", Kind.FILE, 4, (mount / "v1/d/0").stat().st_mtime_ns), "v1/", MANY)
    assert not (mount / "v2/d/0").exists()
