"""Compares hard links: names of one file at the source must be names of one file at the destination, and vice versa.

| names                                         | destination                   | becomes                              |
|-----------------------------------------------|-------------------------------|--------------------------------------|
| of one file, up to ``aws.HARD_LINKS``      | one file                      | equal                                |
| of one file, up to ``aws.HARD_LINKS``      | several files                 | those not of the largest file differ |
| of one file, more                             | at most a file for every      | equal                                |
|                                               | ``aws.HARD_LINKS`` names   |                                      |
| of one file, more                             | more files than that          | those not of the largest ones differ |
| of several files                              | one file                      | those not of the source's file with  |
|                                               |                               | the most names differ                |

Of files with as many names, that of the first path counts as the larger. Only names that both ends hold are grouped.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator

from msgspec import Struct

from fanout.facts import aws
from fanout.model.shard import Name


class ComparedName(Struct, frozen=True):
    """A name at both ends, and in words how the grouping differs; empty where it does not."""

    name: Name
    difference: str = ""


def file_at_source(name: Name) -> str:
    """Identifies the file at the source; the path identifies a file with one name."""
    return name.entry.inode or f"/{name.entry.path}"


def file_at_destination(name: Name) -> str:
    """The same at the destination."""
    return name.inode_there or f"/{name.entry.path}"


def by_source(names: Iterable[ComparedName]) -> Iterator[ComparedName]:
    """Tell names of one file that are too many files at the destination; all names of a file must be there."""
    for together in _grouped(names, file_at_source):
        allowed = -(-len(together) // aws.HARD_LINKS)
        yield from _outside_of_the_largest(
            together, file_at_destination, allowed, "names of one file at the source, of several at the destination"
        )


def by_destination(names: Iterable[ComparedName]) -> Iterator[ComparedName]:
    """Tell names of one file at the destination that are several at the source; all names of it must be there."""
    for together in _grouped(names, file_at_destination):
        yield from _outside_of_the_largest(
            together, file_at_source, 1, "names of several files at the source, of one at the destination"
        )


def _grouped(names: Iterable[ComparedName], file_of: Callable[[Name], str]) -> Iterator[list[ComparedName]]:
    by_file: defaultdict[str, list[ComparedName]] = defaultdict(list)
    for one in names:
        by_file[file_of(one.name)].append(one)
    for file in sorted(by_file):
        yield sorted(by_file[file], key=lambda one: one.name.entry.sort_key)


def _outside_of_the_largest(
    names: list[ComparedName], file_of: Callable[[Name], str], allowed: int, text: str
) -> Iterator[ComparedName]:
    parts: defaultdict[str, list[ComparedName]] = defaultdict(list)
    for one in names:
        parts[file_of(one.name)].append(one)
    largest = sorted(parts, key=lambda file: -len(parts[file]))[:allowed]  # stable: ties in the order of the first path
    first = parts[largest[0]][0].name.entry.path
    for one in names:
        is_outside = file_of(one.name) not in largest
        difference = f"this name and {first} are {text}"
        yield ComparedName(one.name, difference) if is_outside and not one.difference else one
