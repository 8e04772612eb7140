"""The entries behind the failures of a run, by their classes: the first of each, as many as a screen holds."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from fanout.books.failures import FailureClass
from fanout.report.text import clip

# Chosen: as many as a person reads below each class.
FIRST = 5


class Named(NamedTuple):
    """An entry that failed, and the store's own words about it."""

    path: str
    message: str

    def __str__(self) -> str:
        return f"{clip(self.path)}: {clip(self.message)}" if self.message else clip(self.path)


FailedPaths = Mapping[tuple[str, str, str], list[Named]]


def failed_paths(rows: Iterable[Mapping[str, Any]], most: int | None = FIRST) -> FailedPaths:
    """The first ``most`` entries of each class, of the rows of failures.jsonl; all of them for ``None``."""
    found: dict[tuple[str, str, str], list[Named]] = defaultdict(list)
    for row in rows:
        named = found[row.get("phase", ""), row.get("outcome", ""), row.get("reason", "")]
        if most is None or len(named) < most:
            named.append(Named(str(row.get("path", "")), str(row.get("message", ""))))
    return found


def lines_of(one: FailureClass, found: FailedPaths) -> Iterator[str]:
    """The entries of a class, a line each, and how many more there are."""
    named = found.get((one.phase, one.outcome.value, one.reason), [])
    yield from (f"    {entry}" for entry in named)
    if named and one.entries > len(named):
        yield f"    and {one.entries - len(named):,} more"
