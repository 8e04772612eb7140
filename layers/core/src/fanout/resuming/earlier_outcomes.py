"""The outcomes of an earlier run, as they are asked for where its shards are taken over."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

from fanout.ledger import keys
from fanout.ledger.ledger import Ledger
from fanout.model.entry import Entry
from fanout.model.entry_outcome import Outcome
from fanout.model.outcome import TROUBLE
from fanout.model.shard import Shard
from fanout.request.options import Verify
from fanout.resuming.earlier_run import outcomes_of
from fanout.resuming.rules import CarriedLinks
from fanout.shards.big_files import parts_of_big_files
from fanout.shards.shard_results import big_file_outcomes, big_file_times


class EarlierOutcomes:
    """Of the run of one ledger; what names all its big files is read once."""

    def __init__(self, earlier: Ledger) -> None:
        self._earlier = earlier
        self._verified = earlier.read_plan().request.verifies_after is Verify.COPIED

    def different(self, shard: Shard) -> set[int]:
        """The copied entries, or blocks, of a shard that the earlier run verified and found different."""
        if not self._verified:
            return set()
        verified = outcomes_of(keys.verified_id(shard.id), self._earlier)
        return {index for index, outcome in verified.items() if outcome.result in TROUBLE}

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

    def different_names(self, copies: Shard | None) -> set[str]:
        """The paths of such entries."""
        indexes = self.different(copies) if copies is not None else set()
        if copies is None or not indexes:
            return set()
        return {entry.path for index, entry in enumerate(self._earlier.read_shard(copies)) if index in indexes}

    def is_different(self, big_file: str) -> bool:
        """Whether the earlier run verified blocks of the big file of a key and found one different."""
        return self._verified and any(map(self.different, self._parts_of_big_files.get(big_file, ())))

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
