"""How a run ended, and why: the rules behind the status of summary.json."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from msgspec import Struct

from fanout.books.summary_document import Planned, ShardsDone, Status, Verified
from fanout.model.books import Books, Count
from fanout.model.errors import RunError
from fanout.model.location import what_is_missing
from fanout.model.outcome import Result
from fanout.request.filtering.matched import named_globs
from fanout.request.request import Request


class Ending(Struct, frozen=True):
    """The facts that decide how a run ended; ``error`` broke it off, ``failures`` are the rows of failures.jsonl."""

    books: Books
    complete_listing: bool
    failures: int
    error: RunError | None = None
    planned: Planned | None = None
    verification: Verified | None = None

    @property
    def missing(self) -> Count:
        """Entries without an outcome; in a plan, the entries that it would copy never have one."""
        return self.books.missing - (self.planned.to_copy if self.planned else Count())

    @property
    def balanced(self) -> bool:
        """Whether every listed entry has an outcome, or is planned to get one."""
        return self.missing == Count()

    @property
    def status(self) -> Status:
        """SUCCEEDED only if nothing broke off, the books balance, and no entry failed or was rejected."""
        if self.error is not None or not self.balanced:
            return Status.FAILED
        if not self.books.clean or not self.complete_listing or self.failures:
            return Status.FAILED_WITH_ITEMS
        return Status.SUCCEEDED

    @property
    def reported(self) -> RunError | None:
        """``error`` of summary.json, with one sentence that says what is wrong; ``None`` for a run that succeeded."""
        if self.error is not None:
            return self.error
        if not self.balanced:
            missing = f"{self.missing.entries} entries and {self.missing.bytes} bytes"
            return RunError("LedgerBroken", f"the books do not balance: {missing} have no outcome")
        if self.status is Status.SUCCEEDED:
            return None
        return RunError("FailedWithItems", f"{self._wrong}; failures.jsonl says which and why")

    @property
    def _wrong(self) -> str:
        """How many entries failed or were rejected, and how the trees differ; what there is none of is not named."""
        differences = self.verification.by_class if self.verification else []
        failed = self.books.by_result[Result.FAILED].entries
        rejected = self.books.by_result[Result.REJECTED].entries
        # After a copy differences are no part of the books; of mode verify they are the books.
        others = self.failures - failed - rejected - sum(one.entries for one in differences)
        numbers = {"failed": failed, "rejected": rejected, "could not be listed, finished or deleted": others}
        counted = ", ".join(f"{number:,} {what}" for what, number in numbers.items() if number > 0)
        found = ", ".join(f"{one.entries:,} {one.reason}" for one in differences)
        said = [counted, f"trees differ: {found}" if found else ""]
        return "; ".join(filter(None, said)) or "a directory could not be listed"


def shards_done(count: int, predicted_seconds: float, seconds: Sequence[float]) -> ShardsDone:
    """``shards`` of summary.json; ``seconds`` are the actual ones of those that were measured."""
    total = sum(seconds)
    imbalance = round(max(seconds) * len(seconds) / total, 3) if total else None
    return ShardsDone(count, round(predicted_seconds, 3), round(total, 3), imbalance)


def warnings_of(request: Request, books: Books, matched: Collection[str] | None) -> list[str]:
    """The warnings of a run that went through: it had nothing to do, or a glob matched nothing.

    ``matched`` names the globs that matched an entry, ``None`` if that is not known; see ``MatchedGlobs``.
    """
    if not books.listed.entries:
        return [nothing_listed(request)]
    skipped, warnings = books.by_result[Result.SKIPPED].entries, []
    known = {} if matched is None else named_globs(request.filters)
    missed = {name: glob for name, glob in known.items() if name not in (matched or ())}
    if request.filters.include and skipped == books.listed.entries:
        patterns = _few(request.filters.include)
        warnings.append(
            f"The filters took nothing: none of {skipped:,} entries; check the patterns of include: {patterns}"
        )
        missed = {name: glob for name, glob in missed.items() if name.startswith("exclude")}
    if missed:
        said = [f"{name.partition('.')[0]} {glob}" for name, glob in missed.items()]
        warnings.append(f"No entry that was listed matches {_few(said)}; check how it is written")
    return warnings


def _few(texts: Sequence[str]) -> str:
    return ", ".join(texts[:3]) + (f" and {len(texts) - 3} more" if len(texts) > 3 else "")


def nothing_listed(request: Request) -> str:
    """The warning of a run that found nothing at its source: a prefix or a name may be mistyped."""
    if request.manifest is not None:
        return f"nothing was listed: the manifest {request.manifest} names nothing of the source"
    if request.source.is_keyed:
        return f"{what_is_missing(request.source)}: {request.source}; check the bucket and the prefix"
    return f"{what_is_missing(request.source)}: {request.source}; check the path"
