"""The outcomes of an earlier run, as they are asked for where its shards are taken over."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from functools import cached_property

from msgspec import Struct

from fanout.ledger import keys
from fanout.ledger.ledger import Ledger
from fanout.model.entry import Entry
from fanout.model.entry_outcome import Outcome
from fanout.model.outcome import TROUBLE, Reason
from fanout.model.shard import Shard
from fanout.request.options import Verify
from fanout.resuming.earlier_run import outcomes_of
from fanout.resuming.rules import CarriedLinks
from fanout.shards.big_files import parts_of_big_files
from fanout.shards.shard_results import big_file_outcomes, big_file_times


class VerifiedIndexes(Struct, frozen=True):
    """The indexes of what was verified, by the result."""

    equal: Set[int]
    different: Set[int]


class EarlierOutcomes:
    """Of the run of one ledger; what names all its big files is read once."""

    def __init__(self, earlier: Ledger) -> None:
        self._earlier = earlier
        self._verified = earlier.read_plan().request.verifies_after is Verify.COPIED

    def proofs(self, shard: Shard) -> VerifiedIndexes:
        """The copied entries, or blocks, of a shard that the earlier run verified."""
        verified = outcomes_of(keys.verified_id(shard.id), self._earlier) if self._verified else {}
        different = {index for index, outcome in verified.items() if outcome.result in TROUBLE}
        return VerifiedIndexes(verified.keys() - different, different)

    def needs_proof(self, outcome: Outcome) -> bool:
        """Whether an entry that needed no copy was copied by a run before, and verified by none."""
        return outcome.reason is Reason.DONE_EARLIER and not self._verified

    def named(self, part: CarriedLinks) -> Iterator[tuple[Entry, str, Outcome | None]]:
        """Every name with the path of its file's first one, empty for a name that was right, and its outcome."""
        if (copies := part.copies) is not None:
            outcomes = outcomes_of(copies.id, self._earlier)
            for index, entry in enumerate(self._earlier.read_shard(copies)):
                yield entry, entry.path, outcomes.get(index)
        links = part.shard
        outcomes = outcomes_of(links.id, self._earlier)
        for index, (entry, first) in enumerate(self._earlier.read_links(links)):
            yield entry, first, outcomes.get(index)

    def proven_names(self, copies: Shard | None) -> tuple[set[str], set[str]]:
        """The paths of entries that were verified and are equal, and of those that are different."""
        proofs = self.proofs(copies) if copies is not None else VerifiedIndexes(set(), set())
        if copies is None or not (proofs.equal or proofs.different):
            return set(), set()
        paths = [entry.path for entry in self._earlier.read_shard(copies)]
        return {paths[index] for index in proofs.equal}, {paths[index] for index in proofs.different}

    def proof_of_big_file(self, big_file: str) -> bool | None:
        """Whether the earlier run found the big file of a key equal; ``None`` where it did not verify all its blocks.

        One block that is different is enough.
        """
        parts = self._parts_of_big_files.get(big_file, ()) if self._verified else ()
        proofs = [(part.items, self.proofs(part)) for part in parts]
        if any(proof.different for _, proof in proofs):
            return False
        return True if proofs and all(len(proof.equal) == items for items, proof in proofs) else None

    @cached_property
    def big_files(self) -> Mapping[str, Outcome]:
        """The outcome of each big file by its id."""
        return dict(big_file_outcomes(self._earlier))

    @cached_property
    def big_file_times(self) -> Mapping[str, float]:
        """The time of each, in seconds since 1970."""
        return big_file_times(self._earlier)

    @cached_property
    def _parts_of_big_files(self) -> Mapping[str, Sequence[Shard]]:
        return parts_of_big_files(self._earlier)
