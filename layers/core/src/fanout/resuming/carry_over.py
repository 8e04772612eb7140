"""Takes over the listing and outcomes of an earlier run: the work of ListSegment on a carried segment.

The source is not listed. Finished entries are settled if the destination still holds them, and the others go into
shards of this run, so that its ledger is complete by itself and can be resumed in turn.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import chain

from msgspec.structs import replace

from fanout.facts import tuning
from fanout.ledger import keys
from fanout.ledger.ledger import Ledger
from fanout.ledger.rows import listed_outcomes, name_from_row
from fanout.listing.deciding.clocks import ahead_of_runs
from fanout.listing.deciding.segment_entries import SegmentEntries
from fanout.listing.list_destination import noting_failure
from fanout.listing.list_segment import list_segment
from fanout.listing.lookups import LOOKUPS_IN_FLIGHT, found_for_listing
from fanout.listing.rounds import hand_segment_back
from fanout.model.document import Json
from fanout.model.entry import Entry, Kind
from fanout.model.entry_outcome import Outcome
from fanout.model.errors import AccessDenied, ItemError
from fanout.model.outcome import Reason, Result
from fanout.model.segment import Segment
from fanout.model.shard import Name, Shard
from fanout.request.options import Overwrite, Verify
from fanout.request.plan import Plan
from fanout.resuming import rules
from fanout.resuming.carried_directories import DirectoryCarrier
from fanout.resuming.earlier_outcomes import EarlierOutcomes
from fanout.resuming.earlier_run import began, ended_ns, entry_of, timed_outcomes_of
from fanout.resuming.look_there import directories_of, look_of, pinned_anew
from fanout.resuming.taken_over import ChangesSince, DoneEntry, TakenOver
from fanout.shards.held import look_at_held
from fanout.shards.shard_results import is_to_verify
from fanout.work.context import Context
from fanout.work.parallel import side_by_side

_HELD = frozenset(one for one in Reason if one.is_held)
# The reasons of entries whose remedy moves the ctime that pins them.
_DENIED = (Reason.SOURCE_DENIED, Reason.FIRST_NAME)


def list_or_carry_over(segment: Segment, context: Context) -> Json:
    """ListSegment: list a segment of the tree, or take over the parts of the earlier run that it names."""
    return noting_failure(carry_over, segment, context) if segment.carried else list_segment(segment, context)


def list_in_window(segment: Segment, context: Context) -> Json:
    """As ``list_or_carry_over`` in a run with a window, which may open between ListDestination and this.

    Between two mounts a segment is handed back where the destination was not listed.
    """
    ledger = context.ledger
    if ledger.read_plan().request.between_mounts and not ledger.has(keys.destination_listing_key(segment.id)):
        return hand_segment_back(segment, context)
    return list_or_carry_over(segment, context)


def carry_over(segment: Segment, context: Context) -> Json:
    """Take over the parts that the segment names; writes a segment's record as a listing does."""
    plan = context.ledger.read_plan()
    found = context.ledger.read(rules.carried_key.at(segment.carried))
    carrier = _Carrier(plan, segment, context, context.ledger.of_run(found.run_id))
    for part in found.parts:
        carrier.carry(part)
    carrier.close()
    return {"segment": segment.id}


