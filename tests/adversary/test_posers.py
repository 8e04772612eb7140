"""Directories of others under the names of probes' directories, over drawn steps; see ``posers``."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from fanout.adapters.posix.fencing import noted_removal
from fanout.adapters.posix.probe import probe_directory
from fanout.model.file_system import Staged
from tests.adversary.posers import Posers
from tests.support.long import drawn
from tests.support.nobody import open_directory

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs several users")


@pytest.fixture
def mount() -> Iterator[Path]:
    with open_directory() as path:
        yield path


@pytest.mark.parametrize("seed", drawn(list(range(200)), 25))
def test_a_probe_removes_what_probes_made_and_nothing_of_others(mount: Path, seed: int) -> None:
    posers = Posers(seed, mount)
    assert [one.text for one in posers.carry_out(4)] == [], posers.steps


def test_the_oracle_finds_a_product_that_goes_by_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe_directory, "against", lambda *_: "")
    noted = noted_removal.remove_noted

    def by_name(directories: object, place: str, name: str, _made: object) -> object:
        with directories.hold(place) as above:  # type: ignore[attr-defined]
            try:
                found = os.stat(name, dir_fd=above)
            except FileNotFoundError:
                return noted(directories, place, name, ())  # type: ignore[arg-type]
        return noted(directories, place, name, [Staged(str(found.st_ino), found.st_uid)])  # type: ignore[arg-type]

    monkeypatch.setattr(probe_directory, "remove_noted", by_name)
    for seed in range(20):
        with open_directory() as mount:
            first = next(Posers(seed, mount).carry_out(4), None)
        if first is not None:
            return
    pytest.fail("nothing was found")
