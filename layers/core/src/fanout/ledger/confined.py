"""Entries of the ledger held against the ends of their run: no row leads a task out of a mounted tree."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from msgspec import Struct

from fanout.ledger.rows import link_from_row, listed_from_row
from fanout.model.columns import FileColumns, Listed, first_path
from fanout.model.entry import Entry
from fanout.model.path_rules import all_plain, check_file_path
from fanout.model.shard import BigFile
from fanout.request.plan import Plan


class MountedEnds(Struct, frozen=True):
    """Which ends of a run are file systems, where paths of entries must stay below the root.

    | a path                              | is held against the rules                        |
    |-------------------------------------|--------------------------------------------------|
    | of an entry without an ETag         | where the source is mounted                      |
    | of an entry with one                | never: it may be the key of an object, and       |
    |                                     | ``Directories`` opens no such path on a mount    |
    | where the entry is to be placed     | where the destination is mounted                 |
    """

    source: bool
    destination: bool

    def check(self, entry: Entry) -> Entry:
        """The entry. Raises ``ValueError`` for one whose path leads elsewhere."""
        if self.destination:
            check_file_path(entry.target or entry.path)
        if self.source and not entry.etag and (entry.target or not self.destination):
            check_file_path(entry.path)
        return entry

    def check_files(self, files: FileColumns) -> FileColumns:
        """``check`` of each of the files, all at once where their names are plain."""
        pinned = bool(files.etags) and all(files.etags)
        if self.destination or (self.source and not pinned):
            for path in [first_path(files)] if all_plain(files.names) else files.paths:
                check_file_path(path)
        return files


class ConfinedRows:
    """Decodes what names entries, by the ends of a plan; each method raises ``ValueError`` for a path that leaves them.

    ``read_plan`` is asked once at most; a thread that is asking it is waited for.
    """

    def __init__(self, read_plan: Callable[[], Plan]) -> None:
        self._read_plan = read_plan
        self._reading = threading.Lock()
        self._ends: MountedEnds | None = None

    def plan(self) -> Plan:
        """The plan, read anew."""
        with self._reading:
            return self._plan()

    def _plan(self) -> Plan:
        plan = self._read_plan()
        self._ends = MountedEnds(not plan.request.source.is_keyed, not plan.request.destination.is_keyed)
        return plan

    def _known(self) -> MountedEnds:
        with self._reading:
            if self._ends is None:
                self._plan()
            assert self._ends is not None
            return self._ends

    def listed(self, row: Any) -> Listed:
        """The entry or the files of a row; see ``listed_from_row``."""
        ends, listed = self._ends or self._known(), listed_from_row(row)
        return ends.check(listed) if isinstance(listed, Entry) else ends.check_files(listed)

    def link(self, row: list[Any]) -> tuple[Entry, str]:
        """The link of a row; see ``link_from_row``."""
        ends, (entry, first) = self._ends or self._known(), link_from_row(row)
        if ends.destination:
            check_file_path(first)
        return ends.check(entry), first

    def placed(self, path: str) -> None:
        """Look at the path of an entry at the destination."""
        if (self._ends or self._known()).destination:
            check_file_path(path)

    def big_file(self, big: BigFile) -> BigFile:
        (self._ends or self._known()).check(big.entry)
        return big
