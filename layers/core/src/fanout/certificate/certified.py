"""The sums of both trees that each attempt of a verification leaves in its record.

Two attempts at one time may overlap. Then the sums cannot be added up, and the rows of outcomes are read instead.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from fanout.certificate.tree_digest import TreeDigest
from fanout.ledger.ledger import Ledger
from fanout.model.books import Books, Count
from fanout.model.entry import Entry, Kind
from fanout.model.entry_outcome import Outcome
from fanout.model.outcome import Result
from fanout.model.shard import Shard
from fanout.shards.found_sums import Certified
from fanout.shards.record import Counted, add_up, records


class Proof(Struct, frozen=True):
    """A file or symlink that both ends hold alike: its paths, kind, size, and the SHA-256 of its content at each."""

    entry: Entry
    kind: Kind
    sha256: str

    def add_to(self, sums: TreeSums) -> None:
        """Count it in both trees."""
        size = self.entry.size
        sums.source.add(self.kind, self.entry.path, size, self.sha256)
        sums.destination.add(self.kind, self.entry.placed.path, size, self.sha256)


class TreeSums:
    """The digests of both trees, while they are added up, and the equal directories, which have none."""

    def __init__(self) -> None:
        self.source, self.destination = TreeDigest(), TreeDigest()
        self.directories = 0

    def merge(self, other: Certified) -> None:
        """Add the sums of an attempt. Raises ``ValueError`` for what is no sum."""
        self.source.merge(other.source)
        self.destination.merge(other.destination)
        self.directories += other.directories

    def certified(self) -> Certified:
        return Certified(self.source.sum(), self.destination.sum(), self.directories)

    def imbalance(self, books: Books) -> str:
        """The imbalance of the books of the comparison and these sums, as a clause; empty where they balance.

        Each listed entry was found equal, and is in both sums or is a directory, or it was left out for a reason.
        """
        equal, left_out = books.by_result[Result.UNCHANGED], books.by_result[Result.SKIPPED]
        if books.listed != equal + left_out:
            return f"{_said(equal)} equal and {_said(left_out)} left out, of {_said(books.listed)} listed"
        for name, tree in (("source", self.source), ("destination", self.destination)):
            summed = Count(tree.entries + self.directories, tree.bytes)
            if summed != equal:
                return f"{_said(summed)} in the sum of the {name}, of {_said(equal)} equal"
        return ""


def _said(count: Count) -> str:
    return f"{count.entries} entries with {count.bytes} bytes"


def certified_of(proofs: Iterable[Proof], outcomes: Iterable[Outcome]) -> Certified:
    """The sums of what an attempt proved, and the directories among its outcomes, for its record."""
    sums = TreeSums()
    for proof in proofs:
        proof.add_to(sums)
    sums.directories = sum(map(_is_equal_directory, outcomes))
    return sums.certified()


def _is_equal_directory(outcome: Outcome) -> bool:
    return outcome.result is Result.UNCHANGED and outcome.kind == Kind.DIRECTORY.value


def sums_of_shards(shards: Iterable[Shard], ledger: Ledger) -> TreeSums:
    """The sums over shards of entries. Raises ``LedgerBroken`` for a record without its sums, or not whole."""
    sums = TreeSums()
    for shard in shards:
        whole, counted = add_up(records(shard.id, ledger), ledger)
        for record in whole:
            if record.certified is None:
                raise ledger.broken(record.key, "holds no sums for a certificate")
            with ledger.decoding(record.key):
                sums.merge(record.certified)
        if counted:
            _add_each(sums, shard, counted, ledger)
    return sums


def _add_each(sums: TreeSums, shard: Shard, counted: Iterable[Counted], ledger: Ledger) -> None:
    """Add what attempts that overlap found, each entry once."""
    entries = ledger.read_shard(shard)
    for record, index, outcome in counted:
        sums.directories += _is_equal_directory(outcome)
        if outcome.certified is not None:
            with ledger.decoding(record.rows):
                proof = Proof(entries[index], Kind(outcome.certified[0]), outcome.certified[1])
            proof.add_to(sums)
