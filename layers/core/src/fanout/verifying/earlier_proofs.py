"""Finds what the comparisons of the runs that a run resumes have proven.

| an entry that an earlier comparison found equal         | the comparison of this run      |
|---------------------------------------------------------|---------------------------------|
| listed as it was, and the copy is the one compared then | equal, without reading it again |
| the same, and a move deletes the object                 | a HEAD shows its tags first     |
| a directory                                             | compared, not held to the rate  |
| a file in blocks, read in part                          | its other blocks are read       |
| any other                                               | compared                        |


Between two mounts, where no function sees both ends, DigestShard takes the checksum of a file that is listed as it was
(``same_source``), and VerifyShard looks at the copy.

Only comparisons with the same rules count. The deletion of a move looks at both ends again, whoever proved the entry.

Finds the blocks of big files that the comparisons of the runs that a run resumes have read.

| a block that an earlier comparison read | is taken over where                                        |
|-----------------------------------------|------------------------------------------------------------|
| at the source                           | the file is listed as it was                               |
| at the destination                      | the copy has the pin that it had then (``pin_of_copy``)    |

A block is taken over at one end alone; whether the ends are equal is decided when all blocks of both were read.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator
from itertools import chain

from msgspec import Struct
from msgspec.structs import replace

from fanout.ledger import keys
from fanout.ledger.documents import indexes_of
from fanout.ledger.kind import ObjectKind
from fanout.ledger.ledger import Ledger
from fanout.model.entry import Entry, Found, Kind
from fanout.model.entry_outcome import EntryFinding
from fanout.model.outcome import Result
from fanout.model.path_rules import PlainName
from fanout.model.shard import BigFile, Receipt
from fanout.request.fields.traits import Decides
from fanout.request.plan import Plan
from fanout.request.request import fields_up_to
from fanout.shards.big_files import parts_of_big_files
from fanout.shards.record import Proven, all_records, read_receipts, read_record, record_keys, rows_of
from fanout.verifying.moved import is_copy_of
from fanout.verifying.not_holdable import LET_GO
from fanout.verifying.verify_rules import rules_of
from fanout.work.parallel import ahead


class EarlierPart(Struct, frozen=True):
    """A shard of blocks: the first, and the one after the last."""

    shard_id: PlainName
    first: int
    end: int


class EarlierBigFile(Struct, frozen=True):
    """A big file of an earlier comparison, by the key of its description, and its parts of which blocks were read."""

    run_id: PlainName
    path: str
    key: str
    parts: list[EarlierPart]


def is_listed_as(listed: Entry, before: Entry) -> bool:
    """Whether a source is listed as it was before: on a mount by ctime, inode, size and mtime, in S3 by its ETag."""
    return replace(listed, replaces="", held="") == replace(before, replaces="", held="")


def big_files_of(earlier: Ledger) -> Iterator[EarlierBigFile]:
    """The big files of which an earlier comparison read blocks."""
    read = {key.removeprefix(keys.OUTCOMES).partition("/")[0] for key in record_keys(earlier)}
    found: dict[str, list[EarlierPart]] = {}
    for key, shards in parts_of_big_files(earlier).items():
        begun = [one for one in shards if read & {keys.source_id(one.id), keys.verified_id(one.id)}]
        if begun:
            found[key] = [EarlierPart(one.id, *one.blocks) for one in begun if one.blocks is not None]
    for key, big in ahead(earlier.read_big_file, found, _READS_IN_FLIGHT):
        yield EarlierBigFile(earlier.run_id, big.entry.path, key, found[key])


def earlier_blocks(
    big: BigFile,
    wanted: Collection[int],
    receipts_id: Callable[[str], str],
    pin: str,
    known: list[EarlierBigFile],
    ledger: Ledger,
) -> dict[int, Receipt]:
    """The receipts of an end that hold for blocks of a file, by the module's table.

    ``pin`` is that of the copy; empty for the source, which its entry pins.
    """
    found: dict[int, Receipt] = {}
    for file in known:
        if file.path != big.entry.path or len(found) == len(wanted):
            continue
        earlier = _comparison_of(file.run_id, ledger)
        before = earlier.read_big_file(file.key)
        if before.block_bytes != big.block_bytes or not is_listed_as(big.entry, before.entry):
            continue
        for part in file.parts:
            if any(part.first <= index < part.end for index in wanted):
                for index, receipt in read_receipts(receipts_id(part.shard_id), earlier).items():
                    if index in wanted and receipt.reason is None and receipt.etag == pin:
                        found.setdefault(index, receipt)
    return found


_READS_IN_FLIGHT = 32


class ProofFile(Struct, frozen=True):
    """The proofs of one record of an earlier comparison, by its shard and its name, and the range of their paths."""

    run_id: PlainName
    shard_id: PlainName
    name: PlainName
    proven: Proven

    def may_hold(self, first: bytes, last: bytes) -> bool:
        """Whether a path of the range may be in it."""
        return os.fsencode(self.proven.first) <= last and first <= os.fsencode(self.proven.last)


class EarlierProofs(Struct, frozen=True):
    """earlier-proofs.json: the files of all earlier comparisons that count, the latest run's first.

    ``big_files`` are those of which a comparison read blocks: see ``earlier_blocks``.
    """

    files: list[ProofFile]
    big_files: list[EarlierBigFile] = []


EARLIER_PROOFS = ObjectKind("deletions/earlier-proofs.json", EarlierProofs, by=("PartitionShards",), short=False)


class EarlierProof(Struct, frozen=True):
    """An entry as it was proven; ``replaces`` pins its copy. ``is_told_whole`` as in ``ComparedEntry``.

    ``let_go``: the note of a move counted it.
    """

    entry: Entry
    checksum: str | None
    is_told_whole: bool
    let_go: bool = False

    def holds(self, listed: Entry, copy: Found | None) -> bool:
        """Whether both ends are as they were when they were compared; the module's table is the contract."""
        if copy is None or listed.kind is Kind.DIRECTORY or not self.entry.replaces:
            return False
        return self.same_source(listed) and copy.entry.size == listed.size and is_copy_of(self.entry.replaces, copy)

    def same_source(self, listed: Entry) -> bool:
        """Whether the source is listed as it was when it was compared: on a mount by ctime, inode, size and mtime."""
        return is_listed_as(listed, self.entry)


