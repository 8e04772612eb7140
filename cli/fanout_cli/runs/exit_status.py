"""The exit status of a command that followed or reported a run, by how the run ended: a row a cause."""

from __future__ import annotations

from collections.abc import Mapping

from fanout.books.summary_document import Status
from fanout.model.errors import AccessDenied, BudgetRefused, DeleteRefused, FinishRefused, InvalidRequest, Unreachable
from fanout_cli.command_error import EXIT_FAILED

EXIT_SUCCEEDED = 0
EXIT_INVALID_REQUEST = 2
EXIT_SKIPPED = 3
EXIT_DENIED = 4
EXIT_REFUSED = 5
EXIT_BROKE_OFF = 6

_OF_STATUS = {
    Status.SUCCEEDED.value: EXIT_SUCCEEDED,
    Status.SKIPPED.value: EXIT_SKIPPED,
    Status.FAILED_WITH_ITEMS.value: EXIT_FAILED,
}
# Whatever else ends a run breaks it off: time or dollars were used up, it was stopped, a service failed.
_OF_ERROR = {
    InvalidRequest.__name__: EXIT_INVALID_REQUEST,
    AccessDenied.__name__: EXIT_DENIED,
    Unreachable.__name__: EXIT_DENIED,
    DeleteRefused.__name__: EXIT_REFUSED,
    BudgetRefused.__name__: EXIT_REFUSED,
    FinishRefused.__name__: EXIT_REFUSED,
}


def exit_status_of(status: str, error: Mapping[str, str] | None) -> int:
    """The exit status for a run's status, and its error if it has one."""
    if status in _OF_STATUS:
        return _OF_STATUS[status]
    return _OF_ERROR.get(error["name"] if error else "", EXIT_BROKE_OFF)
