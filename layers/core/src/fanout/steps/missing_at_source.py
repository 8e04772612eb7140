"""The look at the source before an extra is deleted: only what is certainly missing there goes."""

from __future__ import annotations

from collections.abc import Callable

from fanout.domain import ledger_keys as keys
from fanout.domain.entries import Entry
from fanout.domain.errors import AccessDenied, ItemError, Transient, problem_of
from fanout.domain.locations import MountLocation
from fanout.domain.outcomes import Reason
from fanout.domain.plan import Plan
from fanout.ledger import Ledger
from fanout.ports import Tree

# Why an entry of the destination stays, or None.
Look = Callable[[Entry], ItemError | None]


def note_source_root(source: Tree, ledger: Ledger) -> None:
    """Note, before it is listed, which directory the root of the source is. Raises ``Transient`` for no answer."""
    try:
        identity = source.identity()
    except ItemError as error:
        raise Transient(f"the root of the source: {error.message}") from error
    ledger.write_json(keys.SOURCE_ROOT, {"identity": identity})


def look_at_source(source: Tree, plan: Plan, ledger: Ledger) -> Look:
    """What says why an extra stays: its name stands at the source by now, or the source gives no clear answer.

    Where another directory stands in place of the source's root, every extra stays. Raises what ``check`` raises.
    """
    source.check(writing=False)
    moved = _moved(source, ledger) if isinstance(plan.request.source, MountLocation) else None
    return lambda entry: moved or _appeared(source, entry)


def _moved(source: Tree, ledger: Ledger) -> ItemError | None:
    try:
        same = source.identity() == ledger.read_json(keys.SOURCE_ROOT)["identity"]
    except ItemError as error:
        return error
    return None if same else ItemError(Reason.SOURCE_CHANGED, "the source's root is not the directory that was listed")


def _appeared(source: Tree, entry: Entry) -> ItemError | None:
    try:
        found = source.find_stored(entry.path)
    except AccessDenied as error:
        return ItemError(Reason.SOURCE_DENIED, str(error))
    except Exception as error:  # noqa: BLE001 - see problem_of
        return problem_of(error)
    return None if found is None else ItemError(Reason.APPEARED, f"the source holds a {found.entry.kind.value}")
