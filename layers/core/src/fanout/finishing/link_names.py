"""The further names of files, linked to the copy of the first when every file is in its place."""

from __future__ import annotations

import threading
from collections.abc import Container, Iterable, Iterator
from functools import partial
from itertools import islice

from msgspec.structs import replace

from fanout.copying.copier import Copier
from fanout.copying.source_directories import SourceTreeDirectories, close_by_source
from fanout.facts import tuning
from fanout.finishing.divide import LinkRange
from fanout.ledger.ledger import Ledger
from fanout.model.deadline import Deadline
from fanout.model.entry import Entry, Place
from fanout.model.entry_outcome import Outcome
from fanout.model.errors import ItemError, Superseded, TimeUp, problem_of
from fanout.model.outcome import Reason, Result
from fanout.ports.file_system import FileSystem
from fanout.ports.limiter import Limiter
from fanout.ports.tree import OpensEntries, WriteTree
from fanout.request.plan import Plan
from fanout.shards.entry_report import report_done
from fanout.shards.made_directories import SeenDirectory, take, write_places
from fanout.shards.record import each_once, records, write_outcomes
from fanout.shards.tasks.outcome_writer import out_of_time_outcome, settled_indexes
from fanout.shards.tasks.shard_task import nothing_done
from fanout.turns.withdrawal import has_left
from fanout.work.context import Context
from fanout.work.other_mount import pinned_source
from fanout.work.parallel import side_by_side

# Outcomes written at once: what a repeated task repeats at most.
NAMES_PER_FILE = 2_000
_ATTEMPTS = 3


def link_names(
    plan: Plan, context: Context, links: Iterable[LinkRange], deadline: Deadline, *, has_whole_time: bool = True
) -> tuple[int, bool]:
    """Link every further name that has no outcome yet; returns how many got one, and whether all have one now.

    A name is linked only if this run copied the first name of its file, and only if
    it still is a name of the file that was listed. Where a file has to be copied for a name and the time ends, the name
    is left to the next task; it fails only if it was the first work of a task that ``has_whole_time``.
    """
    done = 0
    source, destination = pinned_source(plan, context), context.destination(plan)
    links = list(links)
    if links:
        end_copies(destination, context.ledger)
    linker = _Linker(source, destination, deadline, context.limiter, plan.request.left_out, context.ledger)
    linker.above = close_by_source(context.seen_source(plan), destination, plan, linker.seen.append)
    for link in links:
        shard, copied = link.shard, copied_paths(link.copied_by, context.ledger)
        outcome_of = partial(_outcome, linker, copied)
        # Ranges of one shard may have the same nonce, so the number of a file begins with its first row.
        for number, rows in enumerate(_batches(_open_rows(link, context.ledger)), link.first):
            if done and deadline.passed:
                linker.note(context)
                return done, False
            linked = side_by_side(outcome_of, rows, tuning.CLIENT_OPERATIONS_IN_FLIGHT)
            found = dict(zip([index for index, _ in rows], linked, strict=True))
            outcomes = {index: one for index, one in found.items() if one is not None}
            if has_whole_time and not done and not outcomes:
                late = nothing_done("none of the further names could be linked", context, cut_off=linker.cut_off)
                outcomes = {index: out_of_time_outcome(entry) for index, entry in late}
            name = f"{context.nonce}-{number:04d}"
            write_places(linker.take_places(), context.ledger, f"{shard.id}-{context.nonce}", number)
            report_done(plan, context.ledger, "copy", f"{shard.id}-{name}", outcomes.values())
            write_outcomes(shard.id, name, outcomes, context.ledger)
            done += len(outcomes)
            if len(outcomes) < len(rows):
                linker.note(context)
                return done, False
    linker.note(context)
    return done, True


def end_copies(destination: WriteTree, ledger: Ledger) -> None:
    """Have no attempt at a copy, however late it wakes up, put another file in the place of one that is linked to.

    The ledger is told first what is copied: nobody could copy it after this. In a bucket no name is linked.
    """
    files = destination.file_system
    if files is not None:
        ledger.settle()
        files.end_copies()


def copied_paths(shard_id: str, ledger: Ledger) -> frozenset[str]:
    """The paths that a shard copied; none for no shard."""
    found = records(shard_id, ledger) if shard_id else []
    return frozenset(outcome.path for _, _, outcome in each_once(found, ledger, {Result.COPIED}))


def _open_rows(link: LinkRange, ledger: Ledger) -> Iterator[tuple[int, tuple[Entry, str]]]:
    settled = settled_indexes(link.shard, ledger)
    rows = enumerate(ledger.read_links(link.shard))
    return ((index, row) for index, row in rows if link.first <= index < link.end and index not in settled)


def _batches(rows: Iterable[tuple[int, tuple[Entry, str]]]) -> Iterator[list[tuple[int, tuple[Entry, str]]]]:
    iterator = iter(rows)
    while batch := list(islice(iterator, NAMES_PER_FILE)):
        yield batch


