"""The looks at the other end before an entry is deleted, each of them the server's.

An extra goes only where it is certainly missing at the source, an entry of a move only where it certainly has its copy.
"""

from __future__ import annotations

from collections.abc import Callable

from fanout.ledger.ledger import Ledger
from fanout.model.entry import Entry, Found, Kind
from fanout.model.errors import AccessDenied, ItemError, problem_of
from fanout.model.outcome import Reason
from fanout.model.segment import Segment
from fanout.ports.looking import found_now
from fanout.ports.tree import ReadTree
from fanout.request.plan import Plan
from fanout.turns.turn_watch import TurnWatch
from fanout.verifying.moved import is_copy_of
from fanout.work.context import Context
from fanout.work.roots import SOURCE_ROOT, identity_of

# Why an entry of the destination stays, or None.
LookAtSource = Callable[[Entry], ItemError | None]


def look_at_source(source: ReadTree, plan: Plan, ledger: Ledger, bucket: ReadTree | None = None) -> LookAtSource:
    """Return a function that says why an extra stays: its name is at the source by now, or the source is unclear.

    If another directory replaced the source's root, every extra stays. ``bucket`` is the destination if it
    is one: there ``p`` and ``p/`` are two keys, so only an entry that the source lists under that very path keeps an
    extra, as in ``fanout.listing.directories.extras``. Raises the errors of ``check``.
    """
    source.check(writing=False)
    listed = None if plan.request.source.is_keyed else ledger.read(SOURCE_ROOT).identity
    replaced = None if listed is None else _replaced(source, listed)
    follows = plan.request.symlinks.follows

    def look(entry: Entry) -> ItemError | None:
        if replaced is not None:
            return replaced
        appeared = _appeared(lambda: _held(source, entry, bucket, follows=follows))
        # The look opens a root anew that is not under its name any more: missing in another one says nothing.
        return appeared if appeared is not None or listed is None else _replaced(source, listed)

    return look


def same_root(source: ReadTree, ledger: Ledger) -> ItemError | None:
    """Why nothing may be deleted: the root of the source is not the directory that it was; ``None`` where it is."""
    return _replaced(source, ledger.read(SOURCE_ROOT).identity)


def _replaced(source: ReadTree, listed: str) -> ItemError | None:
    """The same of the root that is open now; costs no operation of NFS."""
    try:
        same = identity_of(source) == listed
    except ItemError as error:
        return error
    return None if same else ItemError(Reason.SOURCE_CHANGED, "the source's root is not the directory that was listed")


def _appeared(held: Callable[[], Entry | None]) -> ItemError | None:
    try:
        found = held()
    except AccessDenied as error:
        return ItemError(Reason.SOURCE_DENIED, str(error))
    except Exception as error:  # noqa: BLE001 - see problem_of
        return problem_of(error)
    return None if found is None else ItemError(Reason.APPEARED, f"the source holds a {found.kind.value}")


def _held(source: ReadTree, entry: Entry, bucket: ReadTree | None, *, follows: bool) -> Entry | None:
    """The source's entry that keeps an extra. Raises as ``ReadTree.find``."""
    try:
        stored = found_now(source, entry.path)
    except ItemError:
        if bucket is None or not _stands_above(source, bucket, entry.path):
            raise
        return None
    if stored is None or (bucket is not None and stored.entry.path != entry.path):
        return None
    is_followed = bucket is not None and follows and stored.entry.kind is Kind.SYMLINK
    if is_followed and next(iter(source.list(Segment("", f"{entry.path}/"))), None) is not None:
        return None  # it leads to a directory, whose path ends in "/"
    return stored.entry


def _stands_above(source: ReadTree, bucket: ReadTree, path: str) -> bool:
    """Whether the source has a file or symlink where a path has a directory that the bucket holds as object.

    The object shows that it was listed that way. A directory that became a file or symlink later does not show what
    it held, so it keeps all below.
    """
    end = path.find("/")
    while 0 < end < len(path) - 1:
        try:
            here = found_now(source, path[:end])
            if here is None or here.entry.kind is not Kind.DIRECTORY:
                there = None if here is None else bucket.find_stored(here.entry.path)
                return here is not None and there is not None and _is_copy(here.entry, there)
        except (ItemError, AccessDenied):
            return False
        end = path.find("/", end + 1)
    return False


def _is_copy(here: Entry, there: Found) -> bool:
    same = (there.entry.size, there.mtime_ns) == (here.size, here.mtime_ns)
    return same and there.is_symlink == (here.kind is Kind.SYMLINK)


def look_at_copy(source: ReadTree, destination: ReadTree | None, plan: Plan, context: Context) -> LookAtSource:
    """Return a function that says why an entry stays at the source: its copy is gone, or another one.

    Where the destination is not seen, what the comparison found counts for as long as no later run took the
    destination over: the function raises ``Superseded`` then. Where another directory replaced the source's root,
    everything stays. Raises the errors of ``check``.
    """
    source.check(writing=False)
    whole = context.ledger.whole_run()
    replaced = same_root(source, whole) if not plan.request.source.is_keyed else None
    if destination is None:
        turn = TurnWatch(whole.read_plan(), plan.request.destination, context)

        def unseen(_entry: Entry) -> ItemError | None:
            turn.look()
            return replaced

        return unseen
    destination.check(writing=False)
    return lambda entry: replaced or _gone(destination, entry)


def leave(_entry: Entry) -> ItemError:
    """Why an entry stays, whatever is at the destination: see ``not_copied``."""
    return ItemError(Reason.NOT_COPIED, "")


def _gone(destination: ReadTree, entry: Entry) -> ItemError | None:
    try:
        found = found_now(destination, entry.placed.path)
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
