"""Notes which globs of a request matched an entry: one that matches nothing may be mistyped."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

from fanout.request.filtering.filters import Filters
from fanout.request.filtering.globs import compile_globs

# Chosen: comparisons of a path with a glob that one listing of a segment spends on this, under 10 ms.
MOST_CHECKS = 10_000
# Chosen: globs that compile within 10 ms.
MOST_GLOBS = 100


class MatchedGlobs:
    """The globs that matched a path, each looked for until it is found.

    Only a path that the filters matched is looked at: an entry that no glob is about costs nothing. After
    ``MOST_CHECKS`` comparisons, and where a request has over ``MOST_GLOBS``, nothing is looked for any more.
    """

    def __init__(self, filters: Filters) -> None:
        self._all = named_globs(filters)
        self._is_known = len(self._all) <= MOST_GLOBS
        sought = self._all if self._is_known else {}
        self._sought = {
            field: {name: glob for name, glob in sought.items() if name.startswith(field)}
            for field in ("include", "exclude")
        }
        self._room = MOST_CHECKS

    def seeks(self, field: str) -> bool:
        """Whether a glob of ``include`` or ``exclude`` is not found yet."""
        return bool(self._sought[field])

    def look(self, field: str, paths: Iterable[str]) -> None:
        """Look at paths that a glob of the field matches."""
        sought = self._sought[field]
        for path in paths:
            if not sought:
                return
            self._room -= len(sought)
            if self._room < 0:
                self._sought, self._is_known = {"include": {}, "exclude": {}}, False
                return
            for name in [name for name, glob in sought.items() if _compiled(glob).match(path)]:
                del sought[name]

    @property
    def names(self) -> list[str] | None:
        """The globs that matched, as ``named_globs`` names them; ``None`` if that is not known."""
        if not self._is_known:
            return None
        return [name for name in self._all if not any(name in sought for sought in self._sought.values())]


def matched_in_all(parts: Iterable[Sequence[str] | None]) -> list[str] | None:
    """The globs that matched in any of the parts of a tree; ``None`` if it is not known of one of them."""
    found: set[str] = set()
    for names in parts:
        if names is None:
            return None
        found.update(names)
    return sorted(found)


def named_globs(filters: Filters) -> dict[str, str]:
    """The globs of a request by their names: the field and the number, as ``exclude.0``."""
    fields = (("include", filters.include), ("exclude", filters.exclude))
    return {f"{field}.{number}": glob for field, globs in fields for number, glob in enumerate(globs)}


@lru_cache(MOST_GLOBS)
def _compiled(glob: str) -> re.Pattern[str]:
    return compile_globs([glob])
