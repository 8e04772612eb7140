"""VerifyShard: compares what a shard's entries hold at the destination with the source."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain

from msgspec import Struct
from msgspec.structs import replace

from fanout.certificate.certified import certified_of
from fanout.checksums.computed_tree import with_computed
from fanout.facts import tuning
from fanout.ledger import keys
from fanout.ledger.documents import Range, ranges_of
from fanout.ledger.ledger import Ledger
from fanout.model.books import Count
from fanout.model.deadline import Deadline
from fanout.model.document import Json
from fanout.model.entry import Entry, Found, Kind
from fanout.model.entry_outcome import Outcome
from fanout.model.errors import ItemError
from fanout.model.outcome import Reason, Result
from fanout.model.shard import Shard
from fanout.ports.tree import ReadTree
from fanout.shards.entry_report import report_done
from fanout.shards.found_sums import both_digests, with_digests
from fanout.shards.partitioned import link_differences
from fanout.shards.record import Record, each_once, record_of, records, settled, write_outcomes
from fanout.shards.shard_results import is_to_verify
from fanout.shards.tasks.attempts import TaskProgress, failures_of, noted
from fanout.shards.tasks.shard_task import ShardTask, too_large
from fanout.verifying.earlier_proofs import EarlierProof, proofs_about
from fanout.verifying.moved import in_move, pin_of_directory, write_proofs, write_proven
from fanout.verifying.source_checksums import work_of_checksums
from fanout.verifying.sums.seen import UnreadEnd
from fanout.verifying.verifier import ComparedEntry, ToCompare, Verifier
from fanout.verifying.verify_blocks import verify_blocks
from fanout.verifying.verify_rules import FINDINGS, rules_of, tags_of
from fanout.work.context import Context
from fanout.work.parallel import work_on


class SecondLook(Struct, frozen=True):
    """Takes proofs over where they still hold. ``links`` are the names that are grouped differently by now."""

    destination: ReadTree
    proofs: Mapping[str, EarlierProof]
    verifier: Verifier
    compare: Callable[[ToCompare], ComparedEntry]
    links: Mapping[str, str]

    def at(
        self,
        left: list[tuple[int, ToCompare]],
        rest: list[tuple[int, ToCompare]],
        threads: int,
        deadline: Deadline,
        unfinished: list[tuple[int, ToCompare]],
    ) -> Iterator[tuple[int, ComparedEntry]]:
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

    def _look(self, item: ToCompare) -> ComparedEntry | None:
        entry = item[0]
        if entry.kind is Kind.DIRECTORY:
            return self.compare(item)
        proof = self.proofs[entry.path]
        checksum = proof.checksum
        # Without one both stores have another checksum: they return it again, and no byte is read.
        if not checksum or entry.path in self.links or not proof.holds(entry, self._copy_of(entry)):
            return None
        notes = self.verifier.notes_again(item, "as an earlier run found" if proof.let_go else "")
        if notes is None:
            return None
        outcome = replace(Outcome.done(entry, Result.UNCHANGED, checksum), unread=notes)
        return ComparedEntry(outcome, proof.is_told_whole, bool(entry.inode), None, proof.entry.replaces)

    def _copy_of(self, entry: Entry) -> Found | None:
        try:
            return self.destination.find_stored(entry.placed.path)
        except Exception:  # noqa: BLE001 - the comparison meets it again, and says so
            return None


def verify_shard(shard: Shard, context: Context) -> Json:
    """Verify what the ledger does not show as verified; returns ``cursor`` and ``done`` as CopyShard does.

    Both ends are asked again. The source's checksum is its store's own, or that of bytes read again. It is never that
    of the bytes received during the copy: another object's bytes would fit that one too. In ``mode: verify`` it
    compares all entries, with their attributes unless the request is about content alone, and writes the run's
    outcomes. After a copy it compares the copied entries. Raises ``Transient`` if nothing at all could be verified
    for reasons that may pass.
    """
    context = with_computed(shard, context)
    work = verify_blocks if shard.blocks is not None else _verify_entries
    return noted("verify", shard, context, lambda: work(shard, context))


def _verify_entries(shard: Shard, context: Context) -> TaskProgress:
    task = ShardTask("verify", "verified", shard, context)
    plan, ledger = task.plan, task.ledger
    rules = rules_of(plan, ledger)
    may_lack = context.seen_source(plan) if plan.request.left_out_unseen else None
    certifies = plan.request.certificate and plan.request.course.compares
    skips = plan.request.symlinks.skips
    destination = context.destination(plan)
    verifier = Verifier(
        destination,
        task.deadline,
        task.limiter,
        rules,
        may_lack,
        certifies=certifies,
        skips_symlinks=skips,
        left_out=plan.request.left_out_gone,
        tags=tags_of(plan, context),
    )
    links = link_differences(shard, ledger) if plan.request.course.compares else {}
    if plan.request.between_mounts:
        work = work_of_checksums(shard, ledger)
    else:
        work = _both_ends(shard, ledger, context.source(plan), verifier)
    outcomes_id = shard.id
    if not plan.request.course.compares:
        outcomes_id = keys.verified_id(shard.id)
        copied = _copied(shard, ledger)
        work = {index: (*item[:2], Result.COPIED) for index, item in work.items() if index in copied}
    known = settled(records(outcomes_id, ledger))
    left = task.left(work.items(), known)
    # The shard of a copy says what the destination held before it, and a mount has no ETags.
    is_pinned = plan.request.course.compares and plan.request.destination.is_keyed
    outcomes = _verify(left, links, verifier, task, outcomes_id, is_pinned=is_pinned)
    if plan.request.course.compares:
        report_done(plan, ledger, "verify", f"{shard.id}-{context.nonce}", outcomes.values())
    compared = Count(len(outcomes), sum(outcome.size for outcome in outcomes.values()))
    return task.progress(len(outcomes), compared, failures_of(outcomes.values()))


def _verify(
    left: list[tuple[int, ToCompare]],
    links: dict[str, str],
    verifier: Verifier,
    task: ShardTask,
    outcomes_id: str,
    *,
    is_pinned: bool,
) -> dict[int, Outcome]:
    shard, plan, ledger = task.shard, task.plan, task.ledger
    found: dict[int, ComparedEntry] = {}
    cut_off: list[tuple[int, ToCompare]] = []
    entries = {index: item[0] for index, item in left}
    threads = min(tuning.CLIENT_OPERATIONS_IN_FLIGHT, len(left)) or 1

    def check(item: ToCompare) -> ComparedEntry:
        entry = item[0]
        return verifier.compare(*item, links.get(entry.path, ""), entry.replaces if is_pinned else "")

    rest: list[tuple[int, ToCompare]] = []
    proofs = proofs_about(entries.values(), plan, ledger)
    look = SecondLook(task.context.destination(plan), proofs, verifier, check, links)
    known = look.at(left, rest, threads, task.deadline, cut_off)
    done = chain(known, work_on(rest, check, threads, task.deadline, cut_off, task.admit))
    for index, one in task.notes().along(done, lambda one: one.outcome.size):
        found[index] = replace(one, outcome=in_move(one.outcome, entries[index], plan))
    tried = {index: one.outcome for index, one in found.items()}
    for index, entry in task.too_late(len(left), tried, ((index, item[0]) for index, item in cut_off)):
        late = Outcome.because(entry, Reason.OUT_OF_TIME, too_large(entry, "reads"))
        found[index] = ComparedEntry(with_digests(late, 0, 0))
    outcomes = {index: _row(one) for index, one in found.items()}
    if found:
        record = _record(found, outcomes, verifier)
        if plan.request.course.compares:  # for the deletion of a move, and for the run that resumes this one
            equal = {index: one for index, one in found.items() if one.outcome.result is Result.UNCHANGED}
            pins = ((entries[index], one) for index, one in equal.items())
            pinned = (
                replace(entry, replaces=one.copy, etag=pin_of_directory(entry, one.source, plan)) for entry, one in pins
            )
            proven = (write_proven if plan.proves_move else write_proofs)(shard.id, task.context.nonce, pinned, ledger)
            record = replace(record, proven=proven, taken_over=len(equal.keys() - {index for index, _ in rest}))
        write_outcomes(outcomes_id, task.context.nonce, outcomes, ledger, record)
    return outcomes


def _row(one: ComparedEntry) -> Outcome:
    if one.proof is None:
        return one.outcome
    return replace(one.outcome, certified=(one.proof.kind.value, one.proof.sha256))


def _record(found: Mapping[int, ComparedEntry], outcomes: Mapping[int, Outcome], verifier: Verifier) -> Record:
    """The record of an attempt, without what it proved."""
    proofs = (one.proof for one in found.values() if one.proof is not None)
    return replace(
        record_of(outcomes),
        findings={what: ranges for what, is_it in FINDINGS.items() if (ranges := _ranges(found, is_it))},
        digests=both_digests(outcomes.values()),
        certified=certified_of(proofs, outcomes.values()) if verifier.certifies else None,
    )


def _ranges(found: Mapping[int, ComparedEntry], is_it: Callable[[ComparedEntry], bool]) -> list[Range]:
    return ranges_of(index for index, one in found.items() if is_it(one))


def _copied(shard: Shard, ledger: Ledger) -> frozenset[int]:
    """The indexes of a shard's entries that were copied, by this run or the one that it resumes."""
    outcomes = each_once(records(shard.id, ledger), ledger)
    return frozenset(index for _, index, outcome in outcomes if is_to_verify(shard, outcome))


def _both_ends(shard: Shard, ledger: Ledger, source: ReadTree, verifier: Verifier) -> dict[int, ToCompare]:
    def look_at(entry: Entry) -> Callable[[], UnreadEnd]:
        return lambda: source_look(entry, source, verifier)

    entries: Iterable[Entry] = ledger.read_shard(shard)
    return {index: (entry, look_at(entry), Result.UNCHANGED) for index, entry in enumerate(entries)}


def source_look(entry: Entry, source: ReadTree, verifier: Verifier) -> UnreadEnd:
    """A source entry that is still the one that was listed."""
    if entry.kind is Kind.DIRECTORY:
        return verifier.look(source, entry, None)
    found = source.find_stored(entry.path)
    if found is None:
        raise ItemError(Reason.SOURCE_VANISHED, "the entry is no longer there")
    return verifier.look(source, entry, found if found.entry.etag == entry.etag else None)
