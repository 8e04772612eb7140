"""The sums of both trees that each attempt of a verification leaves in its record.

Two attempts at one time may overlap. Then the sums cannot be added up, and the rows of outcomes are read instead.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Struct

from fanout.certificate.tree_digest import TreeDigest
from fanout.ledger.ledger import Ledger
from fanout.model.entry import Entry, Kind
from fanout.model.shard import Shard
from fanout.shards.found_sums import Certified
from fanout.shards.record import Record, are_disjoint, each_once, records


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
    """The digests of both trees, while they are added up."""

    def __init__(self) -> None:
        self.source, self.destination = TreeDigest(), TreeDigest()

    def merge(self, other: Certified) -> None:
        """Add the sums of an attempt. Raises ``ValueError`` for what is no sum."""
        self.source.merge(other.source)
        self.destination.merge(other.destination)

    def certified(self) -> Certified:
        return Certified(self.source.sum(), self.destination.sum())


def certified_of(proofs: Iterable[Proof]) -> Certified:
    """The sums of what an attempt proved, for its record."""
    sums = TreeSums()
    for proof in proofs:
        proof.add_to(sums)
    return sums.certified()


def sums_of_shards(shards: Iterable[Shard], ledger: Ledger) -> TreeSums:
    """The sums over shards of entries. Raises ``LedgerBroken`` for a record without its sums, or not whole."""
    sums = TreeSums()
    for shard in shards:
        found = records(shard.id, ledger)
        add_up = are_disjoint(found)
        for record in found if add_up else ():
            if record.certified is None:
                raise ledger.broken(record.key, "holds no sums for a certificate")
            with ledger.decoding(record.key):
                sums.merge(record.certified)
        for proof in () if add_up else _proofs(shard, found, ledger):
            proof.add_to(sums)
    return sums


def _proofs(shard: Shard, found: list[Record], ledger: Ledger) -> Iterator[Proof]:
    """The proofs of attempts that overlap, each entry once."""
    entries = ledger.read_shard(shard)
    for record, index, outcome in each_once(found, ledger):
        if outcome.certified is not None:
            with ledger.decoding(record.rows):
                proof = Proof(entries[index], Kind(outcome.certified[0]), outcome.certified[1])
            yield proof
