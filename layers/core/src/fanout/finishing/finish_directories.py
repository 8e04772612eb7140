"""The attributes of directories, set when everything is in them."""

from __future__ import annotations

import stat
from collections.abc import Callable, Iterable
from itertools import groupby

from fanout.facts import limits
from fanout.ledger import keys
from fanout.ledger.ledger import Ledger
from fanout.model.document import Json
from fanout.model.entry import Attributes, Entry, Kind
from fanout.model.errors import problem_of
from fanout.model.outcome import Outcome, Reason
from fanout.ports.tree import Tree
from fanout.shards.made_directories import made_directories
from fanout.work.context import Context
from fanout.work.parallel import ahead, work_on

# With ``None`` for a directory that no entry stands for, and the mode that it gets if it has none yet.
Made = tuple[str, Attributes | None, int]
File = tuple[str, int | None]
_PASSABLE = stat.S_IRWXU


def finish_directories(
    context: Context, destination: Tree, out_of_time: Callable[[], bool], position: str = keys.DIRECTORIES_SET
) -> tuple[int, bool]:
    """Set the attributes of every directory that the run made; returns how many files of them it went
    through now, and whether all are set.

    Most can be set in any order, file by file of the ledger as they come. Those that their owner could not
    pass afterwards come last, deepest first, because what lies below them is reached through them. A directory
    stands in several files if several shards wrote into it, each time with the same attributes.
    A directory that cannot be set is a row in the ledger, read by SummariseTransfer. ``position`` is the key
    under which stands how far it came.
    """
    ledger = context.ledger
    files = list(made_directories(ledger).items())
    began_at = _files_set(ledger, position) if files else 0
    failures: list[Json] = []
    number = began_at
    for number, (_, made) in enumerate(ahead(lambda key: _read(ledger, key), files[began_at:], _AHEAD), began_at + 1):
        failures += _set(destination, [one for one in made if one[1] is None or _passable(one[1])])
        if number < len(files) and out_of_time():
            break
    # The last pass reads all files again, so it has a task of its own where this one has used its time.
    finished = number >= len(files) and not (number > began_at and out_of_time())
    if finished:
        failures += _set_last(ledger, files, destination)
    if failures:
        ledger.write_rows(keys.directory_failures_key(context.nonce), failures)
    if files:
        ledger.write_json(position, {"files": number})
    return number - began_at, finished


def directories_failed(ledger: Ledger) -> dict[str, Outcome]:
    """The directories that did not get their attributes, by path. They stay as they were made: closed."""
    failures = (one for key in ledger.keys(keys.DIRECTORY_FAILURES) for one in ledger.read_rows_as(key, _failed))
    return {outcome.path: outcome for outcome in failures}


def _failed(row: Json) -> Outcome:
    return Outcome.because(Entry(row["path"], Kind.DIRECTORY), Reason(row["reason"]), row["message"])


_AHEAD = limits.LEDGER_FILES_AHEAD


def _files_set(ledger: Ledger, position: str) -> int:
    return ledger.read_as(position, lambda row: int(row["files"])) if ledger.has(position) else 0


def _passable(attributes: Attributes) -> bool:
    mode = attributes.mode
    return mode is None or mode & _PASSABLE == _PASSABLE


def _set_last(ledger: Ledger, files: list[File], destination: Tree) -> list[Json]:
    last: dict[str, Attributes] = {}
    for _, made in ahead(lambda key: _read(ledger, key), files, _AHEAD):
        for path, attributes, _ in made:
            if attributes is None:
                continue
            if _passable(attributes):
                last.pop(path, None)  # a later file has newer attributes
            else:
                last[path] = attributes
    failures: list[Json] = []
    entries: list[Made] = [(path, attributes, 0) for path, attributes in last.items()]
    deepest_first = sorted(entries, key=lambda one: -one[0].count("/"))
    for _, level in groupby(deepest_first, key=lambda one: one[0].count("/")):
        failures += _set(destination, level)
    return failures


def _set(destination: Tree, made: Iterable[Made]) -> list[Json]:
    def set_one(one: Made) -> Json | None:
        path, attributes, mode = one
        entry = Entry(path, Kind.DIRECTORY)
        try:
            if attributes is None:
                destination.open_directory(entry, mode)
            else:
                destination.set_attributes(entry, attributes)
        except Exception as error:  # noqa: BLE001 - see problem_of
            problem = problem_of(error)
            return {"path": path, "reason": problem.reason.value, "message": problem.message}
        return None

    results = work_on(enumerate(made), set_one, limits.CLIENT_OPERATIONS_IN_FLIGHT, lambda: False, [])
    return [failure for _, failure in results if failure is not None]


def _read(ledger: Ledger, file: File) -> list[Made]:
    key, rows = file
    return list(ledger.read_rows_as(key, _made, rows))


def _made(row: Json) -> Made:
    if "implied" in row:
        return row["path"], None, row["mode"]
    attributes = Attributes(row["mode"], row["uid"], row["gid"], row["mtime_ns"], row["atime_ns"])
    return row["path"], attributes, row["mode"]
