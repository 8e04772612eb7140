"""Looks at a version that a rollback published again: whether its entries are as the record of its run says.

The look comes after the switch, because nobody who goes back wants to wait for it. It names what differs; it changes
nothing. Kind, mode, owner, group, size, mtime, inode and a symlink's target are compared. What the record does not
hold is not looked at: directories, the names of files that have several at the source, and what somebody added.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from fanout.copying.linking import made_in
from fanout.facts import tuning
from fanout.ledger import keys
from fanout.ledger.ledger import Ledger
from fanout.ledger.rows import made_from_row
from fanout.model.deadline import Deadline
from fanout.model.entry import MadeEntry
from fanout.model.errors import InvalidRequest, LedgerBroken
from fanout.ports.versions import Versions
from fanout.publishing.kept_versions import VersionNote
from fanout.work.parallel import side_by_side

# Chosen: so many entries that differ are compared with those of which two attempts left a record; the rest is not
# counted.
_MOST = 10_000
# Chosen: entries that the note names.
_NAMED = 5


def runs_of(version: str, notes: Mapping[str, VersionNote], ledger: Ledger) -> list[str]:
    """The runs that made a version: one or, where others went on with it, all of them, the first one first."""
    last = notes[version].run_id if version in notes else version
    try:
        plan = ledger.of_run(last).read_plan()
    except (InvalidRequest, LedgerBroken):
        return [version]
    return list(dict.fromkeys([version, *reversed(plan.resumes), last]))


def look_at_version(runs: Sequence[str], versions: Versions, ledger: Ledger, deadline: Deadline) -> str:
    """Say of the version of these runs, in a sentence, how it differs. Raises ``AccessDenied`` or ``Transient``."""
    looked, suspects, all_seen = 0, dict[str, MadeEntry | None](), True
    for records in _records(runs, ledger):
        if deadline.passed or len(suspects) >= _MOST:
            all_seen = False
            break
        looked += len(records)
        paths = [one.path for one in records]
        found = side_by_side(versions.entry_at, paths, tuning.CLIENT_OPERATIONS_IN_FLIGHT)
        suspects |= {one.path: now for one, now in zip(records, found, strict=True) if not _is_like(one, now)}
    differing = _differing(runs, suspects, ledger)
    return _sentence(looked, differing, all_seen=all_seen)


def _records(runs: Sequence[str], ledger: Ledger) -> Iterator[list[MadeEntry]]:
    """The records, a file of them at a time; one that cannot be read is left out, as by the run that links."""
    for run in runs:
        try:
            earlier = ledger.of_run(run)
            for key in earlier.keys(keys.MADE):
                yield list(earlier.read_rows_as(key, made_from_row))
        except (InvalidRequest, LedgerBroken):
            continue


def _is_like(made: MadeEntry, now: MadeEntry | None) -> bool:
    return now is not None and made.looks_like(now)


def _differing(runs: Sequence[str], suspects: dict[str, MadeEntry | None], ledger: Ledger) -> dict[str, str]:
    """The differences of each entry that is as none of its records: several attempts may have made it."""
    differing: dict[str, str] = {}
    of_runs = [made_in(run, ledger, set(suspects)) for run in runs] if suspects else []
    for path, now in suspects.items():
        records = [one for made in of_runs for one in made.get(path, ())]
        if not any(_is_like(one, now) for one in records):
            differing[path] = _what(records[-1], now)
    return differing


def _what(made: MadeEntry, now: MadeEntry | None) -> str:
    if now is None:
        return "gone"
    names = {"mode": "mode", "uid": "owner", "gid": "group", "size": "size", "mtime_ns": "mtime", "target": "target"}
    return ", ".join(said for name, said in names.items() if getattr(made, name) != getattr(now, name)) or "replaced"


def _sentence(looked: int, differing: dict[str, str], *, all_seen: bool) -> str:
    if not looked:
        return "no run recorded what this version held: nobody looked whether it still does"
    seen = f"{looked:,} entries" if all_seen else f"the first {looked:,} entries that were looked at"
    if not differing:
        return f"{seen} of this version are as its run recorded them"
    some = "; ".join(f"{path} ({what})" for path, what in list(differing.items())[:_NAMED])
    more = f"; and {len(differing) - _NAMED:,} more" if len(differing) > _NAMED else ""
    return f"of {seen} of this version {len(differing):,} are not as its run recorded them: {some}{more}"
