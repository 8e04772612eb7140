"""A segment: the part of a tree that one ListSegment lists, as a range of paths."""

from __future__ import annotations

import os
from dataclasses import dataclass

from fanout.domain.manifest import ManifestPart


@dataclass(frozen=True, slots=True)
class Segment:
    """The entries whose path begins with ``prefix``, lies after ``after`` and before ``until``.

    Paths compare by their bytes, as S3 compares keys. ``after`` and ``until`` are
    whole paths below the tree's root; empty means no bound. ``files_above`` holds
    the file keys before ``after`` that may still turn out to be directories too. A segment
    with a ``manifest`` is the rows of that part of it, and one with ``carried`` what stands
    under that key of the ledger, taken over from an earlier run; the other fields are empty.
    """

    id: str
    prefix: str = ""
    after: str = ""
    until: str = ""
    files_above: tuple[str, ...] = ()
    manifest: ManifestPart | None = None
    carried: str = ""


# Sorts after every name: 255 bytes is the longest name, and 0xFF is in no UTF-8 text.
_AFTER_EVERY_NAME = "\udcff" * 256


def after_subtree(directory: str) -> str:
    """A bound after every path below ``directory`` (which ends in ``/``) and before all that sorts later."""
    return directory + _AFTER_EVERY_NAME


def ends_below(segment: Segment, directory: str) -> bool:
    """Whether the segment ends inside a directory (whose path ends in ``/``), which another one then goes on in."""
    until = os.fsencode(segment.until)
    return until.startswith(os.fsencode(directory)) and until != os.fsencode(after_subtree(directory))


def split_rest(segment: Segment, last: str, files_above: tuple[str, ...]) -> list[Segment]:
    """What is left of a segment after ``last``: one segment for each directory above ``last`` that it lies in.

    The pieces are disjoint, and together they are the segment's paths after ``last``.
    Their ids are empty: the next round numbers them.
    """
    pieces = []
    after = last
    directory = last[: last.rfind("/") + 1] if not last.endswith("/") else last
    while len(directory) > len(segment.prefix):
        pieces.append(Segment("", directory, after, segment.until, files_above))
        after = after_subtree(directory)
        directory = directory[: directory.rfind("/", 0, -1) + 1]
    pieces.append(Segment("", segment.prefix, after, segment.until, files_above))
    return pieces
