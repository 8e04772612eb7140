"""A directory of the destination that somebody renames away, with another one put in its place, while files go into it.

``tests/nfs/inside/test_hidden_writes.py`` has it with another NFS client.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, nullcontext
from pathlib import Path

import pytest

from fanout.model.outcome import Reason
from tests.support.hidden_writes import COPY, Clients, fill, watched
from tests.support.mounts import reasons
from tests.support.nfs_client import NfsClient

MOMENTS = ["FinishTree", "ShardCopied"]


def replaced(root: Path) -> None:
    (root / "out/d").rename(root / "moved")
    (root / "out/d").mkdir()


@pytest.fixture(params=["local", "NFS"])
def clients(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Clients]:
    """A file system that shows at once what others do, and one that does so after a while."""
    with ExitStack() as stack:
        client = stack.enter_context(NfsClient(tmp_path).mounted()) if request.param == "NFS" else None
        yield Clients(tmp_path, tmp_path, client.elsewhere if client else nullcontext)


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_run_whose_files_are_not_under_their_names_does_not_succeed(
    clients: Clients, tmp_path: Path, moment: str
) -> None:
    fill(clients)
    world = watched(clients, moment, replaced)
    assert world.run(COPY)["status"] == "FAILED_WITH_ITEMS"
    assert reasons(world) == {"d/": Reason.DESTINATION_CHANGED}
    assert watched(clients, run_id="run-2").run(COPY)["status"] == "SUCCEEDED"
    assert len(list((tmp_path / "out/d").iterdir())) == 6


def test_a_retry_puts_the_files_into_the_directory_that_is_there(tmp_path: Path) -> None:
    """A directory that somebody replaced between two runs is no fault of the second one."""
    clients = Clients(tmp_path, tmp_path)
    fill(clients)
    first = watched(clients, "FinishTree", replaced)
    first.run(COPY)
    second = watched(clients, run_id="run-2")
    second.store = first.store
    assert second.run({"resume_from": "run-1"})["status"] == "SUCCEEDED"
    assert len(list((tmp_path / "out/d").iterdir())) == 6
