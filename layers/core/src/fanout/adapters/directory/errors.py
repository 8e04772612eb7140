"""Errors of a file system, as they are of a ledger that is kept there."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager

from fanout.adapters.posix.errors import MAY_PASS
from fanout.model.errors import FanoutError, LedgerBroken, Transient, Unreachable

NO_OBJECT = (FileNotFoundError, IsADirectoryError, NotADirectoryError)
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})


@contextmanager
def ledger_errors(path: str) -> Iterator[None]:
    """Errors of the file system as those of the product; each ends with what to do."""
    try:
        yield
    except OSError as error:
        raise _of_os(error, path) from error


def _of_os(error: OSError, path: str) -> FanoutError:
    name = errno.errorcode.get(error.errno or 0, str(error.errno))
    if error.errno in _FULL:
        return Unreachable(f"the disk that holds the ledger is full ({path}: {name}); free space there, then retry")
    if error.errno in MAY_PASS:
        return Transient(f"the ledger at {path} did not answer ({name})")
    if isinstance(error, NO_OBJECT):
        return LedgerBroken(f"{path} cannot be in the ledger ({name}); see what is there in its place")
    return Unreachable(
        f"the ledger cannot be kept at {path} ({name}); let this user write there, or name another place"
    )
