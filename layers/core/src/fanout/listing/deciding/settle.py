"""Turns a listed pair into an outcome, an entry of a shard, or a name of a hard link."""

from __future__ import annotations

from functools import partial

from msgspec.structs import replace

from fanout.facts import aws, tuning
from fanout.listing.deciding.decisions import Decision, decide, with_overwrite
from fanout.listing.deciding.proofs import Decide, Proofs
from fanout.listing.deciding.segment_entries import SegmentEntries
from fanout.listing.lookups import Pair, Question
from fanout.model.entry import NOTHING_THERE, Entry, Kind
from fanout.model.outcome import Reason
from fanout.model.path_rules import STAGING_PREFIX
from fanout.model.shard import Name
from fanout.request.one_place import same_place
from fanout.request.options import Compare, Overwrite
from fanout.request.plan import Plan, compares_attributes
from fanout.turns.other_runs import StagingGuard

_DECIDED = (Kind.FILE, Kind.DIRECTORY, Kind.SYMLINK)


class Settler:
    """Decides pairs, which may take requests, and settles them in listing order."""

    def __init__(self, entries: SegmentEntries, plan: Plan, proofs: Proofs, met: StagingGuard | None = None) -> None:
        self._met = met
        self._entries, self._writer, self._proofs = entries, entries.writer, proofs
        self._publishes = bool(plan.version)
        self._conditions = plan.request.destination.is_keyed
        self._find = entries.looks.find
        self._missing = plan.missing
        self._skips_unseen = bool(plan.request.left_out_unseen)
        self._verifies = plan.request.course.compares
        keeps_names = plan.keeps_hard_links and plan.request.manifest is None
        self._compares_names = compares_attributes(plan) and keeps_names
        self._overwrite = plan.request.overwrite
        self._skips_symlinks = plan.request.symlinks.skips
        self._inside_s3 = plan.request.inside_s3
        self._request = plan.request
        self._mark = (
            f"/{STAGING_PREFIX}{plan.run_id}/" if plan.request.between_mounts and plan.request.course.writes else ""
        )

    def ask(self, pair: Pair) -> Pair | Question:
        """Return the pair with its decision, or the question that gives it; see ``LookupQueue``."""
        source, place = pair.source, pair.place
        if place.reason is None and place.path != source.path and source.kind is not Kind.SPECIAL:
            return partial(self._looked_up, pair)
        answer = self._decided(pair)
        return partial(self._looked_at, *answer) if isinstance(answer, tuple) else answer

    def _looked_up(self, pair: Pair) -> Pair:
        answer = self._decided(replace(pair, destination=self._find(pair.place.path)))
        return self._looked_at(*answer) if isinstance(answer, tuple) else answer

    def _decided(self, pair: Pair) -> Pair | tuple[Pair, Decide]:
        source = pair.source
        is_open = pair.place.reason is None and source.problem is None and source.kind in _DECIDED
        if not is_open or self._verifies or (source.kind is Kind.SYMLINK and self._skips_symlinks):
            return pair
        answer = self._proofs.decide(source, pair.destination)
        return self._as_requested(pair, answer) if isinstance(answer, Decision) else (pair, answer)

    def _looked_at(self, pair: Pair, look: Decide) -> Pair:
        return replace(self._as_requested(pair, look()), heads=self._proofs.heads)

    def _as_requested(self, pair: Pair, decision: Decision) -> Pair:
        if self._overwrite is not Overwrite.ALWAYS:
            decision = with_overwrite(decision, pair.source, pair.destination, self._overwrite)
        return Pair(pair.source, pair.destination, pair.place, decision)

    def settle(self, pair: Pair) -> None:
        """Write the pair's outcome, shard entry or name.

        Raises ``InvalidRequest`` where the destination shows itself within the source: two mounts see one directory.
        """
        source, place, writer = pair.source, pair.place, self._writer
        if self._mark and source.kind is Kind.DIRECTORY and source.path.endswith(self._mark):
            inside = source.path.removesuffix(self._mark)
            raise same_place(self._request, "destination", f"{self._request.source.place}{inside}/")
        if self._met is not None and source.kind is not Kind.FILE:
            self._met.see(source)
        self._entries.begin(source)
        writer.heads += pair.heads
        if place.path != source.path:
            source = replace(source, target=place.path)
        if source.kind is Kind.UNLISTABLE:
            writer.complete = False
            writer.settle(source, Reason.UNLISTABLE)
        elif place.reason is not None:
            writer.settle(source, place.reason)
        elif source.problem is not None:
            writer.settle(source, source.problem)
        elif source.kind is Kind.SPECIAL:
            writer.settle(source, Reason.SPECIAL_FILE)
        elif source.kind is Kind.SYMLINK and self._skips_symlinks:
            writer.settle(source, Reason.SYMLINK)
        elif self._verifies:
            self._settle_verification(source, pair.destination)
        else:
            assert pair.decision is not None
            self._settle_decision(source, pair.destination, pair.decision)

    def _settle_decision(self, source: Entry, destination: Entry | None, decision: Decision) -> None:
        entries, writer = self._entries, self._writer
        if decision is Decision.KEPT:
            entries.kept(source)
            return
        if decision in (Decision.COPY, Decision.COMPARE) and destination and entries.rejects(source, destination):
            return
        if decision is not Decision.CONFLICT:
            writer.index.add(source, destination if decision is Decision.UNCHANGED else None)
        if self._conditions and decision is not Decision.UNCHANGED:
            source = replace(source, replaces=NOTHING_THERE if destination is None else destination.etag)
        elif source.kind is Kind.DIRECTORY and destination is not None and destination.kind is Kind.DIRECTORY:
            source = replace(source, replaces="" if self._conditions else destination.inode)
        if source.is_linkable and decision is not Decision.CONFLICT:
            there = destination.inode if destination is not None else ""
            entries.name(Name(source, decision is Decision.UNCHANGED, there))
        elif decision in (Decision.COPY, Decision.COMPARE):
            is_new = destination is None or source.kind is not Kind.DIRECTORY
            linked = self._publishes and destination is None and self._proofs.holds(source)
            entries.copy(source, is_new=is_new, compare=decision is Decision.COMPARE, linked=linked)
        elif decision is Decision.UNCHANGED:
            entries.unchanged(source)
        else:
            writer.settle(source, Reason.DESTINATION_KIND)

    def _settle_verification(self, source: Entry, destination: Entry | None) -> None:
        """Settle a pair that the listing alone can verify; put any other into a shard, to compare its content."""
        entries, writer = self._entries, self._writer
        decision = decide(source, destination, Compare.ALWAYS)
        differs = destination is None or decision is Decision.CONFLICT or source.size != destination.size
        if differs and self._may_be_skipped(source):
            entries.copy(source, is_new=False, compare=True)  # VerifyShard asks whether it is held, or a symlink
        elif destination is None:
            writer.settle(source, self._missing(source.changed_ns))
        elif decision is Decision.UNCHANGED:
            writer.settle(source, Reason.SAME)
        elif decision is Decision.CONFLICT or source.size != destination.size:
            writer.settle(source, Reason.DIFFERS, _difference(source, destination))
        elif (source.is_linkable or destination.is_linkable) and self._groups_names(source):
            writer.keep_name(Name(source, unchanged=True, inode_there=destination.inode))
        else:
            listed = destination.etag if self._conditions else ""  # VerifyShard compares with this very object
            entries.copy(replace(source, replaces=listed), is_new=False)

    def _may_be_skipped(self, source: Entry) -> bool:
        """Whether the copy may have left it out for what a listing of a bucket does not tell."""
        may_be_symlink = bool(source.etag) and source.size <= aws.SYMLINK_TARGET_BYTES and not self._inside_s3
        return source.kind is Kind.FILE and (self._skips_unseen or (self._skips_symlinks and may_be_symlink))

    def _groups_names(self, source: Entry) -> bool:
        """Whether the run compares hard links; several functions compare the names of larger files."""
        return self._compares_names and source.size <= tuning.COMPARE_BYTES


def _difference(source: Entry, destination: Entry) -> str:
    if source.kind is destination.kind:
        return f"{source.size} bytes at the source, {destination.size} at the destination"
    return f"a {source.kind.value} at the source, a {destination.kind.value} at the destination"
