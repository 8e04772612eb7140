"""A crew in a test, whose other threads do not keep it from beginning one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from fanout.runtime.bootstrap import prepare_processes
from fanout.work.processes.crew import Crew


@contextmanager
def a_crew() -> Iterator[Crew]:
    """The crew of a test; when it ends, none of its processes is left."""
    with closing(Crew(prepare_processes)) as crew:
        yield crew
        left = processes_of(crew)
    assert not left, left


def processes_of(crew: Crew) -> list[int]:
    """The processes that the first child has forked and that have not been waited for."""
    return [int(one) for one in Path(f"/proc/{crew.first_child}/task/{crew.first_child}/children").read_text().split()]