def _outcome(linker: _Linker, copied: frozenset[str], indexed: tuple[int, tuple[Entry, str]]) -> Outcome | None:
    """The outcome of a name; ``None`` where the time was up."""
    index, row = indexed
    entry, first = row
    if not first:
        return Outcome.because(entry, Reason.SAME)
    if first not in copied:
        return Outcome.because(entry, Reason.FIRST_NAME, f"its first name is {first}")
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            outcome = linker.link(index, entry, first)
        except TimeUp:
            return None
        except Exception as error:
            problem = problem_of(error)
            if problem.reason is Reason.TRANSIENT and attempt < _ATTEMPTS:
                continue
            if problem.reason is Reason.DESTINATION_CHANGED and has_left(linker.ledger):
                # By another attempt, which linked the name and is removing the notes of what the run put there.
                raise Superseded(linker.ledger.run_id) from error
            return Outcome.because(entry, problem.reason, problem.message, left_out=linker.left_out)
        break
    return outcome


class _Linker:
    """Links further names; copies a file that has no room for another name, and links what follows to the copy.

    An entry with a reason of ``left_out`` is skipped.
    """

    def __init__(
        self,
        source: OpensEntries,
        destination: WriteTree,
        deadline: Deadline,
        limiter: Limiter,
        left_out: Container[Reason],
        ledger: Ledger,
    ) -> None:
        self._source, self._destination = source, destination
        self.left_out, self.ledger = left_out, ledger
        self._deadline, self._limiter = deadline, limiter
        self.cut_off: list[tuple[int, Entry]] = []
        self._copies: dict[str, str] = {}
        self.seen: list[SeenDirectory] = []
        self.above: SourceTreeDirectories | None = None
        self._number = 0
        self._copying = threading.Lock()

    def link(self, index: int, entry: Entry, first: str) -> Outcome:
        """The outcome of a name that is there now. Raises ``ItemError`` if it cannot be linked, nor the file copied.

        Raises ``TimeUp`` if the file has to be copied and the time is up; ``cut_off`` names what was begun.
        """
        if entry.target and self.above is not None:
            self.above.see(entry)
        self._source.open(entry).close()
        linked = self._copies.get(first, first)
        if self._linked(entry, linked):
            return Outcome.done(entry, Result.COPIED, message=f"linked to {linked}")
        with self._copying:
            other = self._copies.get(first, first)
            if other != linked and self._linked(entry, other):
                return Outcome.done(entry, Result.COPIED, message=f"linked to {other}")
            return self._copied(index, entry, first)

    @property
    def _files(self) -> FileSystem:
        files = self._destination.file_system
        assert files is not None  # further names are planned between file systems alone
        return files

    def note(self, context: Context) -> None:
        """Note how many files were copied for names that found no room; nothing for none."""
        if self._number:
            text = f"{self._number:,} of the further names are files of their own: a file had no room for another name"
            context.ledger.note(f"names-{context.nonce}", [text])

    def take_places(self) -> list[SeenDirectory]:
        """The directories that names were put into since the last call; no name is linked meanwhile."""
        files = self._destination.file_system
        return [*take(self.seen), *(files.take_places() if files is not None else ())]

    def _linked(self, entry: Entry, first: str) -> bool:
        try:
            self._files.link(entry, first)
        except ItemError as error:
            if error.reason is not Reason.LINK_LIMIT:
                raise
            return False
        return True

    def _copied(self, index: int, entry: Entry, first: str) -> Outcome:
        """Copy the first name's file, which this run copied from the source; the next names are linked to the copy."""
        outcome = None
        for _ in range(_ATTEMPTS):  # names that others give the file meanwhile change its ctime
            found, inode = self._destination.find_stored(first), self._files.placed_inode(first)
            if found is None or found.entry.size != entry.size:
                raise ItemError(Reason.DESTINATION_CHANGED, f"{first} is not what was copied there")
            copier = Copier(self._destination, self._destination, self._deadline, limiter=self._limiter)
            outcome = next(copier.copy_all([(0, replace(found.entry, inode=inode, target=entry.path))], 1), None)
            self.seen += [one for one in copier.directories if isinstance(one, Place)]
            if outcome is None or outcome[1].reason is not Reason.SOURCE_CHANGED:
                break
        if outcome is None:
            self.cut_off += [(index, entry) for _ in copier.unfinished]
            raise TimeUp
        done = outcome[1]
        if done.result is not Result.COPIED:
            return Outcome.because(entry, done.reason or Reason.UNEXPECTED, done.message, left_out=self.left_out)
        self._copies[first] = entry.path
        self._number += 1
        message = f"copied: {first} has no room for another name"
        return Outcome.done(entry, Result.COPIED, done.crc64nvme, message, seconds=done.seconds)
