"""What a version gets reaches the record, however many processes make it."""

from __future__ import annotations

import stat
from functools import partial
from pathlib import Path

import pytest

from fanout.adapters.posix.tree import PosixTree
from fanout.copying.copier import Copier
from fanout.copying.forked_copier import CopiesEntries, ForkedCopier
from fanout.model.deadline import NEVER
from fanout.model.entry import Kind
from fanout.model.outcome import Result
from fanout.model.segment import Segment
from tests.support.crew import a_crew
from tests.support.memory import MemoryTree
from tests.support.mounts import writable

NAMES = [f"d/{number}" for number in range(40)]


@pytest.mark.parametrize("processes", [1, 3])
@pytest.mark.parametrize("stages_at", ["versions/", None])
def test_a_version_records_what_it_got(tmp_path: Path, processes: int, stages_at: str | None) -> None:
    source = MemoryTree()
    for path in NAMES:
        source.put(path, Kind.FILE, path.encode())
    entries = list(enumerate(source.list(Segment("", ""))))
    version = writable(PosixTree(tmp_path, "versions/v1", "v1", "n", stages_at=stages_at))
    make = partial(Copier, source, version, NEVER)
    with a_crew() as crew:
        copier: CopiesEntries = make() if processes == 1 else ForkedCopier(crew, make, processes)
        outcomes = [outcome.result for _, outcome in copier.copy_all(entries, 6)]
    assert outcomes == [Result.COPIED] * len(NAMES)
    made = copier.take_made()
    assert sorted(one.path for one in made) == (sorted(NAMES) if stages_at else [])
    assert all((stat.S_IMODE(one.mode), one.size) == (0o644, len(one.path)) for one in made)
    assert list(copier.take_made()) == []
