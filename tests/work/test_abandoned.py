"""Iterators of threads' work that nobody reads to the end: closing them waits for no thread."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from fanout.model.deadline import NEVER
from fanout.work.parallel import ahead, work_on

SECONDS = 5.0
Begin = Callable[[Callable[[int], int]], Iterator[Any]]


def held(gate: threading.Event, begun: list[int]) -> Callable[[int], int]:
    """Work whose first two items pass; each one after them waits for the gate."""

    def work(number: int) -> int:
        begun.append(number)
        if number > 1:
            assert gate.wait(SECONDS * 4)
        return number

    return work


@pytest.mark.parametrize(
    "begin",
    [
        pytest.param(lambda work: ahead(work, range(20), 3), id="ahead"),
        pytest.param(lambda work: work_on(enumerate(range(20)), work, 3, NEVER, []), id="work on"),
    ],
)
def test_an_iterator_is_closed_while_its_threads_are_at_work(begin: Begin) -> None:
    gate, begun = threading.Event(), list[int]()
    results = begin(held(gate, begun))
    next(results)
    began = time.monotonic()
    results.close()  # type: ignore[attr-defined]
    waited = time.monotonic() - began
    gate.set()
    assert waited < SECONDS
    time.sleep(0.1)
    assert len(begun) < 10  # and the rest is never begun
