"""Work that a function gives to threads, done at once: of many small runs, starting threads takes the most time."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest


def _at_once(_pool: ThreadPoolExecutor, work: Callable[..., Any], *args: Any, **kwargs: Any) -> Future[Any]:
    done: Future[Any] = Future()
    try:
        done.set_result(work(*args, **kwargs))
    except BaseException as error:  # noqa: BLE001 - as a thread hands it on
        done.set_exception(error)
    return done


def without_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pool of threads does what is submitted while it is submitted."""
    monkeypatch.setattr(ThreadPoolExecutor, "submit", _at_once)
