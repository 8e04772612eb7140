"""Which files of the ledger hold the attributes of the directories that a run made."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from fanout.ledger import keys
from fanout.ledger.ledger import Ledger
from fanout.shards.record import all_records
from fanout.shards.round_records import rounds_done


class MadeDirectory(Struct, frozen=True, omit_defaults=True):
    """A directory that a run made, with the attributes to set when everything is in it.

    An ``implied`` one is no entry, which gets its mode alone. One that gets attributes of the request counts as
    an entry, but ``may_lack``: it is not there where nothing in it was copied. Times are nanoseconds since 1970.
    ``inode`` is that of the directory which the run's files went into, empty where it is not known.
    """

    path: str
    mode: int | None
    uid: int | None = None
    gid: int | None = None
    mtime_ns: int | None = None
    atime_ns: int | None = None
    implied: bool = False
    may_lack: bool = False
    inode: str = ""


def made_directories(ledger: Ledger) -> dict[str, int | None]:
    """The files in their order, those taken over from an earlier run first, each with its rows if that is known.

    Raises ``LedgerBroken`` if one is missing: the records of copies and the rounds say which there are.
    """
    carried = [key for done in rounds_done(ledger) for key in done.directories]
    return directories_held(carried, ledger)


def directories_held(carried: Iterable[str], ledger: Ledger) -> dict[str, int | None]:
    """The same, where the files that were taken over are known."""
    rows = {
        f"{keys.DIRECTORIES}{record.shard_id}-{record.name}.jsonl.gz": record.directories
        for record in all_records(ledger)
        if record.directories
    }
    held = [key for key in ledger.keys(keys.DIRECTORIES) if key.endswith(".jsonl.gz")]
    missing = {*rows, *carried}.difference(held)
    if missing:
        raise ledger.broken(min(missing), "is missing")
    return {key: rows.get(key) for key in held}
