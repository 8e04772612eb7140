"""An entry whose listing says a problem has that as its outcome."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from fanout.model.columns import Listed
from fanout.model.entry import Entry, Kind
from fanout.model.outcome import Reason
from fanout.model.segment import Prunes, Segment, no_pruning
from tests.support.flow import World
from tests.support.memory import MemoryTree


class Followed(MemoryTree):
    """Lists each symlink as one that leads nowhere."""

    def list(self, segment: Segment, prunes: Prunes = no_pruning) -> Iterator[Entry]:
        for entry in super().list(segment, prunes):
            yield replace(entry, problem=Reason.LINK_LOOP) if entry.kind is Kind.SYMLINK else entry

    def list_columns(self, segment: Segment, prunes: Prunes = no_pruning) -> Iterator[Listed]:
        return self.list(segment, prunes)


def test_it_is_counted_and_named() -> None:
    source = Followed()
    world = World(source=source, destination=MemoryTree())
    source.put("file", Kind.FILE, b"x")
    source.put("link", Kind.SYMLINK, b"link")
    summary = world.run({"source": "efs:///tree", "destination": "efs:///copy", "symlinks": "follow"})
    assert (summary["balanced"], summary["totals"]["listed"]["entries"]) == (True, 2)
    assert summary["totals"]["copied"]["entries"] == 1
    [row] = world.ledger.read_rows("failures.jsonl")
    assert (row["path"], row["reason"]) == ("link", Reason.LINK_LOOP.value)
