"""Comparing a part of a big file where nothing was copied: each end is read, block by block.

An end whose store keeps the CRC64NVME of the whole is not read: see ``sums.stored_whole``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import closing

from fanout.certificate.content_digest import digest_of_zeros
from fanout.facts import tuning
from fanout.ledger import keys
from fanout.model.books import Count
from fanout.model.checksum import NO_BYTES, append_zeros, crc64nvme
from fanout.model.entry import Entry
from fanout.model.errors import AccessDenied, FanoutError, ItemError, problem_of
from fanout.model.outcome import Reason
from fanout.model.shard import BigFile, Receipt, failed_block
from fanout.ports.tree import ReadTree, Source
from fanout.shards.record import read_receipts, write_receipts
from fanout.shards.tasks.attempts import TaskNotes, TaskProgress
from fanout.shards.tasks.shard_task import ShardTask
from fanout.verifying.earlier_proofs import big_files_before, earlier_blocks
from fanout.verifying.moved import pin_of_copy
from fanout.verifying.sums.stored_whole import End, note_stored
from fanout.verifying.tags import TagsSeen, tags_key
from fanout.verifying.verify_rules import tags_of
from fanout.work.parallel import work_on
from fanout.work.threads import ByteBudget


def compare_blocks(big: BigFile, task: ShardTask) -> TaskProgress:
    """Note the checksums of the blocks of a part, and the file's attributes, at both ends or at the one seen here.

    The comparison needs the checksums of the whole file: ``compared_big_files``.
    Raises ``Transient`` if nothing could be read for reasons that may pass.
    """
    _note_tags(big, task)
    ends = [End.DESTINATION] if task.plan.request.between_mounts else [*End]
    stored = {end: note_stored(end, big, task) for end in ends}
    reads = ReadAt(task.notes(), max(1, sum(one is None for one in stored.values())))
    read = {End.SOURCE: digest_blocks, End.DESTINATION: _destination_blocks}
    done = [stored[end] or read[end](big, task, reads) for end in ends]
    return TaskProgress(min(one.cursor for one in done), all(one.done for one in done), done[-1].worked)


def _note_tags(big: BigFile, task: ShardTask) -> None:
    """Note the look at the tags of an object that a move would delete; the task of the first block does it."""
    tags = tags_of(task.plan, task.context)
    assert task.shard.blocks is not None
    if tags is None or task.shard.blocks[0] > 0:
        return
    try:
        found = task.context.source(task.plan).find_stored(big.entry.path)
        if found is None:
            raise ItemError(Reason.SOURCE_VANISHED, "the entry is no longer there")
        problem = tags.problem(big.entry, found.attributes)
    except AccessDenied as error:
        problem = Reason.SOURCE_DENIED, str(error)
    except FanoutError:
        raise
    except Exception as error:  # noqa: BLE001 - see problem_of
        problem = problem_of(error).reason, problem_of(error).message
    task.ledger.write(tags_key(big.id), TagsSeen(*(problem or (None, ""))))


class ReadAt:
    """Notes the progress of a task that reads a part at ``ends`` ends: a byte counts when it is read at each."""

    def __init__(self, notes: TaskNotes, ends: int) -> None:
        self._notes, self._ends, self._read = notes, ends, 0

    def along(self, read: Iterator[tuple[int, Receipt]], big: BigFile) -> Iterator[tuple[int, Receipt]]:
        """Pass on the receipts of an end."""
        before = self._read // self._ends
        for index, receipt in self._notes.along(read, lambda one: big.block(one.index)[1] // self._ends, before):
            self._read += big.block(index)[1]
            yield index, receipt


def digest_blocks(big: BigFile, task: ShardTask, reads: ReadAt) -> TaskProgress:
    """Note the checksums of the blocks of a part at the source. Raises ``Transient`` as ``compare_blocks``."""
    source = task.context.source(task.plan)
    return _noted(End.SOURCE, lambda: (source.open(big.entry), ""), big, task, reads)


def _destination_blocks(big: BigFile, task: ShardTask, reads: ReadAt) -> TaskProgress:
    destination = task.context.destination(task.plan)
    return _noted(End.DESTINATION, lambda: _opened(destination, big.entry.placed), big, task, reads)


# Opens an end; the pin tells the file from one that was written later, and is empty where its entry does.
_Open = Callable[[], tuple[Source, str]]


def _noted(end: End, open_end: _Open, big: BigFile, task: ShardTask, reads: ReadAt) -> TaskProgress:
    shard, ledger = task.shard, task.ledger
    assert shard.blocks is not None
    receipts_id = end.receipts_id(shard.id)
    known = read_receipts(receipts_id, ledger)
    wanted = task.left(((index, index) for index in range(*shard.blocks)), known)

    def open_and_note() -> tuple[Source, str]:
        opened, pin = open_end()
        if (0, 0) in wanted:  # before its receipt, so that one who finds this block finds the attributes
            ledger.write(keys.seen_key(big.id, end.value), opened.attributes)
        return opened, pin

    def earlier(pin: str) -> dict[int, Receipt]:
        files = big_files_before(task.plan, ledger)
        return earlier_blocks(big, dict(wanted), end.receipts_id, pin, files, ledger)

    receipts, taken_over = _checksums(big, open_and_note, earlier, wanted, task, reads)
    done = taken_over | receipts
    if done:
        write_receipts(receipts_id, task.context.nonce, done, 0, ledger, taken_over=len(taken_over))
    return task.progress(len(done), Count(0, sum(big.block(index)[1] for index in done)))


def checksum_of_block(source: Source, offset: int, length: int) -> int:
    """The checksum of a block; what is known to be zero is not read."""
    return _sums_of_block(source, offset, length, certifies=False)[0]


def _sums_of_block(source: Source, offset: int, length: int, *, certifies: bool) -> tuple[int, str]:
    """The checksum of a block and, for a certificate, its SHA-256; what is known to be zero is not read."""
    if source.zeros_at(offset) >= length:
        return append_zeros(NO_BYTES, length), digest_of_zeros(length).hex() if certifies else ""
    checksum, came, content = NO_BYTES, 0, hashlib.sha256() if certifies else None
    with closing(source.stream(offset, length)) as pieces:
        for data in pieces:
            checksum, came = crc64nvme(data, checksum), came + len(data)
            if content is not None:
                content.update(data)
    if came != length:
        raise ItemError(Reason.SOURCE_CHANGED, "the entry ends before its listed size")
    return checksum, content.hexdigest() if content else ""


def _checksums(
    big: BigFile,
    open_end: _Open,
    earlier: Callable[[str], dict[int, Receipt]],
    wanted: list[tuple[int, int]],
    task: ShardTask,
    reads: ReadAt,
) -> tuple[dict[int, Receipt], dict[int, Receipt]]:
    """The receipts of the blocks that are read, and of those that an earlier comparison read."""
    try:
        source, pin = open_end()
    except FanoutError:
        raise
    except Exception as error:  # noqa: BLE001 - see problem_of
        problem = problem_of(error)
        return {index: failed_block(index, problem) for index, _ in wanted}, {}
    certifies = task.plan.request.certificate
    budget = ByteBudget(tuning.BUFFER_BYTES)

    def read(index: int) -> Receipt:
        offset, length = big.block(index)
        try:
            task.limiter.read(length, task.deadline)
            with budget.take(length):
                checksum, sha256 = _sums_of_block(source, offset, length, certifies=certifies)
                return Receipt(index, checksum, pin, sha256=sha256)
        except Exception as error:  # noqa: BLE001 - see problem_of
            return failed_block(index, problem_of(error))

    try:
        # Not held to the rate: a chain of runs with a limit of time could not get past them.
        taken_over = dict(reads.along(iter(earlier(pin).items()), big))
        rest = [one for one in wanted if one[0] not in taken_over]
        threads = max(1, min(tuning.BLOCKS_IN_FLIGHT, len(rest)))
        receipts = dict(reads.along(work_on(rest, read, threads, task.deadline, []), big))
    finally:
        source.close()
    if receipts:  # else the other end may have taken the time
        task.too_late(len(wanted), receipts | taken_over)
    return receipts, taken_over


def _opened(tree: ReadTree, entry: Entry) -> tuple[Source, str]:
    """The destination's file as it is now, if it has the size of the source, and its pin."""
    found = tree.find_stored(entry.path)
    if found is None:
        raise ItemError(Reason.MISSING, "the destination does not hold it")
    if found.entry.size != entry.size:
        raise ItemError(Reason.DIFFERS, "the destination no longer holds a file of this size")
    return tree.open(found.entry), pin_of_copy(found)
