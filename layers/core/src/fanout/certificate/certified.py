"""The sums of both trees that each attempt of a verification leaves in the ledger, and the rows that they are of.

The sums of a file of outcomes bear its name and are written before it: they count if that file does.
Two attempts at one time may overlap. Then the sums cannot be added up, and the rows are read instead.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from msgspec import Struct

from fanout.certificate.tree_digest import TreeDigest, TreeSum
from fanout.ledger import keys
from fanout.ledger.documents import disjoint, indexes_of
from fanout.ledger.ledger import Ledger, OutcomeFile
from fanout.model.entry import Entry, Kind
from fanout.model.errors import LedgerBroken
from fanout.model.shard import Shard


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


class Certified(Struct, frozen=True):
    """The sums of an attempt at the source and at the destination."""

    source: TreeSum
    destination: TreeSum


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


def write_certified(shard_id: str, nonce: str, proofs: Mapping[int, Proof], ledger: Ledger) -> None:
    """Write what an attempt proved, by the index of the entry in its shard."""
    sums = TreeSums()
    for proof in proofs.values():
        proof.add_to(sums)
    ledger.write_rows(
        f"{keys.certified_key(shard_id, nonce)}.jsonl.gz",
        ([index, proof.kind.value, proof.sha256] for index, proof in proofs.items()),
    )
    ledger.write(f"{keys.certified_key(shard_id, nonce)}.json", sums.certified())


def sums_of_shards(shards: Iterable[Shard], ledger: Ledger) -> TreeSums:
    """The sums over shards of entries. Raises ``LedgerBroken`` where an attempt's are missing or not whole."""
    sums = TreeSums()
    for shard in shards:
        files = ledger.outcome_files(shard.id)
        if disjoint(file.ranges for file in files):
            for file in files:
                key = f"{_key(shard, file)}.json"
                certified = ledger.read(key, Certified)
                with ledger.decoding(key):
                    sums.merge(certified)
        else:
            for proof in _proofs(shard, files, ledger):
                proof.add_to(sums)
    return sums


def _key(shard: Shard, file: OutcomeFile) -> str:
    return keys.certified_key(shard.id, file.key.rpartition("/")[2].removesuffix(".jsonl.gz"))


def _proofs(shard: Shard, files: list[OutcomeFile], ledger: Ledger) -> Iterator[Proof]:
    """The proofs of attempts that overlap, each entry once."""
    entries = ledger.read_shard(shard)
    found: dict[int, Proof] = {}

    def proof_of(row: list[Any]) -> tuple[int, Proof]:
        index, kind, sha256 = row
        return index, Proof(entries[index], Kind(kind), sha256)

    for file in files:
        covered = indexes_of(file.ranges)
        for index, proof in ledger.read_rows_as(f"{_key(shard, file)}.jsonl.gz", proof_of):
            if index not in covered:
                raise LedgerBroken(f"{_key(shard, file)} certifies entry {index}, which its outcomes do not hold")
            found.setdefault(index, proof)
    return iter(found.values())
