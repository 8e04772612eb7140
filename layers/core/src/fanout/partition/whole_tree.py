"""The whole listing of a run, read once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from itertools import chain

from msgspec import Struct

from fanout.deleting.deletions import ListedExtras, extras_of
from fanout.efs.load import Work, reads_before_copying
from fanout.forecast.run_forecast import work_of
from fanout.ledger.ledger import Ledger
from fanout.model.books import Count
from fanout.model.outcome import Result
from fanout.model.shard import Shard
from fanout.request.plan import Plan
from fanout.shards.crowds import Crowds
from fanout.shards.held import held_of
from fanout.shards.round_records import ListedBigFile, whole_listing
from fanout.shards.sizes import groups_of

# Listed entries that a move leaves at the source.
_STAYS = frozenset({Result.SKIPPED, Result.FAILED, Result.REJECTED})


class WholeTree(Struct, frozen=True, kw_only=True):
    """The findings of all rounds: shards, counts of both ends, and the extras.

    ``loose`` shards are partly filled, ``names`` hold names of files that have several. ``heads`` are requests of the
    listing besides its pages. ``settled`` are entries that the listing settled, by their result.
    """

    full: Sequence[Shard]
    loose: Sequence[Shard]
    names: list[Shard]
    big_files: Sequence[ListedBigFile]
    listed: Count
    there: Count
    published: Count
    heads: int
    largest_directory: int
    sizes: tuple[Count, ...]
    settled: Mapping[Result, int]
    extras: ListedExtras

    def entries_but(self, left_out: Collection[Result]) -> int:
        """The number of listed entries but those that the listing settled with one of these results."""
        return self.listed.entries - sum(self.settled.get(result, 0) for result in left_out)

    @property
    def to_move(self) -> int:
        """The number of entries that a move deletes at the source if all of them are proven."""
        return self.entries_but(_STAYS)


def whole_tree(plan: Plan, ledger: Ledger) -> WholeTree:
    """Read the results of all rounds. Raises ``LedgerBroken`` if the listing is not complete."""
    rounds = list(whole_listing(ledger))
    crowds, settled = Crowds(), Counter[Result]()
    for done in rounds:
        crowds.merge(done.crowds)
        settled.update({result: count.entries for result, count in done.outcomes.items()})
    return WholeTree(
        full=list(chain.from_iterable(done.shards for done in rounds)),
        loose=list(chain.from_iterable(done.loose for done in rounds)),
        names=list(chain.from_iterable(done.names for done in rounds)),
        big_files=list(chain.from_iterable(done.big_files for done in rounds)),
        listed=sum((done.listed for done in rounds), Count()),
        there=sum((done.destination for done in rounds), Count()),
        published=sum((done.published for done in rounds), Count()),
        heads=sum(done.heads for done in rounds),
        largest_directory=crowds.largest,
        sizes=groups_of([done.sizes for done in rounds]),
        settled=settled,
        extras=extras_of(rounds, plan.request),
    )


def work_in(shards: Sequence[Shard], tree: WholeTree, plan: Plan, ledger: Ledger) -> Work:
    """The work of a run that carries out these shards; for a plan, that of the sync that it plans."""
    request = plan.request
    extras = tree.extras.extra.entries if request.course.deletes_extras or request.course.plans else 0
    return work_of(
        tree.listed,
        len(tree.big_files),
        shards,
        tree.largest_directory,
        tree.to_move if request.course.deletes_proven else extras,
        held_of(shards, lambda key: ledger.read_big_file(key).entry),
        tree.there if reads_before_copying(request) else Count(),
        tree.heads,
        tree.sizes,
        tree.there,
        has_directories=not request.source.is_keyed,
    )
