"""Facts are asked once, side by side, whatever the order of the lines that read them."""

from __future__ import annotations

import threading
from functools import cached_property

import pytest

from fanout.work.facts import Facts, asked


class Wrong(Exception):
    """An answer that is an error."""


class Some(Facts):
    """``both`` waits until two others are asked at the same time."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[str] = []
        self._both = threading.Barrier(2, timeout=30)

    @asked
    def sum(self) -> int:
        """Needs two others."""
        self.calls.append("sum")
        return self.first + self.second

    @asked
    def first(self) -> int:
        """Waits for the second one."""
        self.calls.append("first")
        self._both.wait()
        return 1

    @asked
    def second(self) -> int:
        """Waits for the first one."""
        self.calls.append("second")
        self._both.wait()
        return 2

    @asked
    def wrong(self) -> int:
        """Cannot be asked."""
        self.calls.append("wrong")
        raise Wrong("first")

    @asked
    def needs_wrong(self) -> int:
        """Cannot be asked either."""
        return self.wrong

    @cached_property
    def later(self) -> int:
        """Not asked ahead."""
        self.calls.append("later")
        return 3


def test_all_are_asked_at_the_same_time_and_once() -> None:
    with Some() as facts:
        facts.ahead()
        assert [facts.sum, facts.sum, facts.first, facts.second] == [3, 3, 1, 2]
    assert sorted(facts.calls) == ["first", "second", "sum", "wrong"]


def test_the_end_waits_for_what_is_asked_and_what_may_not_be_asked_ahead_is_asked_when_it_is_read() -> None:
    with Some() as facts:
        facts.ahead()
    assert sorted(facts.calls) == ["first", "second", "sum", "wrong"]
    assert (facts.later, facts.sum) == (3, 3)
    assert facts.calls.count("later") == 1


def test_an_error_is_raised_where_the_answer_is_read_and_to_each_reader() -> None:
    with Some() as facts:
        facts.ahead()
        assert facts.sum == 3
        for _ in range(2):
            with pytest.raises(Wrong):
                _ = facts.needs_wrong
        with pytest.raises(Wrong):
            _ = facts.wrong
    assert facts.calls.count("wrong") == 1


def test_what_is_not_read_is_asked_only_ahead() -> None:
    with Some() as facts, pytest.raises(Wrong):
        _ = facts.wrong
    assert facts.calls == ["wrong"]