class _Carrier:
    """Takes parts of the earlier run's ledger over into this one's."""

    def __init__(self, plan: Plan, segment: Segment, context: Context, earlier: Ledger) -> None:
        self._segment, self._context, self._earlier = segment, context, earlier
        self._known = EarlierOutcomes(earlier)
        self._verifies = plan.request.verifies_after is Verify.COPIED
        self._alone = plan.request.source.is_keyed or plan.request.manifest is not None
        self._look = look_at_held(plan, context)
        self._destination = context.seen_destination(plan)
        self._source = context.source(plan)
        self._began = began(earlier)
        self._find = found_for_listing(self._source)
        self._entries = SegmentEntries(plan, segment, context, self._source, self._destination)
        self._writer = self._entries.writer
        ends = segment, context.ledger, self._destination
        self._to_files = not plan.request.destination.is_keyed
        # Its object may be the earlier run's, which got no answer, with the mtime that the directory had then.
        self._replaces_all = plan.request.overwrite is Overwrite.ALWAYS
        there = directories_of(*ends) if self._to_files else None
        self._directories = DirectoryCarrier(segment, context, earlier, there)
        since = ChangesSince(ended_ns(earlier), ahead_of_runs(plan, context))
        look = look_of(*ends)
        self._taken = TakenOver(plan, self._entries, self._source, look, since, self._copy_again, self._list_again)
        self._left: list[Segment] = []

    def carry(self, part: rules.CarriedPart) -> None:
        match part:
            case rules.CarriedOutcomes():
                self._outcomes(part)
            case rules.CarriedBigFile():
                self._big_file(part)
            case rules.CarriedDirectories():
                self._writer.directories.append(self._directories.carry(part))
            case rules.CarriedShard():
                self._shard(part.shard)
            case rules.CarriedLinks():
                self._links(part)
            case rules.CarriedNames():
                self._names(part)

    def close(self) -> None:
        """Write what is held, and the record that makes it count; what failed in the listing is listed again."""
        self._taken.close()
        self._entries.close(self._left, matched=None)

    def _outcomes(self, part: rules.CarriedOutcomes) -> None:
        rows = self._earlier.read_rows_as(part.key, lambda row: list(listed_outcomes(row)))
        absent: list[Outcome] = []
        for outcome in chain.from_iterable(rows):
            if outcome.reason is Reason.NOT_AT_SOURCE:
                absent.append(outcome)
            elif rules.carried(outcome) is None:
                self._list_again(outcome.path, unlistable=outcome.reason is Reason.UNLISTABLE)
            else:
                proven = not self._known.needs_proof(outcome)
                self._settle(entry_of(outcome), outcome, pinned=False, by=self._began, proven=proven)
        self._rows_again(absent)

    def _rows_again(self, absent: list[Outcome]) -> None:
        """Rows of a manifest that the source did not hold: it may by now, and else they fail again."""
        there = side_by_side(self._at_source, [one.path for one in absent], LOOKUPS_IN_FLIGHT)
        for outcome, found in zip(absent, there, strict=True):
            if found is not None and found.path == outcome.path:
                self._list_again(outcome.path)
            else:
                entry = entry_of(outcome)
                self._count(entry)
                self._writer.settle(entry, Reason.NOT_AT_SOURCE, outcome.message)

    def _at_source(self, path: str) -> Entry | None:
        try:
            return self._find(path)
        except (AccessDenied, ItemError):  # no row that can be copied
            return None

    def _shard(self, shard: Shard) -> None:
        outcomes, times = timed_outcomes_of(shard.id, self._earlier)
        proofs = self._known.proofs(shard)
        again: list[Entry] = []
        denied: list[Entry] = []
        directories: list[Entry] = []
        for index, entry in enumerate(self._earlier.read_shard(shard)):
            outcome = outcomes.get(index)
            if outcome is None and shard.done:  # it was not settled, and is there no less
                outcome = Outcome.because(entry, Reason.DONE_EARLIER)
            if outcome is not None and rules.carried(outcome) is not None:
                differs, by = index in proofs.different, times.get(index, self._began)
                proven = index in proofs.equal or not is_to_verify(shard, outcome)
                self._settle(entry, outcome, linked=shard.linked, differs=differs, by=by, proven=proven)
            elif self._look is not None and outcome is not None and outcome.reason in _HELD:
                again.append(entry)
            elif outcome is not None and outcome.reason in _DENIED:
                denied.append(entry)
            elif entry.kind is Kind.DIRECTORY and self._to_files:
                directories.append(entry)
            elif entry.kind is Kind.DIRECTORY and self._replaces_all:
                self._taken.add(DoneEntry(entry, Reason.SAME, "", pinned=True, differs=True))
            else:
                self._copy(entry, shard.held if self._look is not None else "", linked=shard.linked)
        for entry in self._directories.placed_anew([*pinned_anew(denied, self._source), *directories]):
            self._copy(entry, shard.held if self._look is not None else "", linked=shard.linked)
        self._look_and_copy(again)

    def _copy(self, entry: Entry, held: str, *, linked: bool = False) -> None:
        self._count(entry)
        entry = replace(entry, held=held) if entry.held != held else entry
        self._entries.copy(entry, is_new=False, linked=linked)

    def _copy_again(self, entry: Entry, linked: bool) -> None:
        """Copy an entry that the earlier run had copied: where it was held it may be back, or not."""
        if entry.is_linkable:
            self._name(Name(entry, unchanged=False, inode_there=""))
            return
        [entry] = self._directories.placed_anew([entry])
        if self._look is not None:
            self._look_and_copy([entry])
        else:
            self._copy(entry, "", linked=linked)

    def _list_again(self, path: str, *, unlistable: bool = False) -> None:
        self._left += rules.segments_again(path, alone=self._alone, unlistable=unlistable)

    def _look_and_copy(self, entries: list[Entry]) -> None:
        """Copy entries that the earlier run could not read: a look tells whether they are still held."""
        if self._look is None or not entries:
            return
        for entry in side_by_side(self._look, entries, LOOKUPS_IN_FLIGHT):
            self._copy(entry, entry.held)

    def _links(self, part: rules.CarriedLinks) -> None:
        """Copies and the further names of the same files: each file is done with all its names, or not at all."""
        named = list(self._known.named(part))
        there = self._taken.still_there([entry for entry, _, _ in named])
        files: defaultdict[str, list[tuple[Entry, Outcome | None]]] = defaultdict(list)
        whole: defaultdict[str, bool] = defaultdict(lambda: True)
        equal, different = self._known.proven_names(part.copies)
        for (entry, first, outcome), is_there in zip(named, there, strict=True):
            file = f"copied {first}" if first else f"right {entry.inode}"
            files[file].append((entry, outcome))
            whole[file] &= is_there and (not first or (outcome is not None and rules.carried(outcome) is not None))
            whole[file] &= entry.path not in different
        for file, names in files.items():
            if whole[file]:
                for entry, outcome in names:
                    reason, message = (rules.carried(outcome) if outcome is not None else None) or (Reason.SAME, "")
                    copied = outcome is not None and outcome.result is Result.COPIED and entry.path == first
                    proven = not (self._verifies and copied) or entry.path in equal
                    self._taken.settle(DoneEntry(entry, reason, message, pinned=True, proven=proven))
                continue
            denied = any(outcome is not None and outcome.reason in _DENIED for _, outcome in names)
            listed = [entry for entry, _ in names]
            # A verification that could not read it is mended as a denied copy is: by a permission.
            denied = denied or any(entry.path in different for entry in listed)
            for entry in pinned_anew(listed, self._source) if denied else listed:
                self._name(Name(entry, unchanged=False, inode_there=""))

    def _names(self, part: rules.CarriedNames) -> None:
        for name in self._earlier.read_rows_as(part.key, name_from_row, part.entries):
            self._name(name)

    def _big_file(self, part: rules.CarriedBigFile) -> None:
        """Begun anew unless it is whole: what was written of it was discarded, or is now."""
        big = self._earlier.read_big_file(part.key)
        outcome = self._known.big_files.get(big.id)
        if part.counted and outcome is not None and rules.carried(outcome) is not None:
            equal = self._known.proof_of_big_file(part.key)
            proven = bool(equal) or outcome.result is not Result.COPIED
            # One function cannot read it to verify it.
            too_large = self._verifies and not proven and big.entry.size > tuning.COMPARE_BYTES
            by = self._known.big_file_times.get(big.id, 0.0)
            self._settle(big.entry, outcome, differs=equal is False or too_large, by=by, proven=proven)
            return
        if self._destination is not None:  # else FinishTree removes what the earlier run staged
            self._destination.open_blocks(big.entry.placed, big.token).discard()
        if part.counted and self._look is not None:
            self._look_and_copy([big.entry])
        elif part.counted:
            denied = outcome is not None and outcome.reason in _DENIED
            [entry] = pinned_anew([big.entry], self._source) if denied else [big.entry]
            self._copy(entry, "")

    def _settle(
        self,
        entry: Entry,
        outcome: Outcome,
        *,
        pinned: bool = True,
        linked: bool = False,
        differs: bool = False,
        by: float = 0.0,
        proven: bool = True,
    ) -> None:
        counts_as = rules.carried(outcome)
        assert counts_as is not None
        reason, message = counts_as
        if reason.result is Result.UNCHANGED or reason is Reason.KEPT:
            self._taken.add(
                DoneEntry(entry, reason, message, pinned, linked, differs, by, proven or not self._verifies)
            )
        else:
            self._count(entry)
            self._writer.settle(entry, reason, message)

    def _name(self, name: Name) -> None:
        self._count(name.entry)
        self._entries.name(name)

    def _count(self, entry: Entry) -> None:
        self._writer.listed.add(entry.size)
