"""How a run ended, and what it deleted."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from fanout.model.document import Json


@dataclass
class Result:
    """How a run ended: its summary, if it wrote one, and what went wrong that nobody named."""

    status: str = ""
    error: Any = None
    summary: Any = None
    failures: list[Json] = field(default_factory=list)
    reported: list[Json] = field(default_factory=list)
    unnamed: list[str] = field(default_factory=list)
    finished: bool = False


@dataclass(frozen=True)
class Deletion:
    """What one attempt of a function that deletes took away, and the states of the source meanwhile, by number."""

    paths: frozenset[str]
    first: int
    last: int
