"""Filters: which entries a request is about. docs/how-to/filters.md is the contract; the tests run its table.

| an entry                                              | is                                          |
|-------------------------------------------------------|---------------------------------------------|
| that an ``exclude`` matches, or a directory above it   | skipped: excluded                           |
| that no ``include`` matches, where there are any       | skipped: not included                       |
| a file smaller or larger than the bounds               | skipped: size out of the bounds             |
| a file whose mtime is out of the bounds                | skipped: time out of the bounds             |
| any other                                             | taken                                       |
| a directory that is not included but holds what is     | taken, see ``HeldDirectories``              |
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cached_property

from msgspec import Struct
from msgspec.structs import replace

from fanout.model.columns import FileColumns
from fanout.model.entry import Entry, Kind
from fanout.model.errors import InvalidRequest
from fanout.model.outcome import Reason
from fanout.request.filtering.globs import any_of, expression_of

# Chosen: all of them compile within a second, in each function of a run.
GLOB_CHARACTERS = 32_768
# An age, and the field that gives the same bound as a time.
_SAME_BOUND = (("newer_than", "modified_after"), ("older_than", "modified_before"))


class Filters(Struct, frozen=True, dict=True):
    """Globs over paths, bounds of sizes in bytes (both included) and of mtimes in nanoseconds.

    ``modified_after_ns`` is the first time since 1970 that is taken, ``modified_before_ns`` the first one that is not.
    ``newer_than_ns`` and ``older_than_ns`` are the same bounds as ages before ``ages_from_ns``, which ``at`` fills in.
    Raises ``InvalidRequest`` that names the field.
    """

    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    min_size: int | None = None
    max_size: int | None = None
    modified_after_ns: int | None = None
    modified_before_ns: int | None = None
    newer_than_ns: int | None = None
    older_than_ns: int | None = None
    ages_from_ns: int | None = None

    def __post_init__(self) -> None:
        _check_length(self.include, self.exclude)
        _ = self._included, self._excluded  # raises for a glob that cannot be compiled
        if self.min_size is not None and self.max_size is not None and self.min_size > self.max_size:
            problem = f"{self.min_size} is over max_size {self.max_size}"
            raise InvalidRequest("min_size", problem, "no file would be taken; swap them or leave one out")
        for age, time in _SAME_BOUND:
            if None not in (getattr(self, f"{age}_ns"), getattr(self, f"{time}_ns")):
                raise InvalidRequest(age, f"is the same bound as {time}", "leave one of them out")
        newer, older = self.newer_than_ns, self.older_than_ns
        if newer is not None and older is not None and newer <= older:
            problem = "is no larger age than older_than"
            raise InvalidRequest("newer_than", problem, "no file would be taken; swap them or leave one out")
        if self.has_ages and self.ages_from_ns is None:
            return  # an age and a time can be compared where the run begins
        after, before = self._times
        if after is not None and before is not None and after >= before:
            first, last = ("modified_after" if newer is None else "newer_than"), "modified_before"
            problem = f"is not before {last if older is None else 'older_than'}"
            raise InvalidRequest(first, problem, "no file would be taken; swap them or leave one out")

    @cached_property
    def _included(self) -> re.Pattern[str] | None:
        return _compiled("include", self.include)

    @cached_property
    def _excluded(self) -> re.Pattern[str] | None:
        return _compiled("exclude", self.exclude)

    @property
    def has_ages(self) -> bool:
        return self.newer_than_ns is not None or self.older_than_ns is not None

    def at(self, moment_ns: int | None) -> Filters:
        """The same with the moment that ages are reckoned from, or without it; as they are where no bound is an age."""
        return replace(self, ages_from_ns=moment_ns) if self.has_ages else self

    @cached_property
    def _times(self) -> tuple[int | None, int | None]:
        """The first mtime that is taken, and the first one that is not. Ages need their moment."""
        if self.ages_from_ns is None:
            if self.has_ages:
                raise ValueError("ages have no moment to be reckoned from; see Filters.at")
            return self.modified_after_ns, self.modified_before_ns
        newer, older = self.newer_than_ns, self.older_than_ns
        return (
            self.modified_after_ns if newer is None else self.ages_from_ns - newer,
            self.modified_before_ns if older is None else self.ages_from_ns - older,
        )

    @cached_property
    def take_all(self) -> bool:
        """Whether there is no filter at all."""
        return self == Filters()

    def reason(self, entry: Entry) -> Reason | None:
        """Why an entry is not taken, or ``None``; of a directory that is not included see ``HeldDirectories``."""
        if self.prunes(entry.path):
            return Reason.EXCLUDED
        if self._included is not None and not self._included.match(entry.path):
            return Reason.NOT_INCLUDED
        if entry.kind is not Kind.FILE:
            return None
        if _outside(entry.size, self.min_size, self.max_size):
            return Reason.SIZE_FILTERED
        return Reason.TIME_FILTERED if self._time_filtered(entry.mtime_ns) else None

    def take_files(self, files: FileColumns) -> bool:
        """Whether every one of these files is taken."""
        if self._excluded is not None and any(map(self._excluded.match, files.paths)):
            return False
        if self._included is not None and not all(map(self._included.match, files.paths)):
            return False
        bounded = self.min_size is not None or self.max_size is not None
        if bounded and any(
            _outside(size, self.min_size, self.max_size) for size in (min(files.sizes), max(files.sizes))
        ):
            return False
        return self._times == (None, None) or not any(map(self._time_filtered, files.mtimes_ns))

    def _time_filtered(self, mtime_ns: int) -> bool:
        after, before = self._times
        return _outside(mtime_ns, after, None if before is None else before - 1)

    def prunes(self, path: str) -> bool:
        """Whether a path is excluded; of a directory then everything that it holds is too, and need not be listed."""
        return self._excluded is not None and self._excluded.match(path) is not None


def _check_length(include: tuple[str, ...], exclude: tuple[str, ...]) -> None:
    lengths = {"include": sum(map(len, include)), "exclude": sum(map(len, exclude))}
    total = sum(lengths.values())
    if total > GLOB_CHARACTERS:
        problem = f"the globs of include and exclude have {total:,} characters together"
        allowed = f"at most {GLOB_CHARACTERS:,}; name directories, or write what is to be copied into a manifest"
        raise InvalidRequest(max(lengths, key=lengths.__getitem__), problem, allowed)


def _compiled(name: str, patterns: tuple[str, ...]) -> re.Pattern[str] | None:
    expressions = []
    for number, pattern in enumerate(patterns):
        try:
            expressions.append(expression_of(pattern))
        except ValueError as error:
            said = f"{pattern[:80]!r} {error}"
            raise InvalidRequest(f"{name}.{number}", said, "see docs/how-to/filters.md") from error
    return any_of(expressions) if expressions else None


def _outside(value: int, lowest: int | None, highest: int | None) -> bool:
    return (lowest is not None and value < lowest) or (highest is not None and value > highest)


class HeldDirectories:
    """Directories that no ``include`` names, kept until it shows whether they hold what is taken; call in path order.

    Each directory is held with a callback that settles it: ``True`` takes it, ``False`` skips it.
    Memory is bounded by the depth.
    """

    def __init__(self) -> None:
        self._stack: list[tuple[str, Callable[[bool], None]]] = []

    def hold(self, path: str, settle: Callable[[bool], None]) -> None:
        """Keep a directory; call ``leave`` for its path first."""
        self._stack.append((path, settle))

    def leave(self, path: str) -> None:
        """Skip the directories that end before ``path``: nothing in them was taken."""
        while self._stack and not path.startswith(self._stack[-1][0]):
            self._stack.pop()[1](False)

    def take(self) -> None:
        """Something that the held directories hold is taken, and so are they, from the top down."""
        held, self._stack = self._stack, []
        for _, settle in held:
            settle(True)

    def close(self, goes_on: Callable[[str], bool]) -> None:
        """Settle the held directories at the end of a segment; one in which another segment continues is taken."""
        for path, settle in self._stack:
            settle(goes_on(path))
        self._stack = []
