"""Notes, next to a version, the directories that its runs made: their ledgers may expire before the version goes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain

from fanout.facts import tuning
from fanout.ledger import keys
from fanout.ledger.ledger import Ledger
from fanout.model.errors import InvalidRequest, LedgerBroken
from fanout.ports.versions import Versions
from fanout.publishing.kept_versions import VersionNote
from fanout.publishing.look_at_version import runs_of
from fanout.request.plan import Plan
from fanout.shards.made_directories import MadeDirectory, read_made
from fanout.work.parallel import ahead

_Made = tuple[str, int | None]


def note_directories(plan: Plan, versions: Versions, ledger: Ledger) -> None:
    """Note the directories of the version that a run publishes. Raises ``LedgerBroken``."""
    earlier = chain.from_iterable(_of_earlier(run, ledger) for run in plan.resumes)
    versions.note_directories(plan.version, chain(earlier, _made_in(ledger)))


def note_missing(going: Sequence[str], notes: Mapping[str, VersionNote], versions: Versions, ledger: Ledger) -> None:
    """Note those of versions that go and that have no note, as far as the ledgers of their runs are there.

    A run that did not succeed, or of an earlier release, wrote none.
    """
    noted = versions.with_noted_directories() if going else ()
    for version in going:
        if version not in noted:
            runs = runs_of(version, notes, ledger)
            versions.note_directories(version, chain.from_iterable(_of_earlier(run, ledger) for run in runs))


def _of_earlier(run: str, ledger: Ledger) -> Iterator[_Made]:
    """Those of an earlier run, as far as its ledger is there and can be read."""
    with suppress(InvalidRequest, LedgerBroken):
        yield from _made_in(ledger.of_run(run))


def _made_in(ledger: Ledger) -> Iterator[_Made]:
    """The directories that a run made, by their inodes, with their owners."""
    directories = (key for key in ledger.keys(keys.DIRECTORIES) if key.endswith(".jsonl.gz"))
    files = [*directories, *ledger.keys(keys.PLACED)]
    for _, rows in ahead(lambda key: read_made(ledger, key, None), files, tuning.LEDGER_FILES_AHEAD):
        yield from ((row.inode, row.uid) for row in rows if row.inode and _is_own(row))


def _is_own(row: MadeDirectory) -> bool:
    return row.is_own if row.place else not row.listed
