"""The directories that a run made or put entries into: rows of the ledger, and which files hold them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct, convert, to_builtins

from fanout.ledger import keys
from fanout.ledger.ledger import Ledger
from fanout.model.document import Json
from fanout.model.entry import Attributes, Entry, Place
from fanout.shards.record import all_records
from fanout.shards.round_records import rounds_done


class MadeDirectory(Struct, frozen=True, omit_defaults=True):
    """A directory that a run made, with the attributes to set when everything is in it.

    An ``implied`` one is no entry, which gets its mode alone. One that gets attributes of the request counts as
    an entry, but ``may_lack``: it is not there where nothing in it was copied. Times are nanoseconds since 1970.
    ``inode`` is that of the directory which the listing saw or the run made; where it is empty, a row of ``place``
    has it. Such a row has nothing to set: entries were put into this directory, which the run made if it ``is_own``.
    ``listed``: the listing saw it. ``carried``: an earlier run did, or made it, and this run may not have closed it.
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
    place: bool = False
    is_own: bool = False
    listed: bool = False
    carried: bool = False

    @property
    def is_taken(self) -> bool:
        """Whether it was there, and was taken from another user; if it was listed, another row has its inode."""
        return self.listed and not self.inode


def made_from_row(row: Any) -> MadeDirectory:
    """A row of a file of directories."""
    return convert(row, MadeDirectory)


# An entry ``replaces`` this if it is a directory which was taken from another user.
TAKEN = "taken"
# A directory that was made or taken, with the attributes of its source; or one that entries were put into.
SeenDirectory = tuple[Entry, Attributes] | Place


def take(seen: list[SeenDirectory]) -> list[SeenDirectory]:
    """Hand over what a list holds, to which other threads may add meanwhile."""
    taken = list(seen)
    del seen[: len(taken)]
    return taken


def rows_of(seen: Iterable[SeenDirectory]) -> list[Json]:
    """The rows of directories; each place once, and none of which a row with attributes says as much."""
    known = list(seen)
    made = [_with_attributes(*one) for one in known if not isinstance(one, Place)]
    listed = {(one.path, one.inode) for one in made}
    places = {one for one in known if isinstance(one, Place) and (one.path, one.inode) not in listed}
    ordered = sorted(places, key=lambda one: (one.path, one.inode, one.is_own))
    return [to_builtins(one) for one in (*made, *map(_of_place, ordered))]


def write_places(places: Sequence[SeenDirectory], ledger: Ledger, name: str, number: int) -> None:
    """Record where finishing put entries, before their outcomes say that they are there; ``name`` is its own."""
    if places:
        ledger.write_rows(keys.placed_key(name, number), rows_of(places))


def _with_attributes(entry: Entry, attributes: Attributes) -> MadeDirectory:
    """A directory that was made, with what is to be set on it at the end."""
    mode, uid, gid = attributes.mode, attributes.uid, attributes.gid
    times_ns = attributes.copied_mtime_ns, attributes.atime_ns
    listed = bool(entry.inode and entry.replaces) or entry.replaces == TAKEN
    return MadeDirectory(entry.path, mode, uid, gid, *times_ns, inode=entry.inode, listed=listed)


def _of_place(place: Place) -> MadeDirectory:
    return MadeDirectory(place.path, None, inode=place.inode, place=True, is_own=place.is_own)


def read_made(ledger: Ledger, key: str, rows: int | None) -> list[MadeDirectory]:
    """The directories of a file of the ledger. Raises ``LedgerBroken``."""

    def made(row: Any) -> MadeDirectory:
        found = made_from_row(row)
        ledger.check_placed(found.path)
        return found

    return list(ledger.read_rows_as(key, made, rows))


def made_directories(ledger: Ledger) -> dict[str, int | None]:
    """The files in their order, those taken over from an earlier run first, each with its rows if that is known.

    Raises ``LedgerBroken`` if one is missing: the records of copies and the rounds say which there are.
    """
    carried = [key for done in rounds_done(ledger) for key in done.directories]
    return directories_held(carried, ledger)


def with_placed(made: Mapping[str, int | None], ledger: Ledger) -> dict[str, int | None]:
    """These files, and those of where big files and further names were put, if there are any."""
    return {**made, **dict.fromkeys(ledger.keys(keys.PLACED))}


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
