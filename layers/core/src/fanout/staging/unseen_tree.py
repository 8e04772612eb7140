"""The tree on the other mount of a transfer between two mounts, as the ledger describes it.

A function sees one mount. A function on the other side writes down the facts that this one needs:
a segment's entries at the destination, the attributes of a big file at the source.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from fanout.facts import tuning
from fanout.ledger import keys
from fanout.ledger.ledger import Ledger
from fanout.model.columns import Listed
from fanout.model.entry import Attributes, Entry, Found
from fanout.model.errors import InvalidRequest, ItemError
from fanout.model.segment import Prunes, Segment, no_pruning
from fanout.ports.tree import BlockTarget, Source, Target, Tree, WholeSource


def _unseen(name: str) -> InvalidRequest:
    return InvalidRequest("run.functions", f"this function does not see {name}", "start it from the state machine")


class UnseenTree:
    """The ``ports.tree.Tree`` of a mount that this function lacks. Raises ``InvalidRequest`` for each look at it.

    It has no ``file_system``: whoever looks at a mount asks that first.
    """

    def __init__(self, ledger: Ledger, nonce: str, name: str) -> None:
        self._ledger, self._nonce, self._name = ledger, nonce, name
        self._tokens = itertools.count()

    def list(self, segment: Segment, prunes: Prunes = no_pruning) -> Iterator[Entry]:
        raise _unseen(self._name)

    def list_columns(self, segment: Segment, prunes: Prunes = no_pruning) -> Iterator[Listed]:
        raise _unseen(self._name)

    def cuts(self, segment: Segment, ways: int) -> Sequence[str]:
        """See ``ports.tree.Tree``: the other end is asked."""
        return []

    def find(self, path: str) -> Entry | None:
        raise _unseen(self._name)

    def find_stored(self, path: str) -> Found | None:
        raise _unseen(self._name)

    def open(self, entry: Entry) -> Source:
        """See ``ports.tree.Tree``: a source without bytes, which a function on the other side has read and pinned."""
        return UnseenSource(self._ledger, entry)

    def create(self, entry: Entry, attributes: Attributes) -> Target:
        raise _unseen(self._name)

    def begin_blocks(self, entry: Entry, attributes: Attributes) -> str:
        """See ``ports.tree.Tree``; the attributes are kept for the function that completes the file."""
        self._ledger.write(keys.attributes_key(entry.path), attributes)
        return f"{self._nonce}-{next(self._tokens)}-apart"

    def open_blocks(self, entry: Entry, token: str) -> BlockTarget:
        raise _unseen(self._name)

    def make_directory(self, entry: Entry, attributes: Attributes) -> None:
        raise _unseen(self._name)

    def make_symlink(self, entry: Entry, target: bytes, attributes: Attributes) -> None:
        raise _unseen(self._name)

    @property
    def delete_batch(self) -> int:
        raise _unseen(self._name)

    def delete(self, entries: Sequence[Entry]) -> dict[str, ItemError]:
        raise _unseen(self._name)

    def small_files_from(self, source: Tree) -> None:
        """See ``ports.tree.Tree``; the mount is not seen."""

    @property
    def overlaps(self) -> bool:
        """See ``ports.tree.Tree``; nothing is read here."""
        return False

    @property
    def file_system(self) -> None:
        """See ``ports.tree.Tree``: the function that sees it is asked."""

    def block_bytes(self, entry: Entry) -> int:
        return tuning.BLOCK_BYTES

    def check(self, *, writing: bool) -> None:
        """See ``ports.tree.Tree``; CheckMount and CheckOtherMount each check the end that they see."""

    def clock_ns(self) -> tuple[int, int]:
        raise _unseen(self._name)

    def close(self) -> None:
        """See ``ports.tree.Tree``; nothing is held open."""


class UnseenSource(WholeSource):
    """The ``ports.tree.Source`` of an entry of that mount: attributes, no bytes."""

    def __init__(self, ledger: Ledger, entry: Entry) -> None:
        self._ledger, self._entry = ledger, entry

    @property
    def attributes(self) -> Attributes:
        """See ``ports.tree.Source``; of a big file, as it was when it was listed."""
        return self._ledger.read(keys.attributes_key(self._entry.placed.path))

    def read(self, offset: int, length: int) -> bytes:
        raise _unseen("the source")
