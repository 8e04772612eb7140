"""A work store in which something happens before one write: the function is lost, or another attempt runs."""

from __future__ import annotations

from collections.abc import Callable

from fanout.model.errors import Transient
from tests.support.memory_store import MemoryStore


class Interrupted(MemoryStore):
    """Does something before one write, of which ``before`` is true for its number and key; ``writes`` counts them."""

    def __init__(self) -> None:
        super().__init__()
        self.before: Callable[[int, str], bool] | None = None
        self.does: Callable[[], None] = lambda: None
        self.writes = 0

    def arm(self, before: Callable[[int, str], bool], does: Callable[[], None]) -> None:
        """Do it before that write, once; count from now on."""
        self.before, self.does, self.writes = before, does, 0

    def put(self, key: str, data: bytes) -> None:
        """See ``ports.store.WorkStore``."""
        number, self.writes = self.writes, self.writes + 1
        if self.before is not None and self.before(number, key):
            self.before = None
            self.does()
        super().put(key, data)


def the_record(_number: int, key: str) -> bool:
    return "/outcomes/shards/" in key and key.endswith(".json")


def no_write(_number: int, _key: str) -> bool:
    return False


def write_of(at: int) -> Callable[[int, str], bool]:
    return lambda number, _key: number == at


def lost() -> None:
    raise Transient("the function was lost")
