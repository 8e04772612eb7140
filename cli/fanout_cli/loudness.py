"""How much a command prints: ``--quiet``, as usual, or ``--verbose``; and the file that gets the same lines."""

from __future__ import annotations

from contextvars import ContextVar
from pathlib import Path

import typer

_QUIET: ContextVar[bool] = ContextVar("quiet", default=False)
_VERBOSE: ContextVar[bool] = ContextVar("verbose", default=False)
_LOG_FILE: ContextVar[Path | None] = ContextVar("log_file", default=None)


def choose_quiet(value: bool) -> None:
    """Take the option ``--quiet``."""
    _QUIET.set(value)


def choose_verbose(value: bool) -> None:
    """Take the option ``--verbose``."""
    _VERBOSE.set(value)


def is_quiet() -> bool:
    """Whether only a verdict and what is wrong is wanted."""
    return _QUIET.get()


def is_verbose() -> bool:
    """Whether everything that is known is wanted."""
    return _VERBOSE.get()


def choose_log_file(value: Path | None) -> None:
    """Take the option ``--log-file``. Raises ``typer.BadParameter`` for a file that cannot be written."""
    if value is not None:
        try:
            value.open("a", encoding="utf-8").close()
        except OSError as error:
            raise typer.BadParameter(f"{value} cannot be written ({error.strerror})") from error
    _LOG_FILE.set(value)


def log_file() -> Path | None:
    """The file that keeps what the command says, if one is named."""
    return _LOG_FILE.get()
