"""Which directory the root of each end on a mount is, so that no function enters it from the other end.

Two mounts may show one file system, and a mount hides what lies above it. A mark at the destination's root cannot be
seen from a source that lies deeper and is mounted there. On one mount a directory of an end may be the other end's
root too, where the server mounts it there once more. So each end tells the inode of its root, and the other end
enters no such directory below its own root: not to list, to write, to keep a backup or to delete.

| the file systems of the mounts      | a directory with that inode number is |
|-------------------------------------|---------------------------------------|
| have two ids                        | another one                           |
| have one id, or one has no id       | the other end's root                  |

An inode number is unique within a file system. Nothing else of a directory is compared, because all else changes while
the run lasts, and a difference would let a deletion in. Device numbers differ between two mounts of one file system.
"""

from __future__ import annotations

from functools import partial
from typing import TypeVar

from msgspec import Struct

from fanout.ledger.kind import ObjectKind
from fanout.ledger.ledger import Ledger
from fanout.model.errors import ItemError, Transient
from fanout.model.outcome import Reason
from fanout.ports.tree import ReadTree
from fanout.request.one_place import same_place
from fanout.request.plan import Plan
from fanout.work.staged import recall_staged


class Root(Struct, frozen=True):
    """Which directory the root of an end was before it was listed; ``identity`` is empty where nothing tells.

    ``apart``: the file system is another one than the other end's. ``may_show_a_bucket``: as S3 Files does. ``made`` is
    the first directory on the way to it that the run made.
    """

    identity: str
    apart: bool = False
    may_show_a_bucket: bool = False
    made: str = ""


SOURCE_ROOT = ObjectKind("source-root.json", Root, by=("CheckMount",))
DESTINATION_ROOT = ObjectKind("destination-root.json", Root, by=("CheckMount",))
_KEYS = {"source": SOURCE_ROOT, "destination": DESTINATION_ROOT}


def note_root(
    field: str, tree: ReadTree, ledger: Ledger, *, apart: bool = False, may_show_a_bucket: bool = False
) -> None:
    """Note which directory the root of an end is; a destination that is not there yet is none.

    Raises ``Transient`` for no answer.
    """
    made = tree.file_system.made_root if tree.file_system is not None else ""
    try:
        identity = identity_of(tree)
    except ItemError as error:
        if field == "destination" and error.reason is Reason.SOURCE_VANISHED:
            ledger.write(_KEYS[field], Root("", apart, may_show_a_bucket))
            return
        raise Transient(f"the root of the {field}: {error.message}") from error
    ledger.write(_KEYS[field], Root(identity, apart, may_show_a_bucket, made))


def made_by_run(destination: ReadTree, ledger: Ledger) -> str:
    """The first directory on the way to the destination's root that CheckMount made; empty where the root was there."""
    if destination.file_system is not None and destination.file_system.made_root:
        return destination.file_system.made_root
    known = ledger.find(DESTINATION_ROOT)
    return "" if known is None else known.made


def refuse_one_root(plan: Plan, ledger: Ledger) -> None:
    """Raise ``InvalidRequest`` where both ends noted one directory as their root; the later of the two finds it."""
    source, destination = (ledger.find(key) for key in (SOURCE_ROOT, DESTINATION_ROOT))
    if source is None or destination is None or source.apart or not source.identity:
        return
    if source.identity == destination.identity:
        raise same_place(plan.request, "destination", plan.request.source.place)


def identity_of(tree: ReadTree) -> str:
    """The identity of a tree's root; empty for a bucket. Raises ``ItemError``."""
    return tree.file_system.identity() if tree.file_system is not None else ""


_Tree = TypeVar("_Tree", bound=ReadTree)


def keep_out(field: str, tree: _Tree, plan: Plan, ledger: Ledger) -> _Tree:
    """The tree of an end, which enters no directory below its root that is the root of the other end.

    It raises ``InvalidRequest`` there. Nothing is kept out before the other end's function has noted its root. The tree
    stages in the directory that the run has noted.
    """
    recall_staged(field, tree, ledger)
    files = tree.file_system
    if files is None or not plan.request.on_mounts:
        return tree
    other = "source" if field == "destination" else "destination"
    root = ledger.whole_run().find(_KEYS[other])
    if root is not None and root.identity and not root.apart:
        files.keep_out(root.identity, partial(same_place, plan.request, other))
    return tree
