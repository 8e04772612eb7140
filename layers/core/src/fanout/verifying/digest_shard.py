"""DigestShard: checksums and attributes of a shard's entries at a source that VerifyShard does not see."""

from __future__ import annotations

from fanout.facts import tuning
from fanout.model.document import Json
from fanout.model.entry import Entry
from fanout.model.errors import AccessDenied, Transient, problem_of
from fanout.model.outcome import Reason
from fanout.model.shard import Shard
from fanout.shards.tasks.notes import TaskNotes
from fanout.verifying.compare_blocks import ReadAt, digest_blocks
from fanout.verifying.source_checksums import SourceChecksum, read_checksums, write_checksums
from fanout.verifying.verifier import Verifier
from fanout.verifying.verify_rules import rules_of
from fanout.verifying.verify_shard import source_checksum
from fanout.work.context import Context
from fanout.work.parallel import work_on


def digest_shard(shard: Shard, context: Context) -> Json:
    """Read the entries that no attempt has read; returns ``cursor`` (checksums so far) and ``done``.

    Raises ``Transient`` if nothing at all could be read for reasons that may pass.
    """
    ledger = context.ledger
    if shard.blocks is not None:
        big = ledger.read_big_file(shard.key)
        notes = TaskNotes("digest", shard.id, ledger, context.nonce, context.clock)
        noted = digest_blocks(shard, big, context, ledger.read_plan(), ReadAt(notes, 1))
        return {"cursor": noted.cursor, "done": noted.done}
    known = read_checksums(shard.id, ledger)
    entries = ledger.read_shard(shard)
    left = [(index, entry) for index, entry in enumerate(entries) if index not in known]
    plan = ledger.read_plan()
    context = context.within(plan)
    source = context.source(plan)
    deadline = context.deadline()
    rules = rules_of(plan, ledger)
    certifies = plan.request.certificate and plan.request.course.compares
    verifier = Verifier(source, deadline, context.limiter, rules, certifies=certifies)

    def read(entry: Entry) -> SourceChecksum:
        try:
            seen = source_checksum(entry, source, verifier)
            return SourceChecksum(seen.checksum, attributes=seen.attributes, sha256=seen.sha256)
        except AccessDenied as error:
            return SourceChecksum("", Reason.SOURCE_DENIED, str(error))
        except Exception as error:  # noqa: BLE001 - see problem_of
            problem = problem_of(error)
            return SourceChecksum("", problem.reason, problem.message)

    threads = min(tuning.CLIENT_OPERATIONS_IN_FLIGHT, len(left)) or 1
    unfinished: list[tuple[int, Entry]] = []
    admit = lambda: context.limiter.admit(verifier.deadline)  # noqa: E731
    notes = TaskNotes("digest", shard.id, ledger, context.nonce, context.clock, len(known))
    done = work_on(left, lambda entry: (entry.size, read(entry)), threads, verifier.deadline, unfinished, admit)
    found = {index: checksum for index, (_, checksum) in notes.along(done, lambda one: one[0])}
    passing = [one for one in found.values() if one.reason is Reason.TRANSIENT]
    if passing and len(passing) == len(found):
        raise Transient(f"{len(passing)} entries could not be read: {passing[0].message}")
    if not found:
        for index, entry in unfinished:
            if context.leaves(entry.size):
                continue  # the next task continues with it
            message = f"{entry.size} bytes are more than one function reads in its time"
            found[index] = SourceChecksum("", Reason.OUT_OF_TIME, message)
    if found:
        write_checksums(shard.id, context.nonce, found, ledger)
    total = len(known) + len(found)
    return {"cursor": total, "done": total >= len(entries)}
