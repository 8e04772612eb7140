"""Reads the results of a run's verification from its ledger."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from fanout.books.run_books import RunBooks, run_books
from fanout.books.summary_document import Difference, Verified
from fanout.ledger import keys
from fanout.ledger.ledger import Ledger
from fanout.ledger.rows import outcome_from_row
from fanout.model.books import Count, no_counts
from fanout.model.entry_outcome import Outcome
from fanout.model.errors import RunError
from fanout.model.outcome import TROUBLE, Reason, Result
from fanout.model.shard import Shard
from fanout.request.options import Verify
from fanout.request.plan import Plan
from fanout.shards.found_sums import BothDigests, both_digests, entry_digest
from fanout.shards.record import each_once, records, settled
from fanout.shards.round_records import whole_listing
from fanout.shards.shard_results import SHARD_FAILED, Absent, RecordSums, copied_big_files, is_to_verify, sums_of
from fanout.verifying.compared_big_files import compared_big_files
from fanout.verifying.verify_rules import FINDINGS, NotCompared, not_compared

# Directories that differ, as the summary names them.
DIRECTORIES_SHOWN = 20
# Failures of entries that nobody compared: these show no difference.
_NOT_COMPARED = frozenset({Reason.SHARD_FAILED, Reason.NOT_ATTEMPTED, Reason.NOT_VERIFIED, Reason.OUT_OF_TIME})


class Verification(Struct, frozen=True):
    """The part of summary.json, and the entries that were not equal, as far as they are kept."""

    verified: Verified
    failures: list[Outcome]

    @property
    def reasons(self) -> dict[Reason, int]:
        """How many entries were not equal, or not compared, for each reason."""
        return {one.reason: one.entries for one in self.verified.by_class}

    def failures_of(self, plan: Plan) -> list[Outcome]:
        """The failures that the books do not hold: those of a run that only compares are its outcomes, but extras."""
        return [one for one in self.failures if plan.request.course.writes or one.reason is Reason.EXTRA]


def verification_of(
    plan: Plan, ledger: Ledger, found: RunBooks, error: RunError | None, absent: Absent = SHARD_FAILED
) -> Verification | None:
    """The results of the verification, if the request asked for it and the run got that far.

    ``absent`` says why an entry was not compared. Raises ``LedgerBroken`` where the comparison does not balance.
    """
    request = plan.request
    if error is not None:
        return None
    if request.course.compares:
        return verified_trees(found, ledger)
    if request.verifies_after is Verify.COPIED:
        return verified_shards(found.shards, ledger, absent)
    if request.verifies_after.whole_trees:
        inner = ledger.verification()
        compared = run_books(inner, None, lambda outcome, phase: None, "verify", absent)
        if not compared.books.balanced:
            missing = compared.books.missing
            why = f"{missing.entries} entries and {missing.bytes} bytes have no outcome"
            raise inner.broken(keys.OUTCOMES, f"the books of the comparison do not balance: {why}")
        return verified_trees(compared, inner)
    return None


def verified_shards(shards: list[Shard], ledger: Ledger, absent: Absent = SHARD_FAILED) -> Verification:
    """The verification of what was copied; an entry that was copied and not compared is a difference."""
    counts, failures, sums = no_counts(), [], RecordSums()
    copied = copied_big_files(ledger) if any(shard.blocks is not None for shard in shards) else set()
    for shard in shards:
        if shard.blocks is not None and ledger.read_big_file(shard.key).id not in copied:
            continue
        found = records(keys.verified_id(shard.id), ledger)
        sums += sums_of(found, ledger)
        for _, index, outcome in each_once(found, ledger):
            first_block = shard.blocks is not None and index == 0
            counts[outcome.result] += Count(int(shard.blocks is None or first_block), outcome.size)
            if outcome.result in TROUBLE:
                failures.append(outcome)
        failures += list(_not_verified(shard, settled(found), ledger, absent.message))
    compared = sum((counts[result] for result in TROUBLE), counts[Result.COPIED])
    return _with_digests(compared, failures, _reasons(failures), sums.digests)


def _not_verified(shard: Shard, seen: set[int], ledger: Ledger, why: str) -> Iterator[Outcome]:
    if shard.blocks is not None:
        if len(seen) < shard.items:
            entry = ledger.read_big_file(shard.key).entry
            message = f"{shard.items - len(seen)} blocks were not verified: {why}"
            yield Outcome.because(entry, Reason.NOT_VERIFIED, message)
        return
    copied = records(shard.id, ledger)
    if not settled(copied) <= seen:
        for _, index, outcome in each_once(copied, ledger):
            if index not in seen and is_to_verify(shard, outcome):
                yield outcome.instead(Reason.NOT_VERIFIED, f"its shard was not verified: {why}")


def verified_trees(found: RunBooks, ledger: Ledger) -> Verification:
    """The comparison of both trees; what only the destination holds is a difference too."""
    extras = [
        outcome
        for done in whole_listing(ledger)
        for key in done.extras
        for outcome in ledger.read_rows_as(key, outcome_from_row)
    ]
    plan, results, sums = ledger.read_plan(), found.books.by_result, found.sums
    big_files = list(compared_big_files(ledger))
    digests = sums.digests + both_digests(one.outcome for one in big_files)
    reasons = Counter(found.reasons) + _reasons(extras)
    compared = results[Result.UNCHANGED] + results[Result.FAILED]
    named = sum(one.has_names for one in big_files)
    in_blocks = {what: sum(map(is_it, big_files)) for what, is_it in FINDINGS.items()}
    left_out = not_compared(plan, ledger, Counter(sums.findings) + Counter(in_blocks), named)
    return _with_digests(compared, found.failures + extras, reasons, digests, left_out)


def _reasons(failures: list[Outcome]) -> Counter[Reason]:
    return Counter(outcome.reason for outcome in failures if outcome.reason is not None)


def _with_digests(
    compared: Count,
    failures: list[Outcome],
    reasons: Mapping[Reason, int],
    digests: BothDigests,
    left_out: Sequence[NotCompared] = (),
) -> Verification:
    """``reasons`` count what was not equal, also beyond the failures that are kept.

    ``digests`` are those of the records; no record is about what only one end holds.
    """
    for outcome in failures:
        if outcome.reason in (Reason.MISSING, Reason.EXTRA):
            digest = entry_digest(outcome.path, outcome.kind, outcome.size, "")
            missing = outcome.reason is Reason.MISSING
            digests = digests.plus(digest if missing else 0, 0 if missing else digest)
    unequal = (one for one in failures if one.result is Result.FAILED and one.reason not in _NOT_COMPARED)
    differing = {one.path.removesuffix("/").rpartition("/")[0] for one in unequal}
    verified = Verified(
        compared=compared,
        differences=sum(reasons.values()),
        by_class=[Difference(*one) for one in sorted(reasons.items(), key=lambda one: (-one[1], one[0].value))],
        not_compared=list(left_out),
        source_digest=f"{int(digests.source, 16):064x}",
        destination_digest=f"{int(digests.destination, 16):064x}",
        differing_directories=sorted(differing)[:DIRECTORIES_SHOWN],
    )
    return Verification(verified, failures)
