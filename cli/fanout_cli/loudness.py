"""How much a command says of its own accord: ``--quiet``, the usual, ``--verbose``."""

from __future__ import annotations

from contextvars import ContextVar

_QUIET: ContextVar[bool] = ContextVar("quiet", default=False)
_VERBOSE: ContextVar[bool] = ContextVar("verbose", default=False)


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