def note_earlier_proofs(plan: Plan, ledger: Ledger) -> None:
    """Write which files hold proofs that count in a comparison of both trees, of a run that resumes another one.

    The comparison is that of the plan. Raises ``LedgerBroken``.
    """
    if not plan.request.course.compares or not plan.resumes or plan.request.certificate:
        return
    earlier = [_comparison_of(run_id, ledger) for run_id in plan.resumes]
    alike = [one for one in earlier if _compares_alike(plan, ledger, one)]
    files = [file for one in alike for file in _files_of(one)]
    big_files = [big for one in alike for big in big_files_of(one)]
    ledger.write(EARLIER_PROOFS, EarlierProofs(files, big_files))


def _comparison_of(run_id: str, ledger: Ledger) -> Ledger:
    """The ledger of an earlier run that is to that run what a ledger is to its own: the run's, or the one inside."""
    earlier = ledger.of_run(run_id)
    return earlier.verification() if ledger.is_verification else earlier


def _compares_alike(plan: Plan, ledger: Ledger, earlier: Ledger) -> bool:
    """Whether an earlier run began a comparison, by the same rules."""
    if not earlier.has(keys.PLAN):
        return False
    before = earlier.read_plan()
    may_differ = {name: getattr(plan.request, name) for name in fields_up_to(Decides.WORK)}
    return replace(before.request, **may_differ) == plan.request and rules_of(before, earlier) == rules_of(plan, ledger)


def _files_of(earlier: Ledger) -> Iterator[ProofFile]:
    """The records of its shards that name what was proven."""
    for record in all_records(earlier):
        if record.proven is not None and record.proven.shards:
            yield ProofFile(earlier.run_id, record.shard_id, record.name, record.proven)


def big_files_before(plan: Plan, ledger: Ledger) -> list[EarlierBigFile]:
    """The big files of which blocks were read."""
    return _known(plan, ledger).big_files


def _known(plan: Plan, ledger: Ledger) -> EarlierProofs:
    """The proofs that count; none for all but a comparison of both trees in a run that resumes another one."""
    if not plan.request.course.compares or not plan.resumes or not ledger.has(EARLIER_PROOFS):
        return EarlierProofs([])
    return ledger.read(EARLIER_PROOFS)


def proofs_about(entries: Iterable[Entry], plan: Plan, ledger: Ledger) -> dict[str, EarlierProof]:
    """The proofs about these entries by path, the latest of each."""
    files, wanted = _known(plan, ledger).files, {entry.path for entry in entries}
    if not files or not wanted:
        return {}
    raw = [os.fsencode(path) for path in wanted]
    first, last = min(raw), max(raw)
    found: dict[str, EarlierProof] = {}
    for file in files:
        if file.may_hold(first, last):
            for proof in _proofs_in(file, _comparison_of(file.run_id, ledger)):
                if proof.entry.path in wanted:
                    found.setdefault(proof.entry.path, proof)
    return found


def _proofs_in(file: ProofFile, earlier: Ledger) -> Iterator[EarlierProof]:
    record = read_record(f"{keys.outcomes_prefix(file.shard_id)}{file.name}.json", earlier)
    untold, lost = indexes_of(record.findings.get(EntryFinding.NOT_TOLD, [])), record.said(LET_GO)
    rows = rows_of(record, earlier)
    equal = {
        one.path: (one.crc64nvme, index not in untold, index in lost)
        for index, one in rows
        if one.result is Result.UNCHANGED
    }
    for entry in chain.from_iterable(map(earlier.read_shard, file.proven.shards)):
        if entry.path in equal:
            yield EarlierProof(entry, *equal[entry.path])
