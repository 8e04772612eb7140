"""The index of the last run of the same transfer that succeeded, as PlanTransfer finds it and ListSegment reads it."""

from __future__ import annotations

import zlib
from collections import OrderedDict
from gzip import BadGzipFile
from itertools import groupby

from fanout.domain import ledger_keys as keys
from fanout.domain.copied_index import (
    INDEX_VERSION,
    IndexFile,
    IndexFiles,
    IndexPart,
    keeps_index,
    transfer_digest,
)
from fanout.domain.entries import Entry
from fanout.domain.errors import InvalidRequest, LedgerBroken
from fanout.domain.file_columns import FileColumns
from fanout.domain.plan import Plan
from fanout.domain.rows import Json
from fanout.ledger import Ledger

# What a file is that is not there, or is no part of an index; an error of the store is not among them.
_UNREADABLE = (LedgerBroken, InvalidRequest, ValueError, KeyError, TypeError, EOFError, BadGzipFile, zlib.error)
# Parts that are held: entries are asked about in their order, but for some that are settled a little later.
_HELD = 2


def note_earlier_run(plan: Plan, ledger: Ledger) -> None:
    """Write down which run's index this one uses, for all its listings; none where there is none that can be read."""
    if not keeps_index(plan):
        return
    run_id, indexes, name = "", ledger.of_run(keys.INDEXES), f"{transfer_digest(plan)}.json"
    if indexes.has(name):
        try:
            found = _of_this_version(indexes.read_json(name))["run"]
            _files(ledger.of_run(found))
            run_id = found
        except _UNREADABLE as error:
            _note(ledger, error)
    ledger.write_json(keys.EARLIER, {"run": run_id})


class EarlierIndex:
    """Says which entries that seem unchanged are copied all the same; see ``fanout.domain.copied_index``."""

    def __init__(self, plan: Plan, ledger: Ledger) -> None:
        self._ledger = ledger
        self._earlier: Ledger | None = None
        self._files = IndexFiles([])
        self._parts: OrderedDict[str, IndexPart | None] = OrderedDict()
        run_id = ledger.whole_run().read_json(keys.EARLIER)["run"] if keeps_index(plan) else ""
        if run_id:
            try:
                self._earlier = ledger.of_run(run_id)
                self._files = _files(self._earlier)
            except _UNREADABLE as error:
                self._earlier = None
                _note(ledger, error)

    def changed_files(self, source: FileColumns, destination: FileColumns) -> list[bool] | None:
        """Of each file whether it is copied all the same; ``None`` if none is for all that is known."""
        if self._earlier is None:
            return None
        changed: list[bool] = []
        held = [self._files.holding(path) for path in source.paths]
        for file, some in groupby(held):
            start = len(changed)
            end = start + sum(1 for _ in some)
            part = self._part(file) if file else IndexPart(iter(()))
            here, there = source.part(start, end), destination.part(start, end)
            changed += [False] * (end - start) if part is None else part.changed_files(here, there)
        return changed if any(changed) else None

    def changed(self, source: Entry, destination: Entry) -> bool:
        """Whether an entry is copied all the same."""
        if self._earlier is None:
            return False
        file = self._files.holding(source.path)
        part = self._part(file) if file else IndexPart(iter(()))
        return part is not None and part.changed(source, destination)

    def _part(self, file: IndexFile) -> IndexPart | None:
        if file.key in self._parts:
            self._parts.move_to_end(file.key)
            return self._parts[file.key]
        assert self._earlier is not None
        while len(self._parts) >= _HELD:
            self._parts.popitem(last=False)
        try:
            part = IndexPart(self._earlier.read_rows(file.key))
        except _UNREADABLE as error:
            _note(self._ledger, error)
            part = None
        self._parts[file.key] = part
        return part


def _files(earlier: Ledger) -> IndexFiles:
    rows = _of_this_version(earlier.read_json(keys.INDEX))["files"]
    return IndexFiles([IndexFile(row["key"], row["first"], row["last"]) for row in rows])


def _of_this_version(document: Json) -> Json:
    if document["index_version"] != INDEX_VERSION:
        raise ValueError(f"version {document['index_version']} is not {INDEX_VERSION}")
    return document


def _note(ledger: Ledger, error: Exception) -> None:
    """One note for the whole run, whoever writes it: what could not be read is compared by times alone."""
    text = f"the index of the last run that succeeded can not be read, times alone are compared: {error}"
    ledger.whole_run().write_json(keys.note_key("index"), [text[:500]])
