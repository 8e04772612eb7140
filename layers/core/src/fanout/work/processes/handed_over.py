"""Objects that a function hands over to its other processes."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Self


class HandedOver:
    """Pickled as the arguments that it was made with: there it is made again, and holds nothing open yet.

    ``done_since`` is a method of it that was called since, with its arguments, and is called there too.
    """

    _made_of: Callable[[], Any]
    done_since: tuple[Any, ...] | None = None

    def __new__(cls, *given: Any, **named: Any) -> Self:
        made = super().__new__(cls)
        made._made_of = partial(cls, *given, **named)
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        return self._made_of, (), self.done_since

    def __setstate__(self, done: tuple[Any, ...]) -> None:
        name, *arguments = done
        getattr(self, name)(*arguments)
