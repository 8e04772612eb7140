"""Entries that a move leaves at the source: not copied, although the comparison found them equal.

| of an entry that was found equal                          | at the source                                      |
|-----------------------------------------------------------|----------------------------------------------------|
| the run copied it, or found it unchanged                  | goes                                               |
| the run failed to copy it, or rejected it                 | stays: what is there is not the run's             |
| it is a name of a file of which another name was not made | stays: a retry copies a file with all its names    |
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from fanout.facts import tuning
from fanout.ledger.ledger import Ledger
from fanout.model.entry import Entry
from fanout.model.entry_outcome import Outcome
from fanout.model.shard import Deletion
from fanout.shards.partitioned import NAME_SHARDS, links_of, shards_of
from fanout.verifying.moved import STAYS, write_deletion

# Chosen: paths that are held in memory at once, some 100 bytes each.
MOST_NOT_COPIED = 500_000


@dataclass
class NotCopied:
    """The paths of the entries that were not copied, and the files at the source that have such a name."""

    paths: set[str] = field(default_factory=set)
    files: set[str] = field(default_factory=set)
    entries: int = 0

    def add(self, outcome: Outcome, _phase: str) -> None:
        """Take an entry that failed or was rejected."""
        self.entries += 1
        if self.entries <= MOST_NOT_COPIED:
            self.paths.add(outcome.path)

    @property
    def problem(self) -> str:
        """Why nothing may be deleted: too many to tell what may go; empty if it may."""
        return "" if self.entries <= MOST_NOT_COPIED else f"over {MOST_NOT_COPIED:,} entries were not copied"

    def find_files(self, ledger: Ledger) -> None:
        """Find the files of which a name was not copied, in the ledger of the copy."""
        if self.paths:
            self.files |= {entry.inode for entry in _names(ledger) if entry.inode and entry.path in self.paths}

    def holds(self, entry: Entry) -> bool:
        """Whether an entry stays."""
        return entry.path in self.paths or (bool(entry.inode) and entry.inode in self.files)

    def apart(self, proven: Iterable[Deletion], ledger: Ledger) -> Iterator[Deletion]:
        """The shards of what goes, and those of what stays, which DeleteShard gives its outcomes."""
        stays: list[Entry] = []
        for one in proven:
            entries = list(ledger.read_shard(one.shard)) if self.paths else []
            left = [entry for entry in entries if self.holds(entry)]
            if not left:
                yield one
                continue
            stays += left
            going = [entry for entry in entries if not self.holds(entry)]
            if going:
                name = f"{one.shard.id.removeprefix('move-')}-copied"
                yield Deletion(write_deletion(name, going, ledger), one.directories)
        for number, some in enumerate(_cut(stays)):
            yield Deletion(write_deletion(f"{STAYS}{number:06d}", some, ledger), directories=False)


def _names(ledger: Ledger) -> Iterator[Entry]:
    """The names of files with several that the run was to make."""
    for shard in shards_of(ledger):
        if shard.id.startswith(NAME_SHARDS):
            yield from ledger.read_shard(shard)
    for links in links_of(ledger):
        yield from (entry for entry, _ in ledger.read_links(links.shard))


def _cut(entries: Sequence[Entry]) -> Iterator[Sequence[Entry]]:
    most = tuning.SHARD_ENTRIES
    return (entries[start : start + most] for start in range(0, len(entries), most))
