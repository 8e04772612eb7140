"""Decides what becomes of each entry that one ListSegment finds; ``SegmentWriter`` writes it."""

from __future__ import annotations

from functools import partial

from msgspec.structs import replace

from fanout.facts import tuning
from fanout.listing.deciding.published import note_in, published_trees
from fanout.listing.directories.extra_writer import ExtraWriter, lists_extras
from fanout.listing.directories.parent_directories import ParentDirectories, may_be_left_out
from fanout.listing.directories.parents import ImpliedDirectories, OpenDirectories
from fanout.listing.list_destination import noted_trees
from fanout.listing.manifests.list_manifest import seen_there
from fanout.listing.segment_writer import SegmentWriter
from fanout.model.columns import FileColumns, first_path
from fanout.model.entry import NOTHING_THERE, Entry, Kind
from fanout.model.errors import ItemError
from fanout.model.outcome import Reason
from fanout.model.segment import Segment
from fanout.model.shard import Name
from fanout.ports.tree import ReadTree
from fanout.request.parts.publish import INSIDE_VERSIONS
from fanout.request.plan import Plan
from fanout.turns.other_runs import met_in
from fanout.work.context import Context


class SegmentEntries:
    """The entries of one segment: which are rejected, extra or unchanged, and which directories change with them."""

    def __init__(
        self, plan: Plan, segment: Segment, context: Context, source: ReadTree, destination: ReadTree | None
    ) -> None:
        self._request, self._segment, self._source = plan.request, segment, source
        self.writer = SegmentWriter(plan, segment, context, source)
        self._settle = self.writer.settle
        self._to_files = not plan.request.destination.is_keyed
        # S3 copies in parts by itself, and knows its checksums; a plan begins nothing.
        self._splits = not plan.request.course.plans and not plan.request.inside_s3
        self._around = OpenDirectories()
        self._undecided: set[str] = set()
        self._implied = ImpliedDirectories()
        deletes = lists_extras(plan.request)
        self._deletions = ExtraWriter(plan.request, segment, context, source) if deletes else None
        parents = may_be_left_out(plan, segment)
        self.looks = seen_there(segment, context.ledger, destination)
        self._parents = ParentDirectories(plan, segment, context, source, self.looks.find) if parents else None
        # Filters narrow what the delete guard is about; without them it is about everything.
        self._scope = plan.request.filters if deletes and not plan.request.filters.take_all else None
        # Whether entries that only the source holds must be ``seen`` too.
        self.counts_scope = self._scope is not None
        noted = partial(note_in, destination) if destination is not None else noted_trees(segment, context.ledger).get
        self._published = published_trees(plan, source, noted)
        self._leaves = self._published.leaves if deletes else lambda _entry: False
        self._met = met_in("destination", plan, context.ledger)

    def begin(self, entry: Entry) -> None:
        """Count an entry of the source, and settle the directories that end before it."""
        self.writer.listed.add(entry.size)
        self.writer.sizes.add(entry)
        if self._implied.noted:
            self.writer.add_extras(self._implied.source_entry(entry.path))
        if self._deletions:
            self._deletions.source_entry(entry.path)
        for directory in self._around.left_before(entry.path):
            self._leave(directory)

    def _leave_before(self, path: str) -> None:
        for directory in self._around.left_before(path):
            self._leave(directory)

    def _leave(self, directory: Entry) -> None:
        """Take a directory as unchanged, unless a name in it may yet be linked again: PartitionShards decides it."""
        if directory.path in self._undecided:
            self._undecided.discard(directory.path)
            self.writer.keep_name(Name(directory, unchanged=True, inode_there=""))
        else:
            self._settle(directory, Reason.SAME)

    def take_files(self, files: FileColumns, there: FileColumns | None) -> None:
        """``seen``, ``begin`` and ``unchanged`` or ``copy`` of files that the destination holds alike, or lacks."""
        writer, size = self.writer, sum(files.sizes)
        for tally in (writer.listed, writer.in_scope, writer.to_copy if there is None else writer.destination):
            tally.add_all(len(files), size)
        writer.sizes.add_files(files.sizes)
        first = first_path(files)
        if self._implied.noted:
            writer.add_extras(self._implied.source_entry(first))
        if self._deletions:
            self._deletions.source_files(files.paths)
        if self._parents:
            self._parents.add(first)
        self._leave_before(first)
        writer.index.add_files(files, there)
        if there is None:
            self._touch(first)
            writer.pack_files(files if self._to_files else replace(files, replaces=NOTHING_THERE))
        else:
            writer.settle_files(files, size)

    def seen(self, source: Entry | None, destination: Entry | None) -> None:
        """Count a pair for the delete guard if it is in scope: the source's entry decides, where there is one.

        A sync needs to know that nothing is missing at the destination.
        """
        if destination is not None and destination.kind is not Kind.FILE and self._met is not None:
            self._met.see(destination)
        entry = source or destination
        if source is None and entry is not None and self._leaves(entry):
            return
        if self._scope is None or entry is None or self._scope.reason(entry) is None:
            if source is not None:
                self.writer.in_scope.add(source.size)
            if destination is not None:
                self.writer.destination.add(destination.size)
        if destination is not None and self._parents:
            self._parents.seen_there(destination)
        if destination is not None and destination.kind is Kind.UNLISTABLE and self._deletions:
            self.writer.complete = False

    def rejects(self, entry: Entry, there: Entry | None = None) -> bool:
        """Settle an entry that is to be written as rejected where its place lies in a published tree.

        ``there`` is what is at its place, where that is known: it may be the tree's link.
        """
        root = self._published.holds(entry.placed.path) if there is None else self._published.holds_entry(there)
        if root is not None:
            self._settle(entry, Reason.IN_PUBLISHED, f"{self._request.destination}: {root or './'} holds versions")
        return root is not None

    def copy(self, entry: Entry, *, is_new: bool, compare: bool = False, linked: bool = False) -> None:
        """Put an entry into a shard, or begin it as a big file; a new one takes along the directory it changes.

        A file to ``compare`` of up to ``tuning.COMPARE_BYTES`` stays whole, so that one function reads it, and so does
        one that is to be ``linked``.
        """
        if INSIDE_VERSIONS in (entry.target or entry.path) and self.rejects(entry):
            return
        self._place(entry)
        request = self._request
        if entry.held and (refusal := request.held.refusal(entry.held)) is not None:
            self._settle(entry, refusal.reason, refusal.message)
            return
        if is_new:
            self._touch(entry.path)
        whole = linked or (compare and entry.size <= tuning.COMPARE_BYTES)
        if self._splits and not whole and entry.kind is Kind.FILE and entry.size >= request.limits.split_bytes:
            try:
                self.writer.begin_big_file(entry)
            except ItemError as error:
                self._settle(entry, error.reason, error.message)
        else:
            self.writer.pack(entry, linked=linked)

    def verify(self, entry: Entry) -> None:
        """Put an entry into a shard that an earlier run copied and did not verify."""
        self._place(entry)
        self.writer.pack(entry, done=True)

    def unchanged(self, entry: Entry) -> None:
        """Take an entry that is right, unless it is a directory into which something may yet be written."""
        self._place(entry)
        if entry.kind is Kind.DIRECTORY and self._to_files:
            self._around.enter(entry)
        else:
            self._settle(entry, Reason.SAME)

    def kept(self, entry: Entry) -> None:
        """Take an entry that the request does not let replace what is at its place."""
        self._place(entry)
        self._settle(entry, Reason.KEPT)

    def _place(self, entry: Entry) -> None:
        """Note the directories above an entry that has a place at the destination."""
        if self._parents:
            self._parents.add(entry.path, entry.target, is_directory=entry.kind is Kind.DIRECTORY)

    def _touch(self, path: str) -> None:
        if directory := self._around.touched(path):
            self._undecided.discard(directory.path)
            self.writer.pack(directory)

    def name(self, name: Name) -> None:
        """Keep a name of a file that has several; they are grouped when the segment is closed."""
        if self.rejects(name.entry):
            return
        self._place(name.entry)
        if not name.looks_linked:
            self._touch(name.entry.path)
        elif directory := self._around.above(name.entry.path):
            self._undecided.add(directory.path)
        self.writer.keep_name(name)

    def extra(self, entry: Entry) -> None:
        """Note an entry that only the destination holds; it is in no books, which are the source's."""
        if self._leaves(entry):
            self.writer.left_published.add(entry.size)
            return
        if self._deletions:
            self._leave_before(entry.path)
            self._touch(entry.path)  # deleting it changes its directory
            self._deletions.destination_entry(entry)
        elif entry.kind is Kind.DIRECTORY:
            self.writer.add_extras(self._implied.add(entry))
        else:
            self.writer.add_extras([entry])

    def _is_implied(self, directory: Entry) -> bool:
        """Whether keys of the source lie below the directory; on a mount each directory is an entry."""
        below = self._source.list(Segment("", directory.path))
        return self._request.source.is_keyed and next(below, None) is not None

    def close(self, left: list[Segment], matched: list[str] | None) -> None:
        """Decide about the directories that are still open, then have everything written; see ``SegmentWriter.close``.

        If another segment continues in a directory, what it writes there is unknown here.
        """
        writer = self.writer
        for directory in self._around.rest():
            if left or self._segment.ends_below(directory.path):
                writer.pack(directory)
            else:
                self._leave(directory)
        for directory in self._implied.close():
            goes_on = left or self._segment.ends_below(directory.path)  # another segment lists what may imply it
            if not (goes_on and self._is_implied(directory)):
                writer.add_extras([directory])
        if self._scope is None:
            writer.in_scope = writer.listed
        if self._parents:
            writer.directories += self._parents.close()
        if self._deletions:
            writer.deletions = self._deletions.close(cut=bool(left))
            writer.in_the_way = self._deletions.in_the_way
        writer.close(left, matched)
