"""The second look at entries that an earlier comparison of a move has proven: at their copies alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from msgspec import Struct

from fanout.model.deadline import Deadline
from fanout.model.entry import Entry, Found, Kind
from fanout.model.entry_outcome import Outcome
from fanout.model.outcome import Result
from fanout.ports.tree import Tree
from fanout.verifying.digests import entry_digest
from fanout.verifying.proofs.earlier_proofs import EarlierProof
from fanout.verifying.verifier import Verified, Work
from fanout.work.parallel import work_on


class SecondLook(Struct, frozen=True):
    """Takes proofs over where they still hold. ``links`` are the names that are grouped differently by now."""

    destination: Tree
    proofs: Mapping[str, EarlierProof]
    compare: Callable[[Work], Verified]
    links: Mapping[str, str]

    def at(
        self,
        left: list[tuple[int, Work]],
        rest: list[tuple[int, Work]],
        threads: int,
        deadline: Deadline,
        unfinished: list[tuple[int, Work]],
    ) -> Iterator[tuple[int, Verified]]:
        """Yield what is equal by an earlier proof; ``rest`` gets all that is to be compared."""
        proven = {}
        for index, item in left:
            if item[0].path in self.proofs:
                proven[index] = item
            else:
                rest.append((index, item))
        for index, verified in work_on(list(proven.items()), self._look, threads, deadline, unfinished):
            if verified is None:
                rest.append((index, proven[index]))
            else:
                yield index, verified

    def _look(self, item: Work) -> Verified | None:
        entry = item[0]
        if entry.kind is Kind.DIRECTORY:
            return self.compare(item)
        proof = self.proofs[entry.path]
        checksum = proof.checksum
        # Without one both stores told another checksum: they tell it again, and no byte is read.
        if not checksum or entry.path in self.links or not proof.holds(entry, self._copy_of(entry)):
            return None
        digest = entry_digest(entry, checksum)
        outcome = Outcome.done(entry, Result.UNCHANGED, checksum)
        return Verified(outcome, digest, digest, proof.is_told_whole, bool(entry.inode), None, proof.entry.replaces)

    def _copy_of(self, entry: Entry) -> Found | None:
        try:
            return self.destination.find_stored(entry.placed.path)
        except Exception:  # noqa: BLE001 - the comparison meets it again, and says so
            return None
