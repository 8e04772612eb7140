"""Big files of a transfer between two mounts, where a function sees one of them.

A function on one side writes down what the other side needs: the attributes that a file has at the source.
"""

from __future__ import annotations

import itertools

from fanout.ledger import keys
from fanout.ledger.ledger import Ledger
from fanout.model.entry import Attributes, Entry
from fanout.ports.tree import BeginsBigFiles, OpensEntries, Source, WholeSource
from fanout.request.plan import Plan
from fanout.work.context import Context, refuse_unseen


def begins_big_files(plan: Plan, context: Context) -> BeginsBigFiles:
    """The destination, or the ledger where this function does not see it."""
    return context.seen_destination(plan) or NotedBigFiles(context.ledger, context.nonce)


def pinned_source(plan: Plan, context: Context) -> OpensEntries:
    """The source or, where this function does not see it, the attributes of big files that the ledger has of it."""
    return context.seen_source(plan) or NotedSource(plan, context.ledger)


class NotedBigFiles:
    """Keeps the attributes of each big file for the function that completes it at the destination."""

    def __init__(self, ledger: Ledger, nonce: str) -> None:
        self._ledger, self._nonce = ledger, nonce
        self._tokens = itertools.count()

    def begin_blocks(self, entry: Entry, attributes: Attributes) -> str:
        self._ledger.write(keys.attributes_key(entry.path), attributes)
        return f"{self._nonce}-{next(self._tokens)}-apart"


class NotedSource:
    """A source without bytes: a function on the other side has read and pinned each entry."""

    overlaps = False

    def __init__(self, plan: Plan, ledger: Ledger) -> None:
        self._plan, self._ledger = plan, ledger

    def open(self, entry: Entry) -> Source:
        return _Noted(self._plan, self._ledger, entry)


class _Noted(WholeSource):
    def __init__(self, plan: Plan, ledger: Ledger, entry: Entry) -> None:
        self._plan, self._ledger, self._entry = plan, ledger, entry

    @property
    def attributes(self) -> Attributes:
        """See ``ports.tree.Source``; of a big file, as it was when it was listed."""
        return self._ledger.read(keys.attributes_key(self._entry.placed.path))

    def read(self, offset: int, length: int) -> bytes:
        raise refuse_unseen(self._plan.request.source)
