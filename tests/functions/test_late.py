"""Adapters that are made at their first use."""

from __future__ import annotations

from fanout.runtime.late import late


def test_an_adapter_is_made_when_a_method_is_called_and_not_when_it_is_named() -> None:
    made: list[list[int]] = []

    def make() -> list[int]:
        made.append([1, 2])
        return made[-1]

    count = late(make).count
    assert not made
    assert count(2) == 1
    assert len(made) == 1


def test_its_methods_take_what_those_of_the_adapter_take() -> None:
    numbers = [1, 2]
    late(lambda: numbers).sort(reverse=True)
    assert numbers == [2, 1]
