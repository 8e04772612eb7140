"""Objects to and from S3 by several processes of one function, after the function has used its connections."""

from __future__ import annotations

import os
import signal
from collections.abc import Generator
from functools import partial
from pathlib import Path

import pytest

from fanout.adapters.posix.tree import PosixTree
from fanout.adapters.s3.client.client import S3Client
from fanout.adapters.s3.tree import S3Tree
from fanout.copying.copier import Copier
from fanout.copying.forked_copier import ForkedCopier
from fanout.model.checksum import NO_BYTES, crc64nvme
from fanout.model.deadline import NEVER
from fanout.model.entry import Entry
from fanout.model.entry_outcome import Outcome
from fanout.model.errors import Transient
from fanout.model.outcome import Result
from fanout.model.segment import Segment
from fanout.ports.tree import Tree
from tests.support.crew import a_crew
from tests.support.mounts import writable

NAMES = [f"d{number % 7}/f{number}" for number in range(300)]
CONTENT = {name: name.encode() * (number % 50) for number, name in enumerate(NAMES)}


def copied(source: Tree, destination: Tree, processes: int = 3) -> dict[str, Outcome]:
    entries = list(source.list(Segment("all")))
    with a_crew() as crew:
        copier = ForkedCopier(crew, partial(Copier, source, destination, NEVER), processes)
        found = {entries[index].path: outcome for index, outcome in copier.copy_all(list(enumerate(entries)), 12)}
    assert not copier.unfinished
    return found


def test_each_process_has_connections_of_its_own(client: S3Client, bucket: str, tmp_path: Path) -> None:
    for name, data in CONTENT.items():
        client.put_object(bucket, f"in/{name}", data, {}, crc64nvme=crc64nvme(data, NO_BYTES))
    down = writable(PosixTree(tmp_path, "out", "run", "one"))
    outcomes = copied(S3Tree(client, bucket, "in/"), down)
    assert {outcome.result for outcome in outcomes.values()} == {Result.COPIED}
    assert {name: (tmp_path / "out" / name).read_bytes() for name in NAMES} == CONTENT
    # The connection that listed is this process's still.
    assert client.list_objects_v2(bucket, prefix="in/", max_keys=1).keys
    files = PosixTree(tmp_path, "out", "run", "two")
    up = S3Tree(client, bucket, "back/")
    back = copied(files, up)
    assert {outcome.result for outcome in back.values()} == {Result.COPIED}
    found = {entry.path: entry.size for entry in up.list(Segment("all")) if not entry.path.endswith("/")}
    assert found == {name: len(data) for name, data in CONTENT.items()}
    assert back["d1/f1"].crc64nvme == outcomes["d1/f1"].crc64nvme


class Dying(Copier):
    """Its process is killed at the tenth entry, as one is that takes too much memory."""

    def _outcome(self, entry: Entry) -> Generator[None, None, Outcome]:
        self.begun: int = getattr(self, "begun", 0) + 1
        if self.begun == 10:
            os.kill(os.getpid(), signal.SIGKILL)
        return (yield from super()._outcome(entry))


def test_a_process_that_is_killed_fails_the_task_and_halves_no_file(
    client: S3Client, bucket: str, tmp_path: Path
) -> None:
    for name, data in CONTENT.items():
        client.put_object(bucket, f"in/{name}", data, {}, crc64nvme=crc64nvme(data, NO_BYTES))
    source, destination = S3Tree(client, bucket, "in/"), writable(PosixTree(tmp_path, "out", "run", "one"))
    entries = list(enumerate(source.list(Segment("all"))))
    with a_crew() as crew, pytest.raises(Transient, match="ended with -9"):
        list(ForkedCopier(crew, partial(Dying, source, destination, NEVER), 2).copy_all(entries, 4))
    there = (path for path in tmp_path.glob("out/d*/f*"))
    assert all(path.read_bytes() == CONTENT[str(path.relative_to(tmp_path / "out"))] for path in there)
    outcomes = copied(source, PosixTree(tmp_path, "out", "run", "two"))
    assert {outcome.result for outcome in outcomes.values()} == {Result.COPIED}
