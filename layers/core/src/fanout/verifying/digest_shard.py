"""DigestShard: checksums and attributes of a shard's entries at a source that VerifyShard does not see."""

from __future__ import annotations

from itertools import chain

from fanout.facts import tuning
from fanout.model.document import Json
from fanout.model.entry import Entry, Kind
from fanout.model.errors import AccessDenied, problem_of
from fanout.model.outcome import Reason
from fanout.model.shard import Shard
from fanout.shards.tasks.shard_task import ShardTask, too_large
from fanout.verifying.compare_blocks import ReadAt, digest_blocks
from fanout.verifying.earlier_proofs import proofs_about
from fanout.verifying.source_checksums import SourceChecksum, read_checksums, write_checksums
from fanout.verifying.verifier import Verifier, attributes_of
from fanout.verifying.verify_rules import rules_of
from fanout.verifying.verify_shard import source_look
from fanout.work.context import Context
from fanout.work.parallel import work_on


def digest_shard(shard: Shard, context: Context) -> Json:
    """Read the entries that no attempt has read; returns ``cursor`` (checksums so far) and ``done``.

    A move that was resumed takes the checksum of a file over that an earlier comparison proved, and opens it alone.

    Raises ``Transient`` if nothing at all could be read for reasons that may pass.
    """
    task = ShardTask("digest", "read", shard, context)
    plan, ledger = task.plan, task.ledger
    if shard.blocks is not None:
        big = ledger.read_big_file(shard.key)
        return digest_blocks(big, task, ReadAt(task.notes(), 1)).answer
    left = task.left(enumerate(ledger.read_shard(shard)), read_checksums(shard.id, ledger))
    source = context.source(plan)
    rules = rules_of(plan, ledger)
    certifies = plan.request.certificate and plan.request.course.compares
    verifier = Verifier(source, task.deadline, task.limiter, rules, certifies=certifies)

    proofs = proofs_about((entry for _, entry in left), plan, ledger)

    def is_proven(entry: Entry) -> bool:
        proof = proofs.get(entry.path)
        return entry.kind is Kind.FILE and proof is not None and bool(proof.checksum) and proof.same_source(entry)

    def read(entry: Entry) -> tuple[int, SourceChecksum]:
        try:
            if is_proven(entry):
                known = proofs[entry.path].checksum or ""
                return entry.size, SourceChecksum(known, attributes=attributes_of(source, entry))
            seen = source_look(entry, source, verifier).against({})
            return entry.size, SourceChecksum(seen.crc64nvme, attributes=seen.attributes, sha256=seen.sha256)
        except AccessDenied as error:
            return entry.size, SourceChecksum("", Reason.SOURCE_DENIED, str(error))
        except Exception as error:  # noqa: BLE001 - see problem_of
            problem = problem_of(error)
            return entry.size, SourceChecksum("", problem.reason, problem.message)

    cut_off: list[tuple[int, Entry]] = []
    # What is proven is not held to the rate: a chain of runs with a limit of time could not get past it.
    proven = [one for one in left if is_proven(one[1])]
    rest = [one for one in left if not is_proven(one[1])]
    threads = min(tuning.CLIENT_OPERATIONS_IN_FLIGHT, len(left)) or 1
    taken = work_on(proven, read, threads, task.deadline, cut_off)
    done = chain(taken, work_on(rest, read, threads, task.deadline, cut_off, task.admit))
    found = {index: one for index, (_, one) in task.notes().along(done, lambda one: one[0])}
    for index, entry in task.too_late(len(left), found, cut_off):
        found[index] = SourceChecksum("", Reason.OUT_OF_TIME, too_large(entry, "reads"))
    if found:
        write_checksums(shard.id, context.nonce, found, ledger)
    return task.progress(len(found)).answer
