"""The ends of a run as one function sees them: they are there, may be read and written, and hold what was asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import TypeVar

from fanout.ledger import keys
from fanout.ledger.ledger import Ledger
from fanout.model.errors import FanoutError, InvalidRequest, ItemError
from fanout.model.location import Location
from fanout.model.segment import Segment
from fanout.ports.tree import ReadTree
from fanout.request.plan import Plan
from fanout.work.context import Context


def check_ends(plan: Plan, context: Context, *, on_mount: bool) -> dict[str, ReadTree]:
    """Check the ends that lie on a mount which is seen from here, or those that lie in buckets.

    Returns the trees that were made ready to be written, by their fields.
    """
    request, written = plan.request, dict[str, ReadTree]()
    source, destination = (
        _seen(end, tree, plan, on_mount=on_mount)
        for end, tree in ((request.source, context.seen_source), (request.destination, context.seen_destination))
    )
    made_later = request.course.plans and on_mount  # a copy would make it
    if source is not None:
        with naming("source"):
            source.check(writing=False)
            if not request.allow_empty_source and request.manifest is None:
                _refuse_nothing(source, plan, context.ledger)
    try:
        if source is not None and request.course.deletes_proven and on_mount:
            source.check(writing=True)  # it makes its right to delete there; a bucket has none
            written["source"] = source
        if destination is not None and not made_later:
            with naming("destination"):
                destination.check(writing=request.course.writes)
                if request.course.writes:
                    written["destination"] = destination
    except Exception:
        _unmake(written.values())
        raise
    return written


def _unmake(written: Iterable[ReadTree]) -> None:
    """Remove what was made at an end where the other one is wrong: nothing has noted it yet."""
    for tree in written:
        if tree.file_system is not None:
            with suppress(FanoutError, ItemError):  # the error that refuses the run is the one to raise
                tree.file_system.finish()


_Seen = TypeVar("_Seen", bound=ReadTree)


def _seen(end: Location, tree: Callable[[Plan], _Seen | None], plan: Plan, *, on_mount: bool) -> _Seen | None:
    """The tree of an end in a bucket, or on a mount; ``None`` where it is the other kind, or is not seen."""
    return None if end.is_keyed is on_mount else tree(plan)


def _refuse_nothing(source: ReadTree, plan: Plan, ledger: Ledger) -> None:
    if next(iter(source.list(Segment(""))), None) is None and not _has_emptied_it(plan, ledger):
        remedy = "check it; if it may be empty, give --allow-empty-source, in a request allow_empty_source: true"
        raise InvalidRequest("source", f"{plan.request.source} holds nothing", remedy)


def _has_emptied_it(plan: Plan, ledger: Ledger) -> bool:
    """Whether this run resumes a move that had begun to delete its source."""
    began = keys.phase_key("delete")
    return plan.request.course.deletes_proven and any(ledger.of_run(earlier).has(began) for earlier in plan.resumes)


@contextmanager
def naming(field: str) -> Iterator[None]:
    """Name the field of the request where an adapter says that a bucket is wrong."""
    try:
        yield
    except InvalidRequest as error:
        if error.field != "bucket":
            raise
        raise error.of_field(field) from error
