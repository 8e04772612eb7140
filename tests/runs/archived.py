"""A run over archived objects, with a clock and an archive of its own."""

from __future__ import annotations

import itertools

from fanout.model.document import Json
from fanout.model.entry import Kind
from tests.support.archives import ArchivedTree, FakeArchive
from tests.support.flow import ManualClock, World
from tests.support.memory import MemoryTree

REQUEST: Json = {"source": "s3://a-bucket/tree/", "destination": "efs:///copy", "archived": "restore"}
HOUR = 3600.0


class Archived:
    """A world with two plain objects, and what is put into archives."""

    def __init__(self, takes: float = 0.9, **kinds: str) -> None:
        clock, changes = ManualClock(), itertools.count(1)
        self.archive = FakeArchive(clock, takes)
        self.tree = ArchivedTree(changes, self.archive)
        self.world = World(changes, self.tree, clock=clock, archive=self.archive)
        for name in ("a", "z"):
            self.tree.put(name, Kind.FILE, b"plain")
        for name, kind in kinds.items():
            self.tree.put_archived(name, name.encode(), kind)

    def run(self, **options: object) -> Json:
        return self.world.run({**REQUEST, **options})

    @property
    def copied(self) -> dict[str, bytes]:
        there = self.world.destination
        assert isinstance(there, MemoryTree)
        return {path: stored.data for path, stored in there.contents().items()}

    def failures(self, world: World | None = None) -> list[tuple[str, str]]:
        ledger = (world or self.world).ledger
        return [(row["path"], row["reason"]) for row in ledger.read_rows("failures.jsonl")]
