"""Adapters that are imported at their first use. Few tasks use them, and every cold start would pay for the import."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

T = TypeVar("T")


class _LateAdapter:
    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make

    def __getattr__(self, name: str) -> Any:
        return lambda *given, **named: getattr(self._make(), name)(*given, **named)


def late(make: Callable[[], T]) -> T:
    """An adapter that is made when one of its methods is called, not when it is only named; ``make`` may keep it."""
    return cast(T, _LateAdapter(make))
