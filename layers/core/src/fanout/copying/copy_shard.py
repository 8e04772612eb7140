"""CopyShard: copies the entries of a shard that have no outcome yet, until they are done or the time is up."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

from msgspec import to_builtins

from fanout.copying.copier import Copier, never_same
from fanout.copying.copy_blocks import copy_blocks
from fanout.copying.forked_copier import CopiesEntries, ForkedCopier, processes_for
from fanout.copying.linking import linked_from, version_before, write_made
from fanout.copying.same_content import SameContent, or_copy
from fanout.facts import tuning
from fanout.forecast.of_run import threads_of
from fanout.ledger import keys
from fanout.ledger.coverage import indexes_of
from fanout.ledger.ledger import Ledger
from fanout.model.books import Count, tally
from fanout.model.checksum import NO_BYTES, crc64nvme
from fanout.model.document import Json
from fanout.model.entry import Attributes, Entry, Made
from fanout.model.errors import Throttled
from fanout.model.outcome import Outcome, Reason, Result
from fanout.model.shard import Shard
from fanout.ports.limiter import Limiter
from fanout.rates.shared_limiter import SharedLimiter
from fanout.request.options import Compare
from fanout.request.plan import Plan
from fanout.shards.entry_report import report_done
from fanout.shards.made_directories import MadeDirectory
from fanout.shards.tasks.attempts import Progress, note_throttling, noted
from fanout.shards.tasks.notes import TaskNotes, failures_of
from fanout.shards.tasks.shard_task import ShardTask, too_large
from fanout.shards.tasks.unread_entries import write_unread
from fanout.work.context import Context


class OutcomeWriter:
    """Writes outcomes in files that no other attempt names, every ``tuning.CHECKPOINT_SECONDS``.

    ``notes`` receives the progress in between. A ``plan`` that asks for it has the entries reported too. ``take_made``
    hands over what a version got.
    """

    def __init__(
        self,
        shard: Shard,
        context: Context,
        notes: TaskNotes | None = None,
        plan: Plan | None = None,
        take_made: Callable[[], Sequence[Made]] = tuple,
    ) -> None:
        self._take_made = take_made
        self._plan = plan
        self._shard, self._context, self._notes = shard, context, notes
        self._held: dict[int, Outcome] = {}
        self._files = 0
        self._written_at = self._noted_at = context.clock.now()
        self.written = 0
        self.copied = Count()
        self.failures: Counter[str] = Counter()
        self._settled_bytes = 0

    def add(self, index: int, outcome: Outcome, directories: list[tuple[Entry, Attributes]]) -> None:
        """Take an outcome; writes when it is time to."""
        self._held[index] = outcome
        now = self._context.clock.now()
        if now - self._written_at >= tuning.CHECKPOINT_SECONDS:
            self.flush(directories)
        if self._notes is not None and now >= self._notes.due_at:
            self._note(self._notes)

    def _note(self, notes: TaskNotes) -> None:
        """Note how far this task is; what is held has yet to be written, and is on its way."""
        held = self._held.values()
        size = self._settled_bytes + sum(outcome.size for outcome in held)
        notes.write(Count(self.written + len(held), size), self.failures + failures_of(held))

    def flush(self, directories: list[tuple[Entry, Attributes]]) -> None:
        """Write what is held. Directories and records first: without them an outcome must not count."""
        self._written_at = self._context.clock.now()
        if not self._held:
            return
        ledger, nonce = self._context.ledger, self._context.nonce
        taken, directories[:] = list(directories), []
        if taken:
            key = keys.directories_key(self._shard.id, nonce, self._files)
            ledger.write_rows(key, (directory_row(entry, attributes) for entry, attributes in taken))
        write_made(self._take_made(), ledger, nonce, self._files)
        counts = tally(self._held.values())
        seconds, self._noted_at = self._written_at - self._noted_at, self._written_at
        name = keys.outcomes_name(nonce, self._files, len(taken))
        if self._plan is not None:
            report_done(self._plan, ledger, "copy", f"{self._shard.id}-{name}", self._held.values())
        write_unread(self._shard.id, name, self._held, ledger)
        ledger.write_outcomes(self._shard.id, name, self._held, counts, seconds)
        self.written += len(self._held)
        self.copied += counts[Result.COPIED]
        self.failures += failures_of(self._held.values())
        self._settled_bytes += sum(count.bytes for count in counts.values())
        self._files += 1
        self._held = {}


def copy_shard(shard: Shard, context: Context) -> Json:
    """Copy what the ledger does not show as done; returns ``cursor`` (outcomes so far) and ``done``.

    Raises ``Transient`` if nothing at all could be copied for reasons that may pass.
    """
    work = copy_blocks if shard.blocks is not None else _copy_entries
    return noted("copy", shard, context, lambda: work(shard, context))


def _copy_entries(shard: Shard, context: Context) -> Progress:
    ledger = context.ledger
    with ThreadPoolExecutor(4) as pool:  # which ends here: a fork would inherit locks of its threads
        planned, reading = pool.submit(ledger.read_plan), pool.submit(ledger.read_shard, shard)
        settling, pacing = pool.submit(settled_indexes, shard, ledger), pool.submit(threads_of, ledger)
    plan, threads = planned.result(), pacing.result()
    task = ShardTask("copy", "copied", shard, context, plan)
    work = task.left(enumerate(reading.result()), settling.result())
    deadline = task.deadline
    source, destination = context.source(plan), context.destination(plan)
    crc64nvme(b"", NO_BYTES)  # loads what computes it once, for all processes
    on_mounts, within = context.forks(plan), context.entry_copier(plan)
    most = tuning.COPY_PROCESSES if on_mounts else 1 if within else context.processors
    if threading.active_count() > 1:  # a fork would inherit their locks, held for ever
        most = 1
    processes = processes_for(len(work), threads, most)

    def copier(limiter: Limiter) -> Copier:
        same: Callable[[Entry], str | None] = never_same
        if plan.request.compare is Compare.CHECKSUM:
            inside_s3 = plan.request.inside_s3
            same = or_copy(SameContent(source, destination, deadline, limiter, inside_s3=inside_s3))
        if shard.linked:
            same = linked_from(plan, version_before(ledger), destination, ledger, [entry for _, entry in work])
        return Copier(
            source,
            destination,
            deadline,
            symlinks=plan.request.symlinks,
            within=within,
            same=same,
            buffer_bytes=tuning.BUFFER_BYTES // processes,
            block_bytes=tuning.BLOCK_BYTES_ON_MOUNTS if on_mounts else None,
            limiter=limiter,
            skips_archived=plan.request.skips_archived,
            now=context.clock.now,
        )

    if processes == 1:
        writer = copy_work(work, copier(task.limiter), task, threads)
    else:
        with closing(SharedLimiter(task.limiter, processes)) as shared:
            writer = copy_work(work, ForkedCopier(copier(shared), processes, shared.serve), task, threads)
    return task.progress(writer.written, writer.copied, writer.failures)


def copy_work(work: list[tuple[int, Entry]], copier: CopiesEntries, task: ShardTask, threads: int) -> OutcomeWriter:
    """Copy these entries of a shard, at most ``threads`` at once; returns what wrote the outcomes.

    Raises ``Transient`` if nothing at all could be copied for reasons that may pass.
    """
    writer = OutcomeWriter(task.shard, task.context, task.notes(), task.plan, copier.take_made)
    passing: dict[int, Outcome] = {}
    for index, outcome in copier.copy_all(work, min(threads, len(work)) or 1):
        if outcome.reason is Reason.TRANSIENT:
            passing[index] = outcome
        else:
            writer.add(index, outcome, copier.directories)
    writer.flush(copier.directories)
    if any(outcome.message.startswith(Throttled.__name__) for outcome in passing.values()):
        note_throttling(task.context)
    late = [] if writer.written else task.too_late(len(work) - copier.left_out, passing, copier.unfinished)
    for index, outcome in (*passing.items(), *((index, out_of_time_outcome(entry)) for index, entry in late)):
        writer.add(index, outcome, copier.directories)
    writer.flush(copier.directories)
    return writer


def settled_indexes(shard: Shard, ledger: Ledger) -> set[int]:
    """The indexes of the shard's entries that have an outcome."""
    return {index for file in ledger.outcome_files(shard.id) for index in indexes_of(file.ranges)}


def out_of_time_outcome(entry: Entry) -> Outcome:
    """The outcome of an entry that a whole function could not copy."""
    return Outcome.because(entry, Reason.OUT_OF_TIME, too_large(entry, "copies"))


def directory_row(entry: Entry, attributes: Attributes) -> Json:
    """A directory that was made, with what is to be set on it at the end."""
    mode, uid, gid = attributes.mode, attributes.uid, attributes.gid
    made = MadeDirectory(entry.path, mode, uid, gid, attributes.copied_mtime_ns, attributes.atime_ns)
    row: Json = to_builtins(made)
    return row
