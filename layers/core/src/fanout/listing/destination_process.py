"""Lists the destination in a separate process, while this process lists the source and compares.

Listing costs the same at both ends, and the interpreter runs one thread at a time. Handing a file over costs a tenth
of listing it.
"""

from __future__ import annotations

import fcntl
import gc
import threading
from array import array
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from fanout.model.columns import FileColumns, Listed
from fanout.model.entry import Entry
from fanout.work.processes import begin_process, end_processes, messages_of

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

# Entries that are handed over at once; and bytes that wait in the pipe, some tens of thousands of entries.
_AT_ONCE = 1_000
_PIPE_BYTES = 1 << 20
# The directory, its names and the three columns of numbers.
_PackedColumns = tuple[str, str, bytes, bytes, bytes]


@contextmanager
def listed_apart(listing: Callable[[], Iterator[Listed]], forks: bool) -> Iterator[Iterator[Listed]]:
    """Yield the entries that ``listing`` finds, in order and with its errors; a second process lists if ``forks``.

    ``forks`` needs a tree that processes can share and this process does not use meanwhile. No other thread may run
    here: a forked child would inherit its locks, and nothing would release them. The process has ended on exit.
    """
    if not forks or threading.active_count() > 1:
        yield listing()
        return
    pipes: dict[Connection, int] = {}
    try:
        gc.freeze()
        reading, child = begin_process(lambda send: _tell(listing(), send))
        pipes[reading] = child
        with suppress(OSError):  # more than this user may have
            fcntl.fcntl(reading.fileno(), fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
        yield (_unpacked(one) for batch in messages_of(pipes) for one in batch)
    finally:
        end_processes(pipes)
        gc.unfreeze()


def _tell(listed: Iterator[Listed], send: Callable[[list[Listed | _PackedColumns]], None]) -> None:
    held: list[Listed | _PackedColumns] = []
    entries = 0
    for one in listed:
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
