"""Decides each pair by its times, and proves the pairs that times call unchanged."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from fanout.listing.deciding.decisions import Decision, decide, unchanged_lengths
from fanout.listing.deciding.kept_attributes import MOUNT_TELLS
from fanout.listing.deciding.proof_rules import (
    Looked,
    evident,
    evident_files,
    looked,
)
from fanout.listing.index.copied_index import Verdict
from fanout.listing.index.earlier_index import EarlierIndex
from fanout.model.columns import FileColumns
from fanout.model.entry import Entry, Kind
from fanout.model.errors import AccessDenied, InvalidRequest, ItemError, NotFound, PreconditionFailed
from fanout.ports.tree import ReadTree
from fanout.request.object_options import metadata_headers
from fanout.request.options import Compare, Overwrite
from fanout.request.parts.given_attributes import Mtime
from fanout.request.plan import Plan
from fanout.request.proven_ends import Ends, directories_to_prove, ends_to_prove, heads_of_look

Decide = Callable[[], Decision]
_ANY_FILE = Entry("", Kind.FILE)
# Errors of a HEAD that do not matter here: the copy reports them.
_REFUSED = (AccessDenied, InvalidRequest, ItemError, NotFound, PreconditionFailed)


class Proofs:
    """Decides pairs by ``fanout.listing.deciding.decisions``, ``copied_index`` and ``proofs``.

    ``wider_ns`` widens the margin; ``ahead_ns`` says how far the destination's clock is ahead of the runs'.
    """

    def __init__(
        self,
        plan: Plan,
        earlier: EarlierIndex,
        source: ReadTree,
        destination: ReadTree | None,
        wider_ns: int,
        ahead_ns: Callable[[], int],
    ) -> None:
        self._compare, self._wider_ns = plan.request.compare, wider_ns
        self._ends = ends_to_prove(plan.request)
        self._directory_ends = directories_to_prove(plan.request)
        self._compares_times = plan.request.compare is Compare.SIZE_MTIME
        given = plan.request.attributes
        self._copied_now = given.mtime is Mtime.NOW
        self._mount_tells = given.of(_ANY_FILE, MOUNT_TELLS)
        self._given = metadata_headers(plan.request.objects)
        self._earlier, self._ahead_ns = earlier, ahead_ns
        self._replaces_all = plan.request.overwrite is Overwrite.ALWAYS
        self._keeps_by_links = plan.request.backup_to is not None and self._compares_times
        self._source, self._destination = source, destination

    @property
    def heads(self) -> int:
        """The requests of one look."""
        return max(heads_of_look(self._ends), heads_of_look(self._directory_ends))

    def unchanged_lengths(self, source: FileColumns, destination: FileColumns) -> list[int]:
        """Lengths of alternating runs of files: unchanged and proved without a request, then not, and so on."""
        unproven = self._unproven_files(source, destination)
        return unchanged_lengths(source, destination, unproven, self._wider_ns)

    def _unproven_files(self, source: FileColumns, destination: FileColumns) -> list[bool] | None:
        """``None`` if all are proved."""
        if self._ends is None:
            return None
        verdicts = self._earlier.verdicts(source, destination)
        if verdicts is None:
            return None
        shown = evident_files(self._ends, source, destination)
        unproven = [
            verdict is not Verdict.VOUCHED and (verdict is Verdict.DIFFERS or not is_shown)
            for verdict, is_shown in zip(verdicts, shown, strict=True)
        ]
        return unproven if any(unproven) else None

    def holds(self, source: Entry) -> bool:
        """Whether the version before holds a file or symlink as its source still is."""
        return self._compares_times and source.kind is not Kind.DIRECTORY and self._earlier.holds(source)

    def decide(self, source: Entry, destination: Entry | None) -> Decision | Decide:
        """Return the decision or, if it takes requests, a look that any thread may run."""
        decision = decide(source, destination, self._compare, self._wider_ns)
        if decision is not Decision.UNCHANGED or destination is None:
            return decision
        if self._keeps_by_links and destination.is_linkable and not source.inode:
            return Decision.COPY  # a run that ended before its rename may have kept it, and so moved its ctime
        ends = self._directory_ends if source.kind is Kind.DIRECTORY else self._ends
        if ends is None:
            return decision
        verdict = self._earlier.verdict(source, destination)
        if verdict is Verdict.DIFFERS:
            return Decision.COPY
        if verdict is Verdict.VOUCHED or evident(ends, source, destination):
            return decision
        if verdict is Verdict.COPIED and self._earlier.was_written_since(destination, self._ahead_ns):
            return Decision.COPY
        written_then = verdict is Verdict.COPIED and self._earlier.was_written_then(destination)
        # That run may have left what somebody else wrote then.
        written_then = written_then and self._replaces_all
        return partial(self._look, ends, source, destination, written_then)

    def _look(self, ends: Ends, source: Entry, destination: Entry, written_then: bool) -> Decision:
        """Send one HEAD to each end that is a bucket. Raises ``Throttled`` or ``Transient`` if S3 does not answer."""
        try:
            here = None if ends is Ends.MOUNT_TO_S3 else self._source.find_stored(source.path)
            tree = None if ends is Ends.S3_TO_MOUNT else self._destination
            there = None if tree is None else tree.find_stored(destination.path)
        except _REFUSED:
            return Decision.COPY
        found = looked(
            ends,
            source,
            destination,
            here,
            there,
            copied_now=self._copied_now,
            mount_tells=self._mount_tells,
            given=self._given,
        )
        is_same = found is Looked.SAME or (found is Looked.NOTHING and written_then)
        return Decision.UNCHANGED if is_same else Decision.COPY
