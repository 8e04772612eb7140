"""Lists the destination in a separate process, while this process lists the source and compares.

Listing costs the same at both ends, and the interpreter runs one thread at a time. Handing a file over costs a tenth
of listing it.
"""

from __future__ import annotations

import fcntl
from array import array
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial

from fanout.model.columns import FileColumns, Listed
from fanout.model.entry import Entry
from fanout.work.processes.crew import Crew
from fanout.work.processes.first_child import Send
from fanout.work.processes.shared_work import messages_of

# Entries that are handed over at once; and bytes that wait in the pipe, some tens of thousands of entries.
_AT_ONCE = 1_000
_PIPE_BYTES = 1 << 20
# The directory, its names and the three columns of numbers.
_PackedColumns = tuple[str, str, bytes, bytes, bytes]


@contextmanager
def listed_apart(listing: Callable[[], Iterator[Listed]], crew: Crew | None) -> Iterator[Iterator[Listed]]:
    """Yield the entries that ``listing`` finds, in order and with its errors; a process of ``crew`` lists, if any.

    Such a ``listing`` is pickled, with a tree that several processes may list. The process has ended on exit.
    """
    if crew is None:
        yield listing()
        return
    process = crew.begin(partial(_tell, listing))
    try:
        with suppress(OSError):  # more than this user may have
            fcntl.fcntl(process.reading.fileno(), fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
        yield (_unpacked(one) for batch in messages_of(crew, [process]) for one in batch)
    finally:
        crew.end(process)


def _tell(listing: Callable[[], Iterator[Listed]], send: Send) -> None:
    held: list[Listed | _PackedColumns] = []
    entries = 0
    for one in listing():
        held.append(_packed(one))
        entries += 1 if isinstance(one, Entry) else len(one)
        if entries >= _AT_ONCE:
            send(held)
            held, entries = [], 0
    send(held)


def _packed(listed: Listed) -> Listed | _PackedColumns:
    """Columns as few values, which are handed over much faster; no name of a file system holds a ``/``."""
    if isinstance(listed, Entry) or listed.etags:
        return listed
    try:
        sizes, mtimes, changed = (
            array("q", column).tobytes() for column in (listed.sizes, listed.mtimes_ns, listed.changed_ns)
        )
    except OverflowError:  # a time after the year 2262
        return listed
    return listed.directory, "/".join(listed.names), sizes, mtimes, changed


def _unpacked(packed: Listed | _PackedColumns) -> Listed:
    if not isinstance(packed, tuple):
        return packed
    directory, names, sizes, mtimes, changed = packed
    return FileColumns(directory, names.split("/"), _numbers(sizes), _numbers(mtimes), _numbers(changed))


def _numbers(column: bytes) -> Sequence[int]:
    return tuple(array("q", column))
