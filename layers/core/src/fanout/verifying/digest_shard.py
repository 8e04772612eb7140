"""DigestShard: checksums and attributes of a shard's entries at a source that VerifyShard does not see."""

from __future__ import annotations

from fanout.model.document import Json
from fanout.model.entry import Entry
from fanout.model.errors import AccessDenied, problem_of
from fanout.model.outcome import Reason
from fanout.model.shard import Shard
from fanout.shards.tasks.shard_task import ShardTask, too_large
from fanout.verifying.compare_blocks import ReadAt, digest_blocks
from fanout.verifying.source_checksums import SourceChecksum, read_checksums, write_checksums
from fanout.verifying.verifier import Verifier
from fanout.verifying.verify_rules import rules_of
from fanout.verifying.verify_shard import source_checksum
from fanout.work.context import Context


def digest_shard(shard: Shard, context: Context) -> Json:
    """Read the entries that no attempt has read; returns ``cursor`` (checksums so far) and ``done``.

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

    def read(entry: Entry) -> tuple[int, SourceChecksum]:
        try:
            seen = source_checksum(entry, source, verifier)
            return entry.size, SourceChecksum(seen.checksum, attributes=seen.attributes, sha256=seen.sha256)
        except AccessDenied as error:
            return entry.size, SourceChecksum("", Reason.SOURCE_DENIED, str(error))
        except Exception as error:  # noqa: BLE001 - see problem_of
            problem = problem_of(error)
            return entry.size, SourceChecksum("", problem.reason, problem.message)

    cut_off: list[tuple[int, Entry]] = []
    found = {index: one for index, (_, one) in task.done_along(left, read, lambda one: one[0], cut_off)}
    for index, entry in task.too_late(len(left), found, cut_off):
        found[index] = SourceChecksum("", Reason.OUT_OF_TIME, too_large(entry, "reads"))
    if found:
        write_checksums(shard.id, context.nonce, found, ledger)
    return task.progress(len(found)).answer
