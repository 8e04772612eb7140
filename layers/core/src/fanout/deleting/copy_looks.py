"""The look at the copy before a move deletes an entry at the source: only what certainly has its copy goes."""

from __future__ import annotations

from fanout.deleting.missing_at_source import LookAtSource, same_root
from fanout.ledger.ledger import Ledger
from fanout.model.entry import Entry, Kind
from fanout.model.errors import AccessDenied, ItemError, problem_of
from fanout.model.outcome import Reason
from fanout.ports.tree import Tree
from fanout.request.plan import Plan
from fanout.verifying.moved import is_copy_of


def look_at_copy(source: Tree, destination: Tree, plan: Plan, ledger: Ledger) -> LookAtSource:
    """Return a function that says why an entry stays at the source: its copy is gone, or another one.

    Between two mounts, where no function sees both, what the comparison found counts. Where another directory replaced
    the source's root, everything stays. Raises the errors of ``check``.
    """
    source.check(writing=False)
    replaced = same_root(source, ledger.whole_run()) if not plan.request.source.is_keyed else None
    if plan.request.between_mounts:
        return lambda _entry: replaced
    destination.check(writing=False)
    return lambda entry: replaced or _gone(destination, entry)


def leave(_entry: Entry) -> ItemError:
    """Why an entry stays, whatever is at the destination: see ``not_copied``."""
    return ItemError(Reason.NOT_COPIED, "")


def _gone(destination: Tree, entry: Entry) -> ItemError | None:
    try:
        found = destination.find_stored(entry.placed.path)
    except AccessDenied as error:
        return ItemError(Reason.NOT_VERIFIED, str(error))
    except Exception as error:  # noqa: BLE001 - see problem_of
        return problem_of(error)
    if found is None:
        return ItemError(Reason.MISSING, "its copy was there when both ends were compared")
    is_directory = entry.kind is Kind.DIRECTORY
    same = (found.entry.kind is Kind.DIRECTORY) is is_directory and (is_directory or found.entry.size == entry.size)
    if not same or (entry.replaces and not is_copy_of(entry.replaces, found)):
        return ItemError(Reason.DESTINATION_CHANGED, "its copy is not the one that was compared")
    return None
