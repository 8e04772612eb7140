"""The attributes of directories, set when everything is in them."""

from __future__ import annotations

import stat
from collections.abc import Iterable, Mapping
from itertools import groupby

from msgspec import Struct, to_builtins

from fanout.facts import tuning
from fanout.finishing.divide import ClosedFile, MadeFile
from fanout.finishing.unset_directories import Unset
from fanout.ledger import keys
from fanout.ledger.kind import ALONE, ObjectKind
from fanout.ledger.ledger import Ledger
from fanout.model.deadline import NEVER, Deadline
from fanout.model.entry import Attributes, Entry, Kind
from fanout.model.errors import FanoutError, ItemError, problem_of
from fanout.ports.tree import ReadTree
from fanout.shards.made_directories import MadeDirectory, read_made
from fanout.shards.proven_places import ProvenPlaces
from fanout.work.context import Context
from fanout.work.parallel import ahead, work_on

_PASSABLE = stat.S_IRWXU


class Position(Struct, frozen=True):
    """How many files of directories one or several FinishTree have set, ``of`` so many: of others it says nothing."""

    files: int
    of: int = 0


DIRECTORIES_SET = ObjectKind("directories/set.json", Position, by=("FinishTree",), wave=ALONE)
DIRECTORIES_MENDED = ObjectKind("directories/mended.json", Position, by=("RemoveDirectories",))


def finish_directories(
    context: Context,
    destination: ReadTree,
    deadline: Deadline,
    made: Mapping[str, int | None],
    position: ObjectKind[Position] = DIRECTORIES_SET,
) -> tuple[int, bool]:
    """Set the attributes of every directory in these files; returns how many files it went through now, and whether
    all are set.

    Most can be set in any order, file by file of the ledger as they come. Directories that close the way to their
    owner come last, deepest first: the way to a directory leads through those above it. A directory that cannot be
    set is a row in the ledger, read by SummariseTransfer. ``position`` is the key of how far it came.
    """
    ledger = context.ledger
    files = [MadeFile(key, rows) for key, rows in made.items()]
    began_at = _files_set(ledger, position, len(files)) if files else 0
    failures: list[Unset] = []
    number = began_at
    closed = began_at > 0  # what another task saw is not known here
    places = ProvenPlaces(ledger)
    reading = ahead(lambda file: read_directories(ledger, file), files[began_at:], tuning.LEDGER_FILES_AHEAD)
    for number, (_, read) in enumerate(reading, began_at + 1):
        rows = places.complete(read)
        settable = [one for one in rows if settable_at_once(one)]
        closed = closed or len(settable) < len(rows)
        failures += set_directories(destination, settable)
        if number < len(files) and deadline.passed:
            break
    # The last pass reads all files again, so another task makes it if this one has used its time. It is only for
    # directories that close the way to those below.
    finished = number >= len(files) and not (closed and number > began_at and deadline.passed)
    if finished and closed:
        failures += _set_last(ledger, files, destination, places)
    if failures:
        ledger.write_rows(keys.directory_failures_key(context.nonce), map(to_builtins, failures))
    if files:
        ledger.write(position, Position(number, len(files)))
    return number - began_at, finished


def _files_set(ledger: Ledger, position: ObjectKind[Position], files: int) -> int:
    found = ledger.find(position)
    return found.files if found and found.of == files else 0


def settable_at_once(made: MadeDirectory) -> bool:
    """Whether the directory can be set before those below it: its owner can pass it afterwards.

    Always true for an implied one, which no mode of a source closes, and for one that is only looked at, or was taken:
    the row of its entry sets it.
    """
    return made.implied or made.is_taken or made.mode is None or made.mode & _PASSABLE == _PASSABLE


def _set_last(ledger: Ledger, files: list[MadeFile], destination: ReadTree, places: ProvenPlaces) -> list[Unset]:
    last: dict[str, MadeDirectory] = {}
    for _, made in ahead(lambda file: read_directories(ledger, file), files, tuning.LEDGER_FILES_AHEAD):
        for one in made:
            if one.implied or one.place or one.is_taken:
                continue
            if settable_at_once(one):
                last.pop(one.path, None)  # a later file has newer attributes
            else:
                last[one.path] = one
    failures: list[Unset] = []
    deepest_first = sorted(last.values(), key=lambda one: -depth_of(one))
    for _, level in groupby(deepest_first, key=depth_of):
        failures += set_directories(destination, places.complete([*level]))
    return failures


def depth_of(made: MadeDirectory) -> int:
    """How deep a directory lies; those of one depth are in no other one of it."""
    return made.path.count("/")


def set_directories(destination: ReadTree, made: Iterable[MadeDirectory]) -> list[Unset]:
    """Set the attributes of directories, many at once; returns those that could not be set.

    Each is the one of its row's inode: whoever swaps names in a directory has neither mode nor owner of another set.
    """
    files = destination.file_system
    if files is None:  # a bucket's directories are objects, which got their attributes as they were written
        return []

    def set_one(one: MadeDirectory) -> Unset | None:
        is_listed = not one.is_own if one.place else one.listed
        entry = Entry(one.path, Kind.DIRECTORY, inode=one.inode, replaces=one.inode if is_listed else "")
        try:
            if one.place:
                files.require_place(entry)
            elif one.implied:
                files.open_directory(entry, one.mode or 0)
            else:
                attributes = Attributes(one.mode, one.uid, one.gid, one.mtime_ns, one.atime_ns)
                files.set_attributes(entry, attributes, is_closed=not one.carried)
        except Exception as error:  # noqa: BLE001 - see problem_of
            if one.may_lack and isinstance(error, ItemError) and _is_missing(destination, one.path):
                return None
            problem = problem_of(error)
            return Unset(one.path, problem.reason, problem.message)
        return None

    results = work_on(enumerate(made), set_one, tuning.CLIENT_OPERATIONS_IN_FLIGHT, NEVER, [])
    return [failure for _, failure in results if failure is not None]


def _is_missing(destination: ReadTree, path: str) -> bool:
    try:
        return destination.find(path) is None
    except (FanoutError, ItemError):
        return False  # then the first error is reported


def read_directories(ledger: Ledger, file: MadeFile | ClosedFile) -> list[MadeDirectory]:
    """The directories of a file of the ledger. Raises ``LedgerBroken``."""
    return read_made(ledger, file.key, file.rows)
