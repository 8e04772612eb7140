"""All that the ways to list a segment share: both trees, what decides, and what writes."""

from __future__ import annotations

from fanout.listing.budget import ProgressNotes
from fanout.listing.deciding.clocks import ahead_of_runs, wider_by
from fanout.listing.deciding.proofs import Proofs
from fanout.listing.deciding.segment_entries import SegmentEntries
from fanout.listing.deciding.settle import Settler
from fanout.listing.index.earlier_index import EarlierIndex
from fanout.listing.lookups import LookupQueue, with_looks
from fanout.model.segment import Segment
from fanout.shards.held import look_at_held
from fanout.turns.other_runs import met_in
from fanout.work.context import Context


class SegmentTask:
    """One attempt to list a segment."""

    def __init__(self, segment: Segment, context: Context) -> None:
        self.plan = plan = context.ledger.read_plan()
        self.segment, self.context = segment, context.within(plan)
        self.source, self.destination = self.context.source(plan), self.context.seen_destination(plan)
        both = self.source, self.destination
        self.entries = SegmentEntries(plan, segment, self.context, *both)
        self.writer = self.entries.writer
        self.notes = ProgressNotes(segment, self.context, self.writer)
        self.earlier = EarlierIndex(plan, context.ledger)
        wider_ns, ahead = wider_by(plan, context.ledger), ahead_of_runs(plan, self.context)
        self.proofs = Proofs(plan, self.earlier, *both, wider_ns, ahead)
        met = met_in("source", plan, context.ledger)
        self._settler = Settler(self.entries, plan, self.proofs, met)

    def queue(self) -> LookupQueue:
        """The queue in which pairs are decided and written, in the order in which they are listed."""
        ask, look = self._settler.ask, look_at_held(self.plan, self.context)
        return LookupQueue(ask if look is None else with_looks(ask, look), self._settler.settle)
